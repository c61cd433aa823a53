"""The engine: updates cut into parts are the updates they were, dropout included; memory that is too small."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor
from toy.kernels import kernels
from toy.models import VARIANTS, VOCABULARY, random_batch
from toy.training import train_config

from nmtkit.data.batch import Batch, Part
from nmtkit.errors import NmtkitError
from nmtkit.kernels.library import Kernels
from nmtkit.models.base import Loss, Model
from nmtkit.training.engine import Engine
from nmtkit.training.group import Group
from nmtkit.training.parallel import Replicas, Whole

LENGTHS = [(3, 9), (5, 9), (2, 2), (7, 1), (1, 4), (6, 6), (4, 4)]
TOKENS = sum(target + 1 for _, target in LENGTHS)
CPU = torch.device("cpu")


def model_of(variant: str, **settings: object) -> Model:
    torch.manual_seed(3)
    return VARIANTS[variant].model_copy(update={"dropout": 0.3, **settings}).build(VOCABULARY, VOCABULARY).train()


def engine_of(parallel: Whole, own: Kernels | None = None, group: Group | None = None) -> Engine:
    config = train_config(seed=5)
    optimizer = config.optimizer.build(parallel.parameters().values())
    return Engine(parallel, optimizer, config, "fp32", CPU, own, group)


def gradients(engine: Engine, parts: Sequence[Part], number: int = 1) -> tuple[tuple[float, ...], dict[str, Tensor]]:
    found = engine.gradients(parts, number, TOKENS).read()
    return found, {n: p.grad.clone() for n, p in engine.parallel.model.named_parameters() if p.grad is not None}


def assert_equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, gradient in one.items():
        scale = float(other[name].abs().max())
        torch.testing.assert_close(gradient, other[name], rtol=1e-5, atol=1e-5 * max(scale, 1e-3))


@pytest.mark.parametrize("with_kernels", [True, False])
@pytest.mark.parametrize("variant", ["transformer", "transformer-pre-norm", "rnn", "rnn-lstm-dot-unfed"])
def test_dropout_is_that_of_the_whole_tensor_in_each_part_of_it(variant: str, with_kernels: bool) -> None:
    engine = engine_of(Whole(model_of(variant)), kernels() if with_kernels else None)
    whole = Part(random_batch(LENGTHS), tensor=2, before=0)
    expected, in_one = gradients(engine, [whole])
    assert gradients(engine, [whole], number=2)[0] != expected, "masks are drawn anew for each update"
    for pieces in (2, 3, len(LENGTHS)):
        parts = whole.cut(pieces)
        assert [part.before for part in parts] == [len(LENGTHS) * n // pieces for n in range(pieces)]
        found, in_parts = gradients(engine, parts)
        assert found == pytest.approx(expected, rel=1e-5)
        assert_equal(in_parts, in_one)


def test_parts_that_count_for_nothing() -> None:
    engine = engine_of(Whole(model_of("transformer")))
    part = Part(random_batch(LENGTHS), 0, 0)
    expected = gradients(engine, [part])
    found = gradients(engine, [part, part.cut(7)[0]._replace(weight=0.0)])
    assert found[0] == pytest.approx(expected[0], rel=1e-6)
    assert_equal(found[1], expected[1])


class Doubled(Group):
    """A group of two processes that compute the same."""

    ranks = 2

    def sum(self, tensors: Sequence[Tensor], *, flag: bool = False) -> bool:
        for tensor in tensors:
            tensor.mul_(2)
        return flag


def test_gradients_of_replicas_lie_in_buffers_that_are_summed() -> None:
    alone, group = engine_of(Whole(model_of("transformer"))), Doubled()
    together = engine_of(Replicas(model_of("transformer"), group), group=group)
    parts = [Part(random_batch(LENGTHS), 0, 0), Part(random_batch(LENGTHS, seed=9), 1, 0)]
    for number in (1, 2):
        one, expected = gradients(alone, parts, number)
        two, found = gradients(together, parts, number)
        assert two == pytest.approx([2 * value for value in one], rel=1e-6)
        assert_equal(found, {name: 2 * gradient for name, gradient in expected.items()})
        together.step(together.gradients(parts, number, TOKENS), 0.01)
        alone.step(alone.gradients(parts, number, TOKENS), 0.01)
    for (name, own), other in zip(
        alone.parallel.parameters().items(), together.parallel.model.parameters(), strict=True
    ):
        # Adam cares for directions, not for sizes; where the gradient is zero but for rounding, its sign is chance.
        clear = expected[name].abs() > 1e-4
        torch.testing.assert_close(own[clear], other[clear], rtol=1e-3, atol=1e-5)


class Narrow(Model):
    """A model with memory for few pairs at a time."""

    def __init__(self, inner: Model, pairs: int) -> None:
        super().__init__()
        self.inner, self.pairs = inner, pairs
        self.computed: list[int] = []

    def encode(self, source):
        return self.inner.encode(source)

    def forward(self, batch: Batch, label_smoothing: float = 0.0) -> Loss:
        if len(batch.source.lengths) > self.pairs:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        self.computed.append(len(batch.source.lengths))
        return self.inner(batch, label_smoothing)


def test_where_the_memory_is_too_small_tensors_are_cut_and_updates_stay_the_same() -> None:
    whole = Part(random_batch(LENGTHS), 0, 0)
    expected = gradients(engine_of(Whole(model_of("transformer"))), [whole])
    narrow = Narrow(model_of("transformer"), pairs=2)
    engine = engine_of(Whole(narrow))
    said: list[str] = []
    engine.warn = said.append
    found = gradients(engine, [whole])
    assert found[0] == pytest.approx(expected[0], rel=1e-5)
    assert_equal({name.removeprefix("inner."): g for name, g in found[1].items()}, expected[1])
    assert (engine.pieces, narrow.computed) == (4, [1, 2, 2, 2])
    assert [message.partition("; ")[0] for message in said] == [
        "update 1: the memory was too small, so tensors are computed in 2 pieces from here on",
        "update 1: the memory was too small, so tensors are computed in 4 pieces from here on",
    ]
    narrow.computed.clear()
    gradients(engine, [whole])
    assert narrow.computed == [1, 2, 2, 2], "from then on at once"


def test_memory_too_small_for_a_single_pair() -> None:
    engine = engine_of(Whole(Narrow(model_of("transformer"), pairs=0)))
    with pytest.raises(NmtkitError, match=r"update 4: the memory is too small for a single pair"):
        engine.gradients([Part(random_batch(LENGTHS), 0, 0)], 4, TOKENS)


def test_other_errors_are_not_taken_for_a_lack_of_memory() -> None:
    class Faulty(Narrow):
        def forward(self, batch: Batch, label_smoothing: float = 0.0) -> Loss:
            raise RuntimeError("shapes do not fit")

    engine = engine_of(Whole(Faulty(model_of("transformer"), 0)))
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        engine.gradients([Part(random_batch(LENGTHS), 0, 0)], 1, TOKENS)
