"""When training ends."""

import pytest

from nmtkit.data.epochs import Progress
from nmtkit.data.position import Position
from nmtkit.training.settings import StopConfig
from nmtkit.training.state import TrainingState
from nmtkit.training.stopping import limit_reached, seconds_left

NONE = {"updates": 0, "epochs": 0, "minutes": 0.0, "patience": 0}


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
    stop = StopConfig(**{**NONE, **limit})
    assert limit_reached(stop, TrainingState(**before)) is None
    assert limit_reached(stop, TrainingState(**reached)) == name


def test_a_limit_of_zero_is_none() -> None:
    stop = StopConfig(updates=10, epochs=0, minutes=0.0, patience=0)
    state = TrainingState(update=9, position=Position(99), seconds=1e9, validations_without_gain=99)
    assert limit_reached(stop, state) is None


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
