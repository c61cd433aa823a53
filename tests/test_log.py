"""What is said where: stderr, the log file, metrics.jsonl; never stdout."""

import io
import json
import re
from pathlib import Path
from unittest.mock import patch

import pytest
from rich.console import Console
from rich.table import Table
from toy.screen import Screen

from nmtkit.log import Log, MetricsWriter, counted, duration, rounded


def test_messages_go_to_stderr_by_verbosity(capsys: pytest.CaptureFixture[str]) -> None:
    shown = {}
    for verbosity in ("quiet", "normal", "verbose"):
        log = Log(verbosity)
        log.info("information")
        log.detail("detail")
        log.warn("danger")
        captured = capsys.readouterr()
        assert captured.out == ""
        shown[verbosity] = captured.err.split("\n")[:-1]
    assert shown == {
        "quiet": ["warning: danger"],
        "normal": ["information", "warning: danger"],
        "verbose": ["information", "detail", "warning: danger"],
    }


def test_text_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Square brackets are no markup, and long lines are not broken."""
    message = "[bold]a[/bold] [[corpus.train]] " + "word " * 60
    Log().info(message)
    assert capsys.readouterr().err == message + "\n"


def test_the_file_holds_everything_with_its_time(tmp_path: Path) -> None:
    path = tmp_path / "new" / "train.log"
    for message in ("first", "second"):
        log = Log("quiet")
        log.attach(path)
        log.info(message)
        log.detail("detail")
        log.close()
        log.info("no longer")
    lines = path.read_text().split("\n")
    assert [line[20:] for line in lines] == ["first", "detail", "second", "detail", ""]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d first", lines[0])


def test_tables_are_shown_unless_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("head")
    table.add_row("cell")
    Log("quiet").table(table)
    assert capsys.readouterr().err == ""
    Log().table(table)
    assert "cell" in capsys.readouterr().err


def test_progress_is_plain_lines_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with patch("nmtkit.log.SECONDS_BETWEEN_LINES", 0.0), Log().progress("counting", 2_000, "lines") as meter:
        meter.advance(500)
        meter.advance(1_000, note="whoever gives a note writes lines by itself")
    lines = capsys.readouterr().err.split("\n")
    assert re.fullmatch(r"counting: 500 of 2,000 lines \([\d,]+/s\), .* left", lines[0])
    assert lines[1:] == [""]


def test_progress_without_end_or_within_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    with Log().progress("counting", unit="lines") as meter:
        meter.advance(5)
    assert capsys.readouterr().err == ""
    with patch("nmtkit.log.SECONDS_BETWEEN_LINES", 0.0), Log().progress("counting", unit="lines") as meter:
        meter.advance(5)
    assert re.fullmatch(r"counting: 5 lines \([\d,]+/s\)\n", capsys.readouterr().err)


def test_the_rate_leaves_out_what_was_done_before(capsys: pytest.CaptureFixture[str]) -> None:
    with patch("nmtkit.log.time.monotonic", side_effect=[100.0, 120.0, 120.0, 120.0, 120.0]):
        Log().meter("training", 1_000, "updates", done=900).advance(20)
    assert capsys.readouterr().err == "training: 920 of 1,000 updates (1/s), 1 min 20 s left\n"


def test_a_terminal_shows_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log()
    screen = io.StringIO()
    log.console = Console(file=screen, force_terminal=True, width=100)
    assert log.live
    with log.progress("training", 10, "updates") as meter:
        meter.advance(3, note="loss 1.234")
    with log.progress("reading", 5_000_000, "bytes") as meter:
        meter.advance(1_234)
    assert "training" in screen.getvalue()
    assert "3/10" in screen.getvalue()
    assert "loss 1.234" in screen.getvalue()
    assert "    1,234/5,000,000 bytes" in re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", screen.getvalue())
    log.verbosity = "quiet"
    assert not log.live


def test_a_terminal_of_another_encoding_gets_what_it_can_show() -> None:
    """What is spelled out takes more columns than were counted, and the bar would go on in the next line."""
    written = io.BytesIO()
    terminal = io.TextIOWrapper(written, encoding="ascii", errors="backslashreplace", write_through=True)
    log = Log()
    log.console = Console(file=terminal, force_terminal=True, width=60)
    with log.progress("training", 10, "updates") as meter:
        meter.advance(3)
    assert b"3/10" in written.getvalue()
    assert b"\\u" not in written.getvalue()


def test_metrics_are_json_lines_that_are_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run" / "metrics.jsonl"
    for update in (1, 2):
        writer = MetricsWriter(path)
        writer.write(
            {"update": update, "loss": float("nan"), "perplexity": float("inf"), "rate": 0.5, "name": "größer"}
        )
        assert path.read_text(encoding="utf-8").count("\n") == update
        writer.close()
    first, second = path.read_text(encoding="utf-8").split("\n")[:2]
    assert json.loads(first) == {"update": 1, "loss": None, "perplexity": None, "rate": 0.5, "name": "größer"}
    assert json.loads(second)["update"] == 2
    assert "größer" in first


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (42.4, "42 s"),
        (59.6, "1 min 00 s"),
        (725, "12 min 05 s"),
        (3 * 3600 + 7 * 60, "3 h 07 min"),
        (2 * 86400 + 4 * 3600, "2 d 04 h"),
    ],
)
def test_durations_read_easily(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_one_thing_is_not_called_by_its_plural() -> None:
    assert [counted(count, "line") for count in (0, 1, 2_000)] == ["0 lines", "1 line", "2,000 lines"]


def test_a_narrow_terminal_gets_the_first_shorter_form_that_fits(capsys: pytest.CaptureFixture[str]) -> None:
    forms = ("a" * 30, "b" * 20, "c" * 10, "d" * 5)
    for columns, shown in ((30, forms[0]), (29, forms[1]), (10, forms[2]), (3, forms[3])):
        log, screen = Log(), io.StringIO()
        log.console = Console(file=screen, force_terminal=True, width=columns, soft_wrap=True)
        log.info(*forms)
        assert screen.getvalue() == f"{shown}\n"
    Log().info(*forms)  # stderr is no terminal
    assert capsys.readouterr().err == f"{forms[0]}\n"


def test_a_line_beneath_a_bar_takes_the_form_that_fits() -> None:
    log, written = Log(), io.StringIO()
    log.console = Console(file=written, force_terminal=True, width=60, soft_wrap=True)
    with log.progress("training", 10, "updates") as meter:
        meter.beneath("long " * 20, "short")
        meter.advance(3, note="updates")
        meter._bar.refresh()
        screen = Screen(60).feed(written.getvalue())
        assert screen.shown[1:] == ["short"]
        meter.beneath("long " * 20)
        meter._bar.refresh()
        screen = Screen(60).feed(written.getvalue())
    assert screen.wrapped == 0
    assert screen.shown[1].startswith("long long ")
    assert screen.shown[1].endswith("…")
    assert Screen(60).feed(written.getvalue()).shown == []


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (12.305, "12.30"),
        (999.99, "999.99"),
        (9_412, "9,412"),
        (31_249, "31.2k"),
        (310_400, "310k"),
        (1_239_000, "1.24M"),
    ],
)
def test_numbers_in_a_few_characters(number: float, text: str) -> None:
    assert rounded(number, 2) == text


def test_a_total_can_be_corrected_and_a_note_shown_on_a_bar() -> None:
    log = Log()
    log.console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with log.progress("training", unit="updates") as meter:
        meter.expect(1_234)
        meter.advance(7, note="loss 1.5")
        meter.say("validating")
        task = meter._bar.tasks[0]
        assert (task.total, task.completed, task.fields["count"].strip()) == (1_234, 7, "7/1,234")
        assert task.fields["note"] == "validating"
