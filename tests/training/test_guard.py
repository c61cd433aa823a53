"""The guard: which losses are a divergence, from when on a training cannot be trusted, and what it passes over then."""

import json
import math
import random
from collections.abc import Iterable

import pytest

from nmtkit.training.guard import MOST_SKIPPED, WINDOW, Diverged, Guard, good_until, mark_passage, passes_over
from nmtkit.training.state import TrainingState

TOKENS = 200
SKIPPED = None
"""An update that was not finite."""


def watch(losses: Iterable[float | None], state: TrainingState | None = None, limit: float = 2.0) -> TrainingState:
    """Let updates with these losses a token follow a state."""
    state, guard = state or TrainingState(), Guard(limit)
    for loss in losses:
        state.update += 1
        if loss is SKIPPED:
            guard.skipped(state, state.update)
        else:
            guard.applied(state, state.update, loss * TOKENS, TOKENS)
    return state


def noisy(count: int, begin: float = 9.0, end: float = 4.0, noise: float = 0.5) -> list[float]:
    """Return the losses of a training that goes well, with the noise of very small updates."""
    draw = random.Random(count)
    return [end + (begin - end) * math.exp(-n / 200) + draw.gauss(0, noise) for n in range(count)]


def test_a_training_that_goes_well_is_steady_throughout() -> None:
    state = TrainingState()
    for loss in noisy(2_000):
        watch([loss], state)
        assert state.steady == state.update
    assert state.lowest_loss == pytest.approx(4.0, abs=0.5)
    assert good_until(state) == 2_000 - WINDOW


@pytest.mark.parametrize("rise", [2.5, 4.0, 50.0])
def test_losses_that_rise_and_stay_are_a_divergence(rise: float) -> None:
    state = watch(noisy(300))
    with pytest.raises(
        Diverged, match=r"lies more than train\.guard = 2 above the lowest so far, \d\.\d\d, so"
    ) as told:
        watch([state.lowest_loss + rise] * 500, state)
    assert told.value.number == state.update < 300 + 3 * WINDOW
    assert "update 3" in str(told.value)
    assert "; lower the learning rate (train.schedule)" in str(told.value)
    assert 250 < state.steady <= 300 + 0.25 * WINDOW
    assert good_until(state) < 300


def test_a_slow_rise_began_before_it_was_noticed() -> None:
    state = watch([4.0] * 200)
    with pytest.raises(Diverged):
        watch((4.0 + n / 100 for n in range(10_000)), state)
    assert state.update > 440
    assert good_until(state) < 260


def test_losses_that_rise_for_a_while_or_less_are_none() -> None:
    """A few bad updates, or a plateau that lies higher by less than the limit; either is not steady while it lasts."""
    state = watch([*[4.0] * 200, *[12.0] * 5])
    assert state.steady < 205
    watch([4.0] * 200, state)
    assert state.steady == state.update
    watch([5.5] * 1_000, state)
    assert state.steady < 650


def test_one_update_of_any_finite_loss_can_be_a_divergence() -> None:
    with pytest.raises(Diverged):
        watch([*[4.0] * 200, 1e30])


def test_before_there_are_enough_updates_nothing_is_a_rise() -> None:
    state = watch([1.0, *[20.0] * (WINDOW - 2)])
    assert (state.steady, state.lowest_loss) == (WINDOW - 1, 0.0)
    watch([20.0] * 300, state)
    assert state.lowest_loss > 15


def test_without_a_limit_losses_may_rise() -> None:
    state = watch([*[1.0] * 100, *[90.0] * 500], limit=0.0)
    assert state.steady == 600


def test_the_sum_of_losses_counts_with_its_tokens() -> None:
    """An update of many tokens weighs more than one of few."""
    state, guard = TrainingState(), Guard(2.0)
    for update in range(1, 401):
        guard.applied(state, update, *((4.0 * 1_000, 1_000) if update % 2 else (9.0 * 10, 10)))
    assert state.recent_nll / state.recent_tokens == pytest.approx((4_000 + 90) / 1_010, abs=0.05)


@pytest.mark.parametrize("limit", [0.0, 2.0])
def test_updates_in_a_row_that_were_not_finite_are_a_divergence(limit: float) -> None:
    state = watch([*[4.0] * 80, *[SKIPPED] * (MOST_SKIPPED - 1), 4.0, *[SKIPPED] * (MOST_SKIPPED - 1)], limit=limit)
    assert (state.skipped, state.skipped_in_a_row, state.steady) == (18, 9, 90)
    with pytest.raises(Diverged, match=r"^update 100: 10 updates in a row had no finite gradient, so training has div"):
        watch([SKIPPED], state, limit)
    assert good_until(state) == 90 - WINDOW


def test_a_second_divergence_says_so() -> None:
    state = watch([4.0] * 80)
    state.returns = 1
    with pytest.raises(Diverged, match="so training has diverged again; lower the learning rate"):
        watch([SKIPPED] * MOST_SKIPPED, state)


def test_what_is_remembered_survives_being_written() -> None:
    """A training that is interrupted at every update ends as one that is not."""
    losses = [*noisy(150), SKIPPED, *noisy(20), *[SKIPPED] * 3, *noisy(80)]
    state = TrainingState()
    for loss in losses:
        state = TrainingState.from_json(json.loads(json.dumps(watch([loss], state).to_json())))
    assert state == watch(losses)


def test_a_loss_that_rounding_made_negative_is_none() -> None:
    """A state that holds a negative number would be refused as damaged."""
    state = watch([*[1e-9] * 10, *[-1e-9] * 90])
    assert TrainingState.from_json(state.to_json()) == state
    assert state.recent_nll >= 0


def test_what_is_passed_over() -> None:
    """From the update on behind which nothing is good for certain, to the one that showed it."""
    good = watch([4.0] * 100)
    diverged = watch([4.0] * 180)
    with pytest.raises(Diverged) as told:
        watch([SKIPPED] * MOST_SKIPPED, diverged)
    good.seconds, diverged.seconds, diverged.checkpoint_seconds = 10.0, 25.0, 3.0
    mark_passage(good, diverged, told.value.number)
    assert [n for n in range(1, 300) if passes_over(good, n)] == list(range(180 - WINDOW + 1, 180 + MOST_SKIPPED + 1))
    assert (good.update, good.returns, good.skipped, good.skipped_in_a_row) == (100, 1, 0, 0)
    assert (good.seconds, good.checkpoint_seconds) == (25.0, 3.0)
    assert not any(passes_over(TrainingState(), n) for n in range(1, 300))
