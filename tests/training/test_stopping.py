"""When training ends, and how much of it is spent before."""

from typing import Any

import pytest

from nmtkit.data.epochs import Progress
from nmtkit.data.position import Position
from nmtkit.training.settings import StopConfig, TrainConfig
from nmtkit.training.state import TrainingState
from nmtkit.training.stopping import (
    limit_reached,
    seconds_kept,
    seconds_left,
    seconds_needed,
    spent,
    spent_amid,
)

NONE = {"updates": 0, "epochs": 0, "minutes": 0.0, "patience": 0}


def limited(average: int = 0, **limits: Any) -> TrainConfig:
    return TrainConfig.model_validate({"stop": {**NONE, **limits}, "checkpoints": {"average": average}})


@pytest.mark.parametrize(
    ("limit", "before", "reached", "name"),
    [
        ({"updates": 5}, {"update": 4}, {"update": 5}, "train.stop.updates = 5"),
        ({"epochs": 2}, {"position": Position(1)}, {"position": Position(2)}, "train.stop.epochs = 2"),
        ({"minutes": 1.5}, {"seconds": 89.9}, {"seconds": 90.0}, "train.stop.minutes = 1.5"),
        (
            {"patience": 3},
            {"validations_without_gain": 2},
            {"validations_without_gain": 3},
            "train.stop.patience = 3",
        ),
    ],
)
def test_each_limit_ends_training_when_reached(limit, before, reached, name) -> None:
    config = limited(**limit)
    assert limit_reached(config, TrainingState(**before)) is None
    assert limit_reached(config, TrainingState(**reached)) == name


def test_a_limit_of_zero_is_none() -> None:
    config = limited(updates=10)
    state = TrainingState(update=9, position=Position(99), seconds=1e9, validations_without_gain=99)
    assert limit_reached(config, state) is None


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({"updates": 30}, 40.0),
        ({"epochs": 3}, 2 * (2 * 8 - 2)),  # two epochs of 8 updates, of which a quarter of one is done
        ({"minutes": 2.0}, 20.0),
        ({"updates": 30, "epochs": 3, "minutes": 2.0}, 20.0),
        ({"minutes": 1.0, "updates": 999}, 0.0),
        ({"patience": 2}, None),
    ],
)
def test_time_left_is_that_of_the_earliest_limit(limits: dict[str, float], left: float | None) -> None:
    state = TrainingState(update=10, seconds=100.0)
    stop = StopConfig(**{**NONE, **limits})
    assert seconds_left(stop, state, Progress(1.25, 8), seconds_per_update=2.0) == left


# What the end of training takes.

TIMES = {"update_seconds": 2.0, "validated_update_seconds": 2.0, "validation_seconds": 9.0, "checkpoint_seconds": 1.0}


@pytest.mark.parametrize(
    ("average", "times", "expected"),
    [
        (0, TIMES, 1.1 * 10 + 1),
        (5, TIMES, 1.1 * 2 * 10 + 1),
        (5, {**TIMES, "update_seconds": 6.0}, 1.1 * 2 * (3 * 9 + 1) + 1),  # the machine is three times as slow now
        (5, {**TIMES, "update_seconds": 1.0}, 1.1 * 2 * 10 + 1),  # and what is faster now may slow down again
        (5, {}, 0.0),
        (5, {**TIMES, "validation_seconds": 1e4}, 600.0),  # half of the time at most
    ],
)
def test_time_is_kept_for_the_ending(average: int, times: dict[str, float], expected: float) -> None:
    state = TrainingState(**times)
    assert seconds_kept(limited(average, minutes=20.0), state) == pytest.approx(expected)


def test_minutes_are_reached_where_another_update_would_not_leave_enough() -> None:
    config = limited(average=5, minutes=20.0)
    enough = 1_200 - 2.0 - 23.0
    assert limit_reached(config, TrainingState(**TIMES, seconds=enough - 0.01)) is None
    assert limit_reached(config, TrainingState(**TIMES, seconds=enough + 0.01)) == "train.stop.minutes = 20"
    assert seconds_needed(config, TrainingState(**TIMES, seconds=enough)) == pytest.approx(1_200)


# How much of training is spent.


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"updates": 40}, 0.25),
        ({"epochs": 4}, 0.3),
        ({"minutes": 5.0}, 0.4),
        ({"updates": 40, "epochs": 4}, 0.3),
        ({"updates": 20, "epochs": 4, "minutes": 5.0}, 0.5),
        ({"updates": 5}, 1.0),
        ({"patience": 3}, 0.0),
    ],
)
def test_the_share_spent_is_that_of_the_nearest_limit(limits: dict[str, float], expected: float) -> None:
    state = TrainingState(update=10, passes=1.2, seconds=120.0)
    assert spent(limited(**limits), state) == pytest.approx(expected)


def test_of_minutes_those_for_updates_are_spent() -> None:
    """So it is the last update whose share is nearly 1."""
    config, state = limited(average=5, minutes=20.0), TrainingState(**TIMES, seconds=1_200 - 23.0)
    assert spent(config, state) == pytest.approx(1.0)
    assert spent(config, TrainingState(**TIMES, seconds=(1_200 - 23.0) / 2)) == pytest.approx(0.5)


def test_in_the_middle_of_an_update() -> None:
    """The first of ten updates lies at a twentieth, the last at 1 less a twentieth; likewise by epochs."""
    shares = [spent_amid(limited(updates=10), TrainingState(update=done), Progress(0, 1)) for done in range(10)]
    assert shares == pytest.approx([0.05 + 0.1 * done for done in range(10)])
    assert spent_amid(limited(epochs=2), TrainingState(passes=0.5), Progress(0.6, 10)) == pytest.approx(0.275)


def test_with_an_update_less_time_is_never_spent() -> None:
    """However long updates take."""
    config, state, shares = limited(minutes=1.0), TrainingState(), []
    for seconds in (20.0, 0.1, 0.1, 5.0, 0.1, 30.0):
        shares.append(spent_amid(config, state, Progress(0, 1)))
        state.seconds += seconds
        state.update_seconds = seconds
    assert shares == sorted(shares)
    assert shares[:2] == pytest.approx([0.0, 1 / 3])
