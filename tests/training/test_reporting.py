"""Reports: sums divided once, TensorBoard events, what stands in the bar."""

import io
import math
import re
from pathlib import Path
from unittest.mock import patch

import pytest
from rich.console import Console
from toy.projects import Project

from nmtkit.data.batching import PlanSummary
from nmtkit.data.epochs import Progress
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.training.reporting import Reporter, UpdateResult
from nmtkit.training.settings import StopConfig
from nmtkit.training.state import TrainingState


def result(total: float, nll: float, source: int, target: int, padding: float, norm: float = 1.0) -> UpdateResult:
    positions = round((source + target) / (1 - padding))
    return UpdateResult(
        total, nll, PlanSummary(3, 1, 2, source, target, positions // 2, positions - positions // 2), norm, 0.01
    )


def write(folder: Path, *results: UpdateResult, every: int = 1, log: Log | None = None) -> list[dict[str, float]]:
    import json

    run = RunFolder(folder)
    reporter = Reporter(log or Log("quiet"), run, StopConfig(updates=10), every=every, tensorboard=False)
    state = TrainingState()
    reporter.open(state, average_stands=False)
    for each in results:
        state.update += 1
        reporter.update(each, state, Progress(state.update / 4, 4))
    reporter.close()
    return [json.loads(line) for line in run.metrics.read_text().splitlines()]


def test_a_record_is_sums_divided_once(tmp_path: Path) -> None:
    """Means by token, not means of the updates' means; padding by position."""
    (record,) = write(tmp_path, result(20.0, 10.0, 8, 10, 0.1), result(90.0, 60.0, 72, 30, 0.49), every=2)
    assert record["loss"] == pytest.approx(110 / 40)
    assert record["perplexity"] == pytest.approx(math.exp(70 / 40))
    assert record["padding"] == pytest.approx(1 - 120 / (20 + 200))
    assert record["source_tokens_per_second"] / record["target_tokens_per_second"] == pytest.approx(2.0)


def test_updates_that_were_skipped_spoil_no_record(tmp_path: Path) -> None:
    nan = float("nan")
    records = write(tmp_path, result(20.0, 10.0, 8, 10, 0.1), result(nan, nan, 8, 10, 0.1, nan), every=2)
    assert records[0]["loss"] == pytest.approx(2.0)
    assert write(tmp_path / "other", result(nan, nan, 8, 10, 0.1, nan)) == []


def test_the_bar_shows_loss_and_time_left(tmp_path: Path) -> None:
    log, screen = Log(), io.StringIO()
    log.console = Console(file=screen, force_terminal=True, width=120)
    write(tmp_path, result(20.0, 10.0, 8, 10, 0.1), every=5, log=log)
    shown = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", screen.getvalue())
    assert "1/10 loss 2.000, 0 s left" in shown


def test_tensorboard_events_hold_the_records(fresh: Project) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with patch("nmtkit.training.reporting.draw_learning_curve"):
        fresh.train("train.tensorboard=true", "train.stop.updates=4")
    events = EventAccumulator(str(fresh.run.tensorboard))
    events.Reload()
    losses = events.Scalars("train/loss")
    assert [event.step for event in losses] == [2, 4]
    assert [event.value for event in losses] == pytest.approx([record["loss"] for record in fresh.records("train")])
    assert events.Scalars("validation/score")[0].step == 4
    assert "average/perplexity" in events.Tags()["scalars"]
