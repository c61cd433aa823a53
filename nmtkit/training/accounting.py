"""Accounting: the events of a profiler summed up by phase of an update, by part of the model and by operator.

The time of an operator is its own, without that of the operators it calls, so that every moment is counted once.
Backward work is charged to the part whose forward work it undoes: autograd numbers both alike.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Protocol

from torch._C._autograd import DeviceType

from nmtkit.training.flops import product_flops
from nmtkit.training.scopes import BETWEEN, SCOPE

UPDATE, DATA = "nmtkit update", "nmtkit data"
"""What whoever profiles announces: a whole update, and the waiting for a batch within."""

EVALUATION, OPTIMIZER = "autograd::engine::evaluate_function: ", "Optimizer."
"""How torch announces the functions of a backward pass, and an optimizer."""

ANNOUNCED = (UPDATE, DATA, SCOPE, EVALUATION, OPTIMIZER)

ACCUMULATION = "adding up gradients"
"""The part that a backward pass has besides: where it reaches a weight."""

Phase = Literal["waiting for data", "forward", "backward", "optimizer", "other"]
Shapes = tuple[tuple[int | None, ...], ...]
"""Of the inputs of an operator; None for a size that varies with the batch."""


class Share(NamedTuple):
    """What a time is charged to. Forward and backward have parts."""

    phase: Phase
    part: str = ""


OTHER = Share("other")


class Event(Protocol):
    """What is read of an event of torch's profiler (torch.autograd.profiler_util.FunctionEvent); times in µs."""

    name: str
    thread: int
    sequence_nr: int
    is_async: bool
    device_type: Any
    input_shapes: Any
    time_range: Any
    cpu_parent: Any
    cpu_children: Any
    kernels: Any

    @property
    def self_cpu_time_total(self) -> float:
        """Without the children."""


@dataclass
class Usage:
    """What an operator took on inputs of some shapes, whatever the sizes that vary."""

    seconds: float = 0.0
    calls: int = 0
    flops: int = 0
    """Those of matrix products; 0 for other operators."""


@dataclass
class Account:
    """Sums over the updates that were profiled.

    With `kernels` it is the time that a GPU computed, else the time of the thread that called. The first misses the
    GPU's idle time, the second adds up to `seconds`.
    """

    sizes: frozenset[int] = frozenset()
    """The sizes of the model, which its shapes have in every batch."""
    kernels: bool = False
    seconds: float = 0.0
    """From the beginning to the end of each update."""
    waiting: float = 0.0
    """For batches, by the clock of the processor."""
    shares: defaultdict[Share, float] = field(default_factory=lambda: defaultdict(float))
    operators: defaultdict[tuple[str, Shapes], Usage] = field(default_factory=lambda: defaultdict(Usage))
    _computed: float = 0.0
    """Seconds of all kernels."""

    def take_in(self, events: Sequence[Event]) -> None:
        """Add the events of one update, which come in the order in which they began, parents first."""
        on_processor = [event for event in events if event.device_type == DeviceType.CPU and not event.is_async]
        update = next(event for event in on_processor if event.name == UPDATE)
        names = {event.name for event in on_processor}
        shares: dict[int, Share] = {}
        numbered: dict[int, str] = {}
        for event in on_processor:
            # On a CPU other threads at most prepare batches, beside the time of the update.
            if event.thread == update.thread or self.kernels:
                shares[id(event)] = self._share(event, shares, numbered)
                self._charge(event, shares[id(event)], names)
        self.seconds += update.time_range.elapsed_us() / 1e6
        if self.kernels:
            self._charge_the_rest(events, names)
        else:
            self._charge_gaps(update, shares)

    def _share(self, event: Event, shares: dict[int, Share], numbered: dict[int, str]) -> Share:
        """Return what an event is charged to, and remember which part a number of autograd's belongs to."""
        if event.name == UPDATE:
            return OTHER
        if event.name == DATA:
            return Share("waiting for data")
        if event.name.startswith(SCOPE):
            # What is computed again for the way back belongs to that.
            above = OTHER if event.cpu_parent is None else shares.get(id(event.cpu_parent), OTHER)
            phase: Phase = "backward" if above.phase == "backward" else "forward"
            return Share(phase, event.name.removeprefix(SCOPE))
        if event.name.startswith(EVALUATION):
            accumulates = event.name.endswith("AccumulateGrad")
            return Share("backward", ACCUMULATION if accumulates else numbered.get(event.sequence_nr, BETWEEN))
        if event.name.startswith(OPTIMIZER):
            return Share("optimizer")
        share = OTHER if event.cpu_parent is None else shares.get(id(event.cpu_parent), OTHER)
        if share.phase == "forward" and event.sequence_nr >= 0:
            numbered[event.sequence_nr] = share.part  # of some with one number the last has the gradient
        return share

    def _charge(self, event: Event, share: Share, names: set[str]) -> None:
        if event.name == DATA:
            self.waiting += event.time_range.elapsed_us() / 1e6
        if self.kernels:
            # What was announced is repeated as a "kernel" that spans the real ones.
            seconds = sum(kernel.duration for kernel in event.kernels if kernel.name not in names) / 1e6
        else:
            seconds = event.self_cpu_time_total / 1e6
        self.shares[share] += seconds
        if not event.name.startswith(ANNOUNCED):
            shapes = event.input_shapes or ()
            fixed = tuple(tuple(size if size in self.sizes else None for size in shape) for shape in shapes)
            usage = self.operators[event.name, fixed]
            usage.seconds += seconds
            usage.calls += 1
            usage.flops += product_flops(event.name, shapes)

    def _charge_the_rest(self, events: Sequence[Event], names: set[str]) -> None:
        """Charge kernels that no operator is known for, as those of a replayed graph, to the phase `other`."""
        kernels = [event for event in events if event.device_type != DeviceType.CPU and event.name not in names]
        self._computed += sum(kernel.time_range.elapsed_us() for kernel in kernels) / 1e6
        self.shares[OTHER] += max(0.0, self._computed - sum(self.shares.values()))

    def _charge_gaps(self, update: Event, shares: dict[int, Share]) -> None:
        """Charge to backward what autograd needs from one function to the next; it was charged to the update."""
        children: Sequence[Event] = sorted(update.cpu_children, key=lambda child: child.time_range.start)
        for child, after in pairwise(children):
            if shares[id(child)].phase == shares[id(after)].phase == "backward":
                gap = max(0.0, after.time_range.start - child.time_range.end) / 1e6
                self.shares[Share("backward", BETWEEN)] += gap
                self.shares[OTHER] -= gap

    def of_phase(self, phase: Phase) -> float:
        """Return the seconds of a phase."""
        return sum(seconds for share, seconds in self.shares.items() if share.phase == phase)
