"""Pacing: what is due behind an update, by the count of updates and by the share of training that is spent."""

import math
from collections.abc import Callable
from time import monotonic

from nmtkit.data.epochs import Progress
from nmtkit.log import Log, duration
from nmtkit.training.settings import TrainConfig
from nmtkit.training.state import TrainingState
from nmtkit.training.stopping import limit_reached, seconds_kept, spent, spent_amid

MOST_SLOWER = 2.0
"""How many times as long as usual an update counts for at most: one that a stalled disk or Ctrl-Z held up says little
of those to come, and a machine that is slow from now on is known within some twenty of them."""

MOST_VALIDATING = 0.1
"""The share of the time, where that is limited, that validations before the last one may take."""

AVERAGED_QUARTER = 0.25
"""The last share of training in which checkpoints worth averaging lie."""

AVERAGED_PART = 0.05
"""The last share of training over which they are spread where `every` is too long for that.

The averages of the paper are over 40 minutes of 12 hours and 190 minutes of 3.5 days (sections 5.2 and 6.1). Where the
rate falls to zero, older weights do harm: after 800 updates of `tiny` on Multi30k, with a fall over the last fifth, the
average over the last tenth had a perplexity of 13.60, the last weights one of 13.33.
"""


def validation_is_due(config: TrainConfig, state: TrainingState) -> bool:
    """Tell whether weights are validated that training does not end with.

    Where train.stop.minutes limits the time, updates have nine parts of it for each that validations take; and one is
    due halfway where there was none, since the ending is planned by what it took.
    """
    every, minutes = config.validation.every, config.stop.minutes
    due = every > 0 and state.update > 0 and state.update % every == 0
    if not minutes:
        return due
    if not state.validated:
        return due or state.seconds >= minutes * 30
    updating = state.seconds - state.validated_seconds
    return due and updating * MOST_VALIDATING >= state.validation_seconds * (1 - MOST_VALIDATING)


def checkpoint_is_due(config: TrainConfig, state: TrainingState, before: float) -> bool:
    """Tell whether a regular checkpoint, one to average, is written behind an update.

    `before` is the share of training that was spent behind the update before. Of checkpoints `every` so many updates
    apart a short training would average few, or some from long before its end; it writes those to average by share.
    """
    checkpoints, behind = config.checkpoints, spent(config, state)
    if checkpoints.average > 1 and behind >= 1 - AVERAGED_PART - 1e-9:
        updates = state.update / behind
        if (checkpoints.average - 1) * checkpoints.every > AVERAGED_QUARTER * updates:
            return _reached(behind, checkpoints.average) > _reached(before, checkpoints.average)
    return state.update % checkpoints.every == 0


def _reached(share: float, count: int) -> int:
    """Return how many of `count` points, spread over the last twentieth up to 1, a share has reached."""
    step = AVERAGED_PART / (count - 1)
    return max(0, math.floor((share - 1 + AVERAGED_PART) / step + 1e-9) + 1)


class Pace:
    """How fast training goes, and what is due by that. Keeps the times in its state."""

    def __init__(
        self, config: TrainConfig, state: TrainingState, log: Log, clock: Callable[[], float] = monotonic
    ) -> None:
        self.config, self.state, self.log, self.clock = config, state, log, clock
        self._before = self._behind = spent(config, state)
        self._said = False
        self.start()

    def start(self) -> None:
        """Let the time go on from that of the state: trying out the largest tensors, before, was no part of it."""
        self._began = self.clock() - self.state.seconds
        self._mark = self.state.seconds

    def tick(self) -> None:
        """Tell the state how late it is."""
        self.state.seconds = self.clock() - self._began

    @property
    def ending(self) -> str | None:
        """The limit that is reached, if one is."""
        return limit_reached(self.config, self.state)

    @property
    def validation_is_due(self) -> bool:
        """Whether to validate although training goes on."""
        return validation_is_due(self.config, self.state)

    @property
    def checkpoint_is_due(self) -> bool:
        """Whether a regular checkpoint is to be written."""
        return checkpoint_is_due(self.config, self.state, self._before)

    def rate(self, width: int, progress: Progress) -> float:
        """Return the learning rate of the next update, which leads to `progress`, for a model of this width."""
        share = spent_amid(self.config, self.state, progress)
        return self.config.schedule.rate(self.state.update + 1, width, share)

    def update_done(self, progress: Progress) -> None:
        """Take in that the state stands behind an update, which led to `progress`."""
        state, seconds = self.state, self._since_mark()
        state.passes = progress.epochs
        if usual := state.update_seconds:
            state.update_seconds += (min(seconds, MOST_SLOWER * usual) - usual) * 0.1
        else:
            state.update_seconds = seconds
        self._before, self._behind = self._behind, spent(self.config, state)

    def validation_done(self, *, ending: bool) -> None:
        """Take in that a validation was made, or cut off. One that training ends with counts for nothing more."""
        state, seconds = self.state, self._since_mark()
        if not ending and state.validated == state.update:
            state.validation_seconds, state.validated_seconds = seconds, state.seconds
            state.validated_update_seconds = state.update_seconds
            self._say_what_it_costs()

    def checkpoint_begun(self) -> None:
        """Take in that a checkpoint is being written, from a copy whose time is no part of an update's."""
        self._since_mark()

    def went_back(self) -> None:
        """Take in that the state is that of an earlier update, at the present time."""
        self._before = self._behind = spent(self.config, self.state)
        self._since_mark()

    def _since_mark(self) -> float:
        """Return the seconds since this was last asked."""
        self.tick()
        seconds, self._mark = self.state.seconds - self._mark, self.state.seconds
        return seconds

    def _say_what_it_costs(self) -> None:
        """Say once where validations do not fit the time."""
        state, stop, every = self.state, self.config.stop, self.config.validation.every
        if self._said or not stop.minutes:
            return
        takes = f"a validation takes {duration(state.validation_seconds)}"
        if seconds_kept(self.config, state) >= stop.minutes * 30:
            self._said = True
            self.log.warn(
                f"train.stop.minutes = {stop.minutes:g}: {takes}, so training will end later than that; give more "
                "minutes or a smaller development set, or set train.validation.translate = false"
            )
        elif every * state.update_seconds * MOST_VALIDATING < state.validation_seconds * (1 - MOST_VALIDATING):
            self._said = True
            apart = state.validation_seconds / MOST_VALIDATING
            self.log.info(
                f"{takes}, so they will come at least {duration(apart)} apart and not every {every:,} updates "
                f"(train.validation.every), to leave train.stop.minutes = {stop.minutes:g} for training"
            )
