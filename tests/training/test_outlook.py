"""How long a training goes on, how fast, and what its checkpoints take, beside a training that really writes them."""

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from toy.training import make_trainer, random_pairs, train_config

from nmtkit.training import checkpoint_writer
from nmtkit.training.outlook import Ending, Pace, checkpoint_disk, ending, pace_of
from nmtkit.training.settings import CheckpointConfig, StopConfig
from nmtkit.training.tensor_folder import OPTIMIZER, WEIGHTS, read_tensors


def test_the_earliest_limit_that_can_be_foreseen_ends_training() -> None:
    stop = StopConfig(updates=500, epochs=3, minutes=2, patience=4)
    assert ending(stop, 100.4, 0.5) == Ending(240, "train.stop.minutes = 2")
    assert ending(stop, 100.4, 0.2) == Ending(302, "train.stop.epochs = 3")
    assert ending(stop, None, 0.2) == Ending(500, "train.stop.updates = 500")
    assert ending(StopConfig(updates=0, epochs=3, minutes=0, patience=1), None, 1.0) is None
    assert ending(StopConfig(updates=0, minutes=5), 100.0, None) is None


def record(update: int, seconds: float, rate: float | None = 900.0, kind: str = "train") -> str:
    return json.dumps({"kind": kind, "update": update, "seconds": seconds, "target_tokens_per_second": rate}) + "\n"


def test_a_pace_is_that_of_the_latest_records(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.jsonl"
    early = "".join(record(update, update * 9.0) for update in range(1, 5))
    # Of which the last is the one training came back to: it writes these updates anew.
    late = "".join(record(3 + place, 27.0 + place * 2.0, 1_000.0 + place) for place in range(51))
    metrics.write_text(early + record(60, 1.0, kind="validation") + late + "{half", encoding="utf-8")
    pace = pace_of(metrics)
    assert pace is not None
    assert pace.seconds_per_update == pytest.approx(2.0)
    assert pace.target_tokens_per_second == pytest.approx(1_025.5)


@pytest.mark.parametrize(
    "content",
    [
        "",
        record(1, 1.0),
        record(1, 1.0) + record(2, 1.0),
        record(1, 1.0) + record(2, 2.0, None),
        record(1, 1.0) + '{"kind": "train", "update": 2, "seconds": "3", "target_tokens_per_second": 1e999}\n',
    ],
)
def test_records_that_tell_no_pace(tmp_path: Path, content: str) -> None:
    metrics = tmp_path / "metrics.jsonl"
    assert pace_of(metrics) is None
    metrics.write_text(content, encoding="utf-8")
    assert pace_of(metrics) is None


def test_a_pace_is_what_a_training_had(tmp_path: Path) -> None:
    config = train_config(stop={"updates": 4}, log_every=1)
    trainer = make_trainer(tmp_path, config, random_pairs(40))
    trainer.place.reporter.open(trainer.state, average_stands=False)
    trainer.train()
    trainer.place.reporter.close()
    assert isinstance(pace_of(tmp_path / "metrics.jsonl"), Pace)


def bytes_of_tensors(checkpoints: Path) -> int:
    """Return the bytes of all weights and moments on the disk, but for headers and counts of steps."""
    files = [file for name in (WEIGHTS, OPTIMIZER) for file in checkpoints.glob(f"*/{name}")]
    return sum(t.numel() * t.element_size() for file in files for t in read_tensors(file).values() if t.dim())


def test_checkpoints_take_what_is_said(tmp_path: Path) -> None:
    checkpoints = {"every": 1, "keep_last": 2, "keep_best": 0, "average": 2}
    config = train_config(stop={"updates": 6}, checkpoints=checkpoints)
    trainer = make_trainer(tmp_path, config, random_pairs(40))
    seen: list[int] = []
    prune = checkpoint_writer.prune

    def look(folder: Path, *arguments, **keywords) -> None:
        seen.append(bytes_of_tensors(folder))
        prune(folder, *arguments, **keywords)

    with patch.object(checkpoint_writer, "prune", look):
        trainer.train()
    count = sum(parameter.numel() for parameter in trainer.model.parameters())
    disk = checkpoint_disk(config.checkpoints, count, count)
    assert (disk.weights, disk.optimizer) == (4 * count, 8 * count)
    # So soon nothing is there to go back to for certain, and no checkpoint was written amiss.
    assert max(seen) == (2 + 1) * (disk.weights + disk.optimizer)
    assert disk.training <= disk.most
    assert max(seen) <= disk.most
    assert bytes_of_tensors(tmp_path / "checkpoints") == disk.finished


def test_one_to_go_back_to_is_kept_and_all_behind_it_with_their_moments() -> None:
    rare = checkpoint_disk(CheckpointConfig(every=1_000), 10, 10)
    assert (rare.training, rare.finished) == ((6 + 1 + 1) * 40 + 3 * 80, 6 * 40 + 2 * 80 + 40)
    often = checkpoint_disk(CheckpointConfig(every=1), 10, 10)
    assert often.training == (6 + 1 + 1) * 40 + 8 * 80
    assert rare.most == often.most == (6 + 2 + 1) * (40 + 80) + 40


def test_frozen_parameters_have_no_moments() -> None:
    disk = checkpoint_disk(CheckpointConfig(average=0), 10, 3)
    assert (disk.weights, disk.optimizer) == (40, 24)
    assert disk.most == (6 + 2 + 1) * (40 + 24)
