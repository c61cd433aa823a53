"""The guard: notices a training that diverges, knows from when on it cannot be trusted, and what to pass over then.

A few numbers of the training's state are all that it remembers, so it judges alike whether training was interrupted or
not, and in each of several processes.
"""

from nmtkit.errors import NmtkitError
from nmtkit.training.state import TrainingState

MOST_SKIPPED = 10
"""Updates in a row without a finite gradient that are a divergence."""

WINDOW = 50
"""Updates that the mean loss reaches over, roughly: in a sum of them, one that is so many updates old counts for 1/e.

As many before the last one that was well are not trusted: the weights may be spoiled before losses tell.
"""

NEAR = 0.25
"""The part of `train.guard` by which the mean may lie above its lowest while all is well.

Means over 50 updates of 200 tokens, whose losses differ most, stay within 0.3 nats of each other.
"""

_ADVICE = (
    "lower the learning rate (train.schedule) or lengthen its warmup, set train.clip_norm = 1.0, or try "
    'train.precision = "fp32", and train anew'
)


class Diverged(NmtkitError):  # noqa: N818  what happened, as with Interrupted
    """Training has diverged, as update `number` shows. The message says by what, and what to do about it."""

    def __init__(self, number: int, what: str, *, again: bool = False) -> None:
        super().__init__(f"update {number:,}: {what}, so training has diverged{' again' if again else ''}; {_ADVICE}")
        self.number, self.what = number, what


class Guard:
    """Judges the updates of a training one after another, by their losses.

    `limit` is how many nats a token the mean loss may lie above the lowest it has been; 0: as many as it likes.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit

    def skipped(self, state: TrainingState, number: int) -> None:
        """Take in that update `number` was not finite and left the weights as they are. Raises Diverged."""
        state.skipped += 1
        state.skipped_in_a_row += 1
        if state.skipped_in_a_row >= MOST_SKIPPED:
            what = f"{MOST_SKIPPED} updates in a row had no finite gradient"
            raise Diverged(number, what, again=state.returns > 0)

    def applied(self, state: TrainingState, number: int, nll: float, tokens: int) -> None:
        """Take in that update `number` was applied: its plain loss, in nats over so many tokens. Raises Diverged."""
        fading = 1 - 1 / WINDOW
        state.skipped_in_a_row = 0
        state.watched += 1
        state.recent_nll = state.recent_nll * fading + max(0.0, nll)  # of sure predictions, rounding leaves less
        state.recent_tokens = state.recent_tokens * fading + tokens
        mean = state.recent_nll / state.recent_tokens
        if state.watched == WINDOW or (state.watched > WINDOW and mean < state.lowest_loss):
            state.lowest_loss = mean
        risen = mean - state.lowest_loss if state.watched > WINDOW else 0.0
        if not self.limit or risen <= NEAR * self.limit:
            state.steady = number
        elif risen > self.limit:
            what = (
                f"the loss of the latest {WINDOW} updates or so, {mean:.2f} nats a token, lies more than train.guard = "
                f"{self.limit:g} above the lowest so far, {state.lowest_loss:.2f}"
            )
            raise Diverged(number, what, again=state.returns > 0)


def good_until(state: TrainingState) -> int:
    """Return the last update behind which weights are good for certain, as far as the state can tell; 0: none are."""
    return max(0, state.steady - WINDOW)


def mark_passage(state: TrainingState, diverged: TrainingState, number: int) -> None:
    """Let training that goes on from `state`, which is good, pass over the updates by which it diverged, to `number`.

    What is known of times stays known, and the time that has gone by stays gone by.
    """
    state.returns = diverged.returns + 1
    state.passed_from, state.passed_to = good_until(diverged) + 1, number
    for name in vars(state):
        if name.endswith("seconds"):
            setattr(state, name, getattr(diverged, name))


def passes_over(state: TrainingState, number: int) -> bool:
    """Tell whether update `number` is one of those not to be computed again."""
    return state.passed_from <= number <= state.passed_to
