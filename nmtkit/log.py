"""What nmtkit says while it works: messages and progress on stderr, never on stdout; metrics as JSON lines."""

import json
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TextIO

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.table import Table
from rich.text import Text

from nmtkit.errors import naming
from nmtkit.talk import Talk

SECONDS_BETWEEN_LINES = 10.0
"""How often progress is written as a plain line where stderr is no terminal."""

REDRAWN_PER_SECOND = 4
"""How often a bar is drawn anew, at half a millisecond of a processor that has other things to do."""

Verbosity = Literal["silent", "quiet", "normal", "verbose"]


class Log:
    """Writes to stderr and, once `attach` was called, to a file as well. Only a silent log writes no warnings."""

    def __init__(self, verbosity: Verbosity = "normal") -> None:
        self.verbosity = verbosity
        self.console = Console(file=Talk(), highlight=False, soft_wrap=True)  # type: ignore[arg-type]
        self._file: TextIO | None = None

    @property
    def live(self) -> bool:
        """True where a person watches: progress may be redrawn in place."""
        return self.console.is_terminal and self.verbosity not in ("silent", "quiet")

    def attach(self, path: Path) -> None:
        """Write every further message to the end of a file too, each with its time."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")

    def close(self) -> None:
        """Close the attached file."""
        if self._file is not None:
            file, self._file = self._file, None
            _close(file)

    def info(self, message: str, *shorter: str) -> None:
        """Say what happens. A terminal too narrow for the message gets the first of the shorter ones that fits."""
        self._write(message, shown=self.verbosity not in ("silent", "quiet"), shorter=shorter)

    def detail(self, message: str) -> None:
        """Say what only a verbose log should hold."""
        self._write(message, shown=self.verbosity == "verbose")

    def warn(self, message: str) -> None:
        """Say what the user should know even in a quiet run."""
        self._write(f"warning: {message}", shown=self.verbosity != "silent", style="yellow")

    def table(self, table: Table) -> None:
        """Show a table."""
        if self.verbosity not in ("silent", "quiet"):
            self.console.print(table)

    def _write(self, message: str, *, shown: bool, style: str | None = None, shorter: Sequence[str] = ()) -> None:
        if shown:
            fitting = fit((message, *shorter), self.console.width) if self.console.is_terminal else message
            self.console.print(fitting, style=style, markup=False)
        if self._file is not None:
            _append(self._file, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {message}")

    @contextmanager
    def progress(self, what: str, total: int | None = None, unit: str = "") -> Iterator["Meter"]:
        """Show how far something has come, with rate and time left: a bar on a terminal, else a line now and then."""
        meter = self.meter(what, total, unit)
        try:
            yield meter
        finally:
            meter.close()

    def meter(self, what: str, total: int | None = None, unit: str = "", done: int = 0) -> "Meter":
        """Show how far something has come, beginning at `done`, until the meter is closed."""
        return Meter(self, what, total, unit, done)


class Bar(Progress):
    """A bar with a line beneath it, for what does not fit beside it."""

    beneath: Sequence[str] = ()
    """What to say there, the longest form first: the first that fits is shown, else the last, cut."""

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return what is drawn."""
        yield self.make_tasks_table(self.tasks)
        if self.beneath:
            # A line of all columns lets some terminals move to the next one.
            line = fit(self.beneath, self.console.width - 1)
            yield Text(line, style="dim", no_wrap=True, overflow="ellipsis")


class Meter:
    """Counts towards a total that may be unknown."""

    def __init__(self, log: Log, what: str, total: int | None, unit: str, done: int = 0) -> None:
        self._log, self._what, self._total, self._unit = log, what, total, unit
        self.done = self._done_before = done
        self._started = self._last_line = time.monotonic()
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        if log.live:
            self._bar = Bar(
                SpinnerColumn("dots" if log.console.encoding.startswith("utf") else "line"),
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
                TextColumn("{task.fields[count]}"),
                TextColumn("{task.fields[note]}"),
                console=log.console,
                refresh_per_second=REDRAWN_PER_SECOND,
                transient=True,
            )
            self._task = self._bar.add_task(what, total=total, completed=done, count=self._count(), note=unit)
            self._bar.start()

    def advance(self, count: int = 1, note: str = "") -> None:
        """Count further. `note` takes the place of rate and time left; whoever gives it writes lines by itself."""
        self.done += count
        if self._bar is not None and self._task is not None:
            note = note or self._rate() + self._left()
            self._bar.update(self._task, completed=self.done, count=self._count(), note=note)
        elif not note and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self._log.info(self._line())

    def expect(self, total: int | None) -> None:
        """Correct the total, where it can only be foreseen."""
        self._total = total
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=total)

    def say(self, note: str) -> None:
        """Show a note behind the count of a bar until the next advance."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, note=note)

    def beneath(self, *forms: str) -> None:
        """Show a line beneath a bar, in the first of these forms that fits."""
        if self._bar is not None:
            self._bar.beneath = forms

    def _count(self) -> str:
        """Return how far it has come, as wide as it will be at the end."""
        if not self._total:
            return f"{self.done:,}"
        total = f"{self._total:,}"
        return f"{self.done:,}/{total}".rjust(2 * len(total) + 1)

    def _per_second(self) -> float:
        return (self.done - self._done_before) / max(time.monotonic() - self._started, 1e-9)

    def _rate(self) -> str:
        return f"{self._unit} ({self._per_second():,.0f}/s)"

    def _left(self) -> str:
        if not self._total or self.done == self._done_before:
            return ""
        return f", {duration(max(0, self._total - self.done) / self._per_second())} left"

    def _line(self) -> str:
        of = f" of {self._total:,}" if self._total else ""
        return f"{self._what}: {self.done:,}{of} {self._rate()}{self._left()}"

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


class MetricsWriter:
    """Appends records to metrics.jsonl, one JSON object a line, flushed at once."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")

    def write(self, record: dict[str, Any]) -> None:
        """Append one record. JSON has no word for a number that is not finite: it becomes null."""
        finite = {key: None if _endless(value) else value for key, value in record.items()}
        _append(self._file, json.dumps(finite, ensure_ascii=False, allow_nan=False))

    def close(self) -> None:
        """Close the file."""
        _close(self._file)


def _append(file: TextIO, line: str) -> None:
    """Write a line to the disk at once."""
    with naming(Path(file.name)):
        file.write(f"{line}\n")
        file.flush()


def _close(file: TextIO) -> None:
    with naming(Path(file.name)):  # what could not be written is tried once more
        file.close()


def _endless(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def fit(forms: Sequence[str], columns: int) -> str:
    """Return the first of some forms of a text that fits into the columns of a terminal, or else the last."""
    return next((form for form in forms if cell_len(form) <= columns), forms[-1])


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: 1 line, 2,000 lines."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def rounded(number: float, places: int = 0) -> str:
    """Return a number in some six characters, below 1,000 with these places: 12.31, 9,412, 31.2k, 1.24M."""
    if number < 1_000:
        return f"{number:.{places}f}"
    if number < 10_000:
        return f"{number:,.0f}"
    thousands = number < 999_500
    scaled, unit = (number / 1e3, "k") if thousands else (number / 1e6, "M")
    return f"{scaled:.1f}{unit}" if scaled < 100 and thousands else f"{scaled:.{0 if thousands else 2}f}{unit}"


def duration(seconds: float) -> str:
    """Return seconds as a person reads them: 42 s, 12 min 05 s, 3 h 07 min, 2 d 04 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"
