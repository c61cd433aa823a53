"""Profiling: where the time of updates goes, by part, and how much of what the processor can compute they use.

The same updates are computed three times: to count their operations, to be timed, and under torch's profiler, whose
own time is known by comparison with the second round.
"""

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from nmtkit.data.batching import NOTHING, PlanSummary
from nmtkit.data.position import Position
from nmtkit.training.accounting import DATA, UPDATE, Account
from nmtkit.training.compiling import rehearse
from nmtkit.training.engine import Engine, Outcome
from nmtkit.training.feeding import Feed, Material, Reader, feeds
from nmtkit.training.flops import flop_counter, matrix_peak, wait_for
from nmtkit.training.scopes import announced

STATUS = Path("/proc/self/status")

Scope = Callable[[str], AbstractContextManager[Any]]
"""What announces that something begins and ends."""


class Profile(NamedTuple):
    """What some updates took, in all."""

    cost: PlanSummary
    seconds: float
    """Without the profiler."""
    account: Account
    """With the profiler."""
    flops: int
    """Operations of their matrix products, those over padding included."""
    peak: float
    """Operations a second of large matrix products in the same precision."""
    memory: int | None
    """Bytes taken at most: of the GPU where there is one, else of the process; None: unknown."""

    @property
    def utilisation(self) -> float:
        """The share of the peak that the updates reach: model FLOP utilisation."""
        return self.flops / self.seconds / self.peak

    @property
    def idle(self) -> float:
        """Seconds in which a GPU computed nothing."""
        return max(0.0, self.seconds - sum(self.account.shares.values())) if self.account.kernels else 0.0

    @property
    def whole(self) -> float:
        """Seconds that the shares of the account, and `idle`, add up to."""
        return sum(self.account.shares.values()) + self.idle


def updates_computed(updates: int) -> int:
    """Return how many updates are computed to profile some."""
    return 3 * updates + 1


def profile_updates(
    engine: Engine, material: Material, *, width: int, updates: int, done: Callable[[], object] = lambda: None
) -> Profile:
    """Profile the first updates of a training; `done` is called behind each of `updates_computed`.

    Changes the weights of the engine's model. `width` is what the learning rate may depend on.
    """
    # Torch's profiler writes notes to stderr, unless this is set before it is first used.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    engine.parallel.model.train()
    rounds = Rounds(engine, material, width, updates)
    flops = rounds.count_flops(done)
    # To warm up, and to see whether layers that are to be compiled can be.
    rehearse(engine.parallel.model, lambda: rounds.run(lambda: None, most=1), engine.warn)
    done()
    if engine.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(engine.device)
    cost, seconds = rounds.run(done)
    memory = peak_memory(engine.device)
    account = rounds.run_profiled(done)
    peak = matrix_peak(engine.precision, engine.device)
    return Profile(cost, seconds, account, flops, peak, memory)


class Rounds:
    """The first updates of a training, again and again."""

    def __init__(self, engine: Engine, material: Material, width: int, updates: int) -> None:
        self._engine, self._material, self._width, self._updates = engine, material, width, updates

    def count_flops(self, done: Callable[[], object]) -> int:
        """Compute all updates by PyTorch alone, and nothing twice; return their FLOPs.

        Neither kernels of ours nor compiled ones hide them from the counter.
        """
        kernels, self._engine.kernels = self._engine.kernels, None
        counter = flop_counter()
        try:
            with counter, self._engine.parallel.model.plain():
                self.run(done)
        finally:
            self._engine.kernels = kernels
        return counter.get_total_flops()

    def run(self, done: Callable[[], object], most: int | None = None) -> tuple[PlanSummary, float]:
        """Compute all updates, or the first ones; return what they cost and the seconds until the device is done."""
        cost, coming = NOTHING, self._feeds()
        began = time.perf_counter()
        for number in range(1, (most or self._updates) + 1):
            cost = cost.plus(self._compute(coming, number, _silent)[0])
            done()
        wait_for(self._engine.device)
        return cost, time.perf_counter() - began

    def run_profiled(self, done: Callable[[], object]) -> Account:
        """Compute all updates, each under a profiler of its own, so that no more than its events are held."""
        on_gpu = self._engine.device.type == "cuda"
        activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA] if on_gpu else [ProfilerActivity.CPU]
        sizes = {1, *(size for parameter in self._engine.parallel.model.parameters() for size in parameter.shape)}
        account, coming = Account(frozenset(sizes), kernels=on_gpu), self._feeds()
        with announced(self._engine.parallel.model):
            for number in range(1, self._updates + 1):
                with profile(activities=activities, record_shapes=True) as profiler, record_function(UPDATE):
                    _, outcome = self._compute(coming, number, record_function)
                    outcome.read()
                with _uncollected():
                    account.take_in(profiler.events())
                done()
        return account

    def _feeds(self) -> Iterator[Feed]:
        """Return what the trainer would be fed with. The first is made: with it a plan of thousands of updates is."""
        coming = feeds(self._material, Position(), Reader(self._engine.device))
        return chain([next(coming)], coming)

    def _compute(self, coming: Iterator[Feed], number: int, scope: Scope) -> tuple[PlanSummary, Outcome]:
        """Compute an update as the trainer does; the learning rate is that of the midst of a training."""
        with scope(DATA):
            _, parts, cost = next(coming)
        rate = self._engine.config.schedule.rate(number, self._width, 0.5)
        return cost, self._engine.update(parts, number, cost.target_tokens, rate)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let no garbage be collected: again and again it would go through all the objects that events are made of."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _silent(_: str) -> AbstractContextManager[Any]:
    return nullcontext()


def peak_memory(device: torch.device) -> int | None:
    """Return the most bytes taken so far: by tensors of a GPU, else by this process; None where that is unknown."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        lines = STATUS.read_text(encoding="ascii", errors="replace").split("\n")
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
