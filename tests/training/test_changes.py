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
        ("train.recompute", True),
        ("train.compile", True),
        ("train.freeze", False),
        ("translate.search.beam", True),
        ("score.metrics", True),
        ("corpus.dev.source", True),
        ("train.batch.tokens_per_update", True),
        ("train.batch.window", True),
        ("train.optimizer.beta2", True),
        ("train.optimizer.weight_decay", True),
        ("train.schedule.kind", True),
        ("train.schedule.warmup", True),
        ("train.label_smoothing", True),
        ("train.clip_norm", True),
        ("train.precision", True),
        ("train.guard", True),
        ("train.sampling.dropout", True),
        ("model.dropout", True),
        ("model.attention_dropout", True),
        ("model.width", False),
        ("model.kind", False),
        ("model.norm", False),
        ("model.share_embeddings", False),
        ("model.dropouts", False),
        ("train.optimizer.kind", False),
        ("prepare.max_pieces", False),
        ("languages.source", False),
        ("train.seed", False),
        ("train.stopwatch", False),
    ],
)
def test_what_makes_another_model_vocabulary_or_order_of_pairs_may_not_change(key: str, *, allowed: bool) -> None:
    old: Any = 1
    new: Any = 2
    for name in reversed(key.split(".")):
        old, new = {name: old}, {name: new}
    (change,) = changes(old, new)
    assert change.key == key
    assert change.allowed is allowed
