"""Outcomes: what updates did, which nobody waits for: read together some time later, then judged and reported."""

import math
from typing import NamedTuple

from nmtkit.data.batching import PlanSummary
from nmtkit.data.epochs import Progress
from nmtkit.training.engine import Outcome
from nmtkit.training.guard import Guard
from nmtkit.training.precision import LossScale
from nmtkit.training.reporting import UpdateResult
from nmtkit.training.state import TrainingState
from nmtkit.training.workplace import Workplace

MOST_UNREAD = 20
"""Updates that a GPU may be behind with: it is told of the next ones before anybody asks what the last ones did."""


class Unread(NamedTuple):
    """An update whose outcome nobody has read yet; None, where it was passed over."""

    number: int
    outcome: Outcome | None
    cost: PlanSummary
    rate: float
    progress: Progress

    def read(self) -> UpdateResult:
        """Return what the update did; waits for the device."""
        total, nll, norm = (math.nan,) * 3 if self.outcome is None else self.outcome.read()
        return UpdateResult(total, nll, self.cost, norm, self.rate)


class Outcomes:
    """The outcomes that are not read yet, and who judges and reports them."""

    def __init__(self, guard: Guard, place: Workplace, loss_scale: LossScale | None) -> None:
        self._guard, self._place, self._loss_scale = guard, place, loss_scale
        self._unread: list[Unread] = []

    def add(self, update: Unread) -> None:
        """Take in an update that the device has been told of."""
        self._unread.append(update)

    @property
    def waits(self) -> bool:
        """Whether it is time to wait for the device. A CPU is never waited for: it has done what it was told."""
        return self._place.device.type == "cpu" or len(self._unread) >= MOST_UNREAD

    def read(self, state: TrainingState) -> None:
        """Read all that there are, into the state and the reports. Raises Diverged, and drops what came behind that."""
        unread, self._unread = self._unread, []
        for update in unread:
            result = update.read()
            if update.outcome is None:
                self._passed_over(state, update.number)
            elif result.finite:
                self._guard.applied(state, update.number, result.nll, result.cost.target_tokens)
            else:
                self._place.log.warn(
                    f"update {update.number:,}: the loss ({result.total:g}) or the norm of the gradient "
                    f"({result.gradient_norm:g}) is not finite; the weights stay as they are"
                )
                self._guard.skipped(state, update.number)
            self._place.reporter.update(result, state, update.progress, update.number)
        if unread and self._loss_scale is not None:
            state.loss_scale, state.calm = self._loss_scale.read()

    def _passed_over(self, state: TrainingState, number: int) -> None:
        state.skipped += 1
        if number == state.passed_from:
            self._place.log.info(f"passing over the updates {number:,} to {state.passed_to:,}")
