"""Reports: sums divided once, TensorBoard events, what stands in the bar."""

import io
import json
import math
import re
from pathlib import Path
from unittest.mock import patch

import pytest
from rich.console import Console
from toy.projects import Project
from toy.screen import Screen

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


def test_updates_that_are_reported_late_share_the_time(tmp_path: Path) -> None:
    """Three updates in 6 seconds, told of at once: a record in their midst has the rate of its own two."""
    reporter = Reporter(Log("quiet"), RunFolder(tmp_path), StopConfig(updates=12), every=2, tensorboard=False)
    state = TrainingState()
    with patch("nmtkit.training.reporting.time.monotonic", return_value=100.0) as clock:
        reporter.open(state, average_stands=False)
        for now, numbers in ((106.0, (1, 2, 3)), (116.0, (4, 5, 6, 7, 8))):
            clock.return_value, state.update = now, numbers[-1]
            for number in numbers:
                reporter.update(result(20.0, 10.0, 8, 10, 0.1), state, Progress(number / 4, 4), number)
    reporter.close()
    records = [json.loads(line) for line in RunFolder(tmp_path).metrics.read_text().splitlines()]
    assert [record["update"] for record in records] == [2, 4, 6, 8]
    assert [record["target_tokens_per_second"] for record in records] == pytest.approx([5.0] * 4)
    assert [record["seconds_left"] for record in records] == pytest.approx([18.0, 8.0, 8.0, 8.0])


def test_time_left_is_unknown_where_only_patience_ends_training(tmp_path: Path) -> None:
    reporter = Reporter(
        Log("quiet"), RunFolder(tmp_path), StopConfig(updates=0, patience=3), every=1, tensorboard=False
    )
    reporter.open(TrainingState(), average_stands=False)
    reporter.update(result(20.0, 10.0, 8, 10, 0.1), TrainingState(update=1), Progress(0.25, 4))
    reporter.close()
    (record,) = [json.loads(line) for line in RunFolder(tmp_path).metrics.read_text().splitlines()]
    assert record["seconds_left"] is None


def watched(folder: Path, columns: int, *results: UpdateResult) -> tuple[Screen, Screen]:
    """Return a terminal while training reports, and after it has closed."""
    log, written = Log(), io.StringIO()
    log.console = Console(file=written, force_terminal=True, width=columns, highlight=False, soft_wrap=True)
    reporter = Reporter(log, RunFolder(folder), StopConfig(updates=123_456), every=2, tensorboard=False)
    state = TrainingState(update=5_999)
    reporter.open(state, average_stands=False)
    with patch("nmtkit.training.reporting.time.monotonic", return_value=100.0) as clock:
        reporter.begin_updates()
        for each in results:
            state.update += 1
            clock.return_value += 2.0
            reporter.update(each, state, Progress(state.update / 400, 400))
            reporter._meter._bar.refresh()
    during = Screen(columns).feed(written.getvalue())
    reporter.close()
    return during, Screen(columns).feed(written.getvalue())


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_terminal_shows_all_there_is_to_watch_and_no_line_wraps(tmp_path: Path, columns: int) -> None:
    each = result(70_000.0, 50_000.0, 24_000, 25_000, 0.012, norm=0.834)
    during, after = watched(tmp_path, columns, *[each] * 4)
    assert during.wrapped == after.wrapped == 0
    *above, bar, beneath = during.shown
    assert after.shown == above
    assert re.fullmatch(r". training [━╺╸ ]+ 6,003/123,456( up.*)?", bar)
    if columns >= 80:
        assert bar.endswith(" 6,003/123,456 updates, 2 d 17 h left"[: columns - 35])
    numbers = {
        60: ["2.800", "7.39", "12.0k+12.5k"],
        80: ["2.800", "7.39", "1.00e-02", "12.0k+12.5k", "1.2%", "0.83"],
        120: ["2.800", "7.39", "1.00e-02", "12.0k + 12.5k", "1.2%", "0.83"],
    }[columns]
    assert re.findall(r"\d[\d.k%e+ -]*[\dk%]", beneath) == numbers
    assert len(above) == 2
    for update, line in zip((6_000, 6_002), above, strict=True):
        assert line.startswith(f"update {update:,}")
        assert "loss 2.8000, perplexity 7.39" in line
        assert ("12,000 + 12,500 tokens/s" in line) == (columns > 60)


def test_what_is_not_finite_is_not_watched(tmp_path: Path) -> None:
    nan = float("nan")
    during, _ = watched(tmp_path, 80, result(nan, nan, 8, 10, 0.1, nan))
    assert len(during.shown) == 1
    assert "6,000/123,456" in during.shown[0]


def test_the_fields_of_records_are_documented(trained: Project) -> None:
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
    for kind in ("train", "validation", "average"):
        (record, *_) = trained.records(kind)
        assert f'"kind": "{kind}"' in page
        assert [name for name in record if name != "kind" and f"`{name}`" not in page] == []


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
