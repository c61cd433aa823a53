"""Which settings may change within a run."""

from typing import Any

import pytest

from nmtkit.training.changes import changes


def test_differences_are_named_with_both_values() -> None:
    old = {"model": {"width": 512, "heads": 8}, "train": {"seed": 1, "gone": True}, "prepare": {"filters": [1, 2]}}
    new = {"model": {"width": 256, "heads": 8}, "train": {"seed": 1, "new": "x"}, "prepare": {"filters": [1]}}
    assert [str(change) for change in changes(old, new)] == [
        "model.width: 512 in the run, now 256",
        "train.new: not set in the run, now 'x'",
        "train.gone: True in the run, now not set",
        "prepare.filters: [1, 2] in the run, now [1]",
    ]
    assert list(changes(old, old)) == []


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        ("train.stop.updates", True),
        ("train.validation.every", True),
        ("train.checkpoints.keep_last", True),
        ("train.log_every", True),
        ("train.tensorboard", True),
        ("translate.search.beam", True),
        ("score.metrics", True),
        ("corpus.dev.source", True),
        ("train.batch.tokens_per_update", True),
        ("train.batch.window", True),
        ("model.width", False),
        ("model.dropout", False),
        ("prepare.max_pieces", False),
        ("languages.source", False),
        ("train.seed", False),
        ("train.optimizer.beta2", False),
        ("train.schedule.warmup", False),
        ("train.label_smoothing", False),
        ("train.clip_norm", False),
        ("train.precision", False),
        ("train.stopwatch", False),
    ],
)
def test_only_what_does_not_shape_weights_may_change(key: str, *, allowed: bool) -> None:
    old: Any = 1
    new: Any = 2
    for name in reversed(key.split(".")):
        old, new = {name: old}, {name: new}
    (change,) = changes(old, new)
    assert change.key == key
    assert change.allowed is allowed
