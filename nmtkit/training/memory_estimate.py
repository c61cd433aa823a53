"""How much memory training takes on each device, part by part, by formula: nothing is built or computed for it.

All sizes are bytes. What a model keeps between the way forth and the way back is its own matter
(`ModelSection.activations`); the rest is the same for all of them. **P** parameters, **N** predictions, **V** entries
of the target vocabulary, **D** width, **n** bytes of an element in the format of products, **R** processes.
"""

import math
from typing import Literal, NamedTuple

from nmtkit.models.activations import FLOAT, Activations, Way
from nmtkit.models.loss import ELEMENTS, SLICE
from nmtkit.training.memory import COMPILED_KEPT

MOMENTS = 2
"""Numbers that Adam keeps of each parameter: means of its gradients and of their squares."""

BASE = {"cpu": 390 * 10**6, "cuda": 600 * 10**6}
"""What is there before the model: on a CPU the process, with PyTorch and the kernels loaded and used once (measured:
`tests/benchmarks/plan_memory.py`); on a GPU the CUDA context, the code of its kernels and the work space of cuBLAS
(not measured)."""

COMPILED, HOLES, NEW = 660_000, 1.5, 0.72
"""On a CPU oneDNN compiles each bf16 product for the very shape it has and keeps the last `COMPILED_KEPT`: bytes of
one, and over what they would fill by themselves what is taken in the end, when others have taken their places again
and again; and which part of products has a new shape, since source and target of a tensor are often equal.
Measured with PyTorch 2.13 on an AMD EPYC, while oneDNN kept 1,024: 183 products 109 MiB, 657 435 MiB; behind 600
updates 940 MiB, behind 1,800 updates 1,030 MiB; of 600 products of the first 20 tensors of `tiny` 432 were new. Of
float32 products nothing is kept.
"""

LOSS_PRODUCTS = 3
"""Scores, and what goes back from them to both of what they were made of."""

Allocator = Literal["heap", "mappings", "cuda"]
"""How memory is got for tensors: from glibc's heap, as training on a CPU does (`training.memory`); by mappings of their
own, which go back to the system, as where layers are recomputed; or from PyTorch's allocator for GPUs."""

SLACK: dict[Allocator, float] = {"heap": 0.5, "mappings": 0.02, "cuda": 0.10}
"""Which part of what comes and goes the allocator cannot use again, since tensors differ in size. The first two were
measured (`tests/benchmarks/plan_memory.py`), the heap's with a wide spread; that of GPUs was not."""


class ModelSizes(NamedTuple):
    """What a model has, in elements."""

    parameters: int
    trained: int
    """Parameters that are not frozen."""
    rounded: int
    """In matrices of which a copy in the format of products is held."""
    waiting: int
    """In the output matrix, V × D, where it is an embedding too, whose gradient comes last; else 0."""
    layer: int
    """Parameters of its largest layer."""
    rest: int
    """Parameters outside of layers, embeddings mostly."""


class Sharing(NamedTuple):
    """How the work of an update lies on the processes of a training."""

    processes: int = 1
    sharded: bool = False
    """Whether each process holds a part of the model and not a copy of it."""
    several: bool = True
    """Whether some process computes more than one tensor in an update, so that gradients wait for others."""
    tensors: float = math.inf
    """How many tensors a process computes in all."""


class Memory(NamedTuple):
    """Bytes on each device, by part; what is not there at the same time counts as negative."""

    parts: dict[str, int]

    @property
    def together(self) -> int:
        """What is taken at most."""
        return sum(self.parts.values())


class Moment(NamedTuple):
    """The tensor that takes most: what layers keep of it, and the loss of its predictions."""

    activations: Activations
    loss: int
    """As `loss_memory` returns it."""


def device_memory(sizes: ModelSizes, moment: Moment, sharing: Sharing, way: Way, allocator: Allocator) -> Memory:
    """Return what training takes on each device at most.

    That is at the loss of the largest tensor or right behind it: then weights and their copies in the format of
    products, Adam's moments, all activations and the gradients of the tensors before are there, and on a CPU the copy
    of the latest checkpoint. Of an update of one tensor, on a single device, gradients come as activations go: the
    larger of the two counts. Buffers of gradients that processes sum together are always there.
    """
    weights, shares = FLOAT * sizes.parameters, sharing.processes if sharing.sharded else 1
    kept, behind = moment.activations.kept, max(moment.loss, _behind(sizes, moment.activations))
    gradients = gradient_memory(sizes, sharing)
    apart = min(gradients, kept + behind) if sharing.processes == 1 and not sharing.several else 0
    parts = {
        "weights": weights // shares,
        "rounded weights": 0 if way.number == FLOAT else way.number * sizes.rounded,
        "gradients": gradients,
        "optimizer": MOMENTS * FLOAT * sizes.trained // shares,
        "gathered layers": gathered_memory(sizes) if sharing.sharded else 0,
        "activations": kept,
        "loss and way back": behind,
        "not at the same time": -apart,
        "allocator": round(SLACK[allocator] * (kept + behind - apart + gradients * (sharing.processes == 1))),
        "base": BASE["cuda" if way.cuda else "cpu"],
    }
    if not way.cuda:
        parts["copy of a checkpoint"] = checkpoint_copy(sizes, sharing)
        if way.number != FLOAT:
            products = moment.activations.products + LOSS_PRODUCTS
            parts["compiled products"] = compiled_memory(products, sharing.tensors)
    return Memory({part: size for part, size in parts.items() if size})


def checkpoint_copy(sizes: ModelSizes, sharing: Sharing) -> int:
    """Return what the leading process takes of the machine's memory to write a checkpoint while training goes on.

    Weights and moments, once; twice where they are gathered from all processes.
    """
    copy = FLOAT * (sizes.parameters + MOMENTS * sizes.trained)
    return 2 * copy if sharing.sharded else copy


def compiled_memory(products: int, tensors: float) -> int:
    """Return what oneDNN keeps of products that are compiled, of so many for each tensor."""
    return round(COMPILED * min(NEW * products * tensors, COMPILED_KEPT * HOLES))


def _behind(sizes: ModelSizes, activations: Activations) -> int:
    """Return what the first layer on the way back takes besides, while the gradient of the output matrix may wait."""
    return activations.work + FLOAT * sizes.waiting


def loss_memory(predictions: int, vocabulary: int, width: int, way: Way) -> int:
    """Return what the loss of so many predictions takes beside what layers keep (`models.loss`).

    On the way forth: what is predicted from and its gradient, 2 n N D; the gradient of the output matrix, 4 V D; a
    chunk of at most `ELEMENTS` scores, n each. Beside them either `_logarithms` of scores or the product of scores and
    inputs, n V D, unless that is added in place. On the way back both gradients are there twice, before and behind
    their multiplication by what came from above.
    """
    matrix = vocabulary * width
    inputs = 2 * way.number * predictions * width
    rows = min(predictions, max(1, ELEMENTS // vocabulary))
    product = 0 if way.number == FLOAT else way.number * matrix
    forth = way.number * rows * vocabulary + max(_logarithms(rows, vocabulary, way), product) + FLOAT * matrix
    return inputs + max(forth, 2 * FLOAT * matrix)


def _logarithms(rows: int, vocabulary: int, way: Way) -> int:
    """Return what the logarithms of probabilities take, which PyTorch needs in float32 and our kernel does not.

    On a CPU they are computed slice by slice, the last slice being there still when the next is made; scores in another
    format are turned into float32 first.
    """
    if way.kernels:
        return 0
    slice_rows = rows if way.cuda else min(rows, max(1, SLICE // vocabulary))
    times = 1 if way.number == FLOAT else 2
    next_rows = min(slice_rows, rows - slice_rows)
    return FLOAT * vocabulary * max(times * slice_rows, slice_rows + times * next_rows)


def gradient_memory(sizes: ModelSizes, sharing: Sharing) -> int:
    """Return what gradients take: 4 P.

    Sharded, they are whole while tensors are accumulated and shared out behind the last one; of a single tensor, a
    layer at a time is whole.
    """
    whole = FLOAT * sizes.trained
    if not sharing.sharded:
        return whole
    share = whole // sharing.processes
    return share + (whole if sharing.several else FLOAT * (sizes.layer + sizes.rest))


def gathered_memory(sizes: ModelSizes) -> int:
    """Return what gathered weights take: all outside of layers, the layer at hand, and the one that comes next."""
    return FLOAT * (sizes.rest + 2 * sizes.layer)
