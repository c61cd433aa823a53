"""What training says of the learning rate before it begins."""

from typing import Any

import pytest

from nmtkit.commands.train_summary import schedule_in_words
from nmtkit.training.settings import TrainConfig

FITTED = (
    "wsd, which rises to 0.00198 in the first 10% of training and falls to zero in the last 20%; training ends with "
)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "noam (factor = 1.0, warmup = 4000)"),
        (
            {"stop": {"minutes": 20.0}, "schedule": {"kind": "inverse_sqrt", "peak": 0.003, "warmup": 1_000}},
            "inverse_sqrt (peak = 0.003, warmup = 1000), which is not fitted to train.stop.minutes = 20; "
            'train.schedule.kind = "wsd" is',
        ),
        (
            {"stop": {"minutes": 20.0, "updates": 8_000}},
            f"{FITTED}train.stop.updates = 8,000 or train.stop.minutes = 20, whichever comes first",
        ),
        ({"stop": {"minutes": 2.5, "updates": 0}}, f"{FITTED}train.stop.minutes = 2.5"),
    ],
)
def test_the_schedule_in_words(values: dict[str, Any], words: str) -> None:
    assert schedule_in_words(TrainConfig.model_validate(values), 128) == words
