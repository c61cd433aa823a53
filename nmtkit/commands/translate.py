"""`nmtkit translate`: standard input or a file to standard output or a file, one line for each line.

What is written for a line:

    TEXT                         by default
    SCORE TAB TEXT               with scores
    NUMBER TAB SCORE TAB TEXT    with an n-best list: as many lines as hypotheses were found, at least one and at most
                                 n_best, best first; NUMBER is that of the input line, counted from 1

TEXT holds no tab and no line end. SCORE is what ranks hypotheses: of a beam the log-probability after length penalty.
"""

import io
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

from nmtkit.config import Config
from nmtkit.corpus.lines import LineCounts, clean_lines, raw_lines, read_lines, stream_lines
from nmtkit.corpus.tags import untagged
from nmtkit.errors import DataError
from nmtkit.log import Log, counted, duration
from nmtkit.run_folder import RunFolder, replacing
from nmtkit.translation.arrivals import GRACE, Arrivals
from nmtkit.translation.numbers import NumberCounts

if TYPE_CHECKING:
    from nmtkit.search.base import Hypothesis
    from nmtkit.translation.translator import LineTranslator

STANDARD_INPUT = "standard input"
"""What messages call it."""

Form = Literal["text", "scores", "list"]
"""What is written for a line."""
Rows = Callable[[int, "Sequence[Hypothesis]"], Iterator[str]]
"""From the number of a line, counted from 1, and its hypotheses to what is written, without line ends."""


def translate(
    run: RunFolder,
    config: Config,
    log: Log,
    *,
    source: Path | None = None,
    output: Path | None = None,
    device: str = "auto",
    form: Form = "text",
    strict: bool = False,
) -> None:
    """Translate `source` (None: standard input) into `output` (None: standard output), chunk by chunk.

    In the form of a list each translation of a line has a row of its own, also where there is but one; where there may
    be several, that is the form in any case.
    A file of output is there whole or not at all. Raises DataError where a file cannot be read or written,
    and, with `strict`, after the last line where a line was cut or repaired, or its translation ended by the length
    limit; CheckpointError where the run cannot be used; ConfigError where the device or the tag does not exist.
    """
    _check(source, output)
    if source is None and sys.stdin.isatty():
        log.info("translating what is typed, line by line; end it with Ctrl-D")
    line_counts, numbers = LineCounts(), NumberCounts()
    with ExitStack() as stack:
        sink = stack.enter_context(_opened(output))
        lines = Arrivals(
            _lines(source, line_counts),
            config.translate.chunk_lines,
            grace=None if is_file(source) else GRACE,
        )
        stack.callback(lines.close)
        # Both while the first lines are read: torch takes seconds to import.
        from nmtkit.api import Translator, resolve_device, use_threads

        use_threads()
        translator = Translator.open(run, config, resolve_device(device), log.warn)
        if wrong := untagged(config.translate.tag, [corpus.tag for corpus in config.corpus.train]):
            log.warn(f"the text {wrong} (--tag)")
        log.info(f"translating with {translator.weights} on {translator.device}")
        started = time.monotonic()
        quiet = output is None and sys.stdout.isatty()
        with nullcontext() if quiet else log.progress("translated", unit="lines") as meter:
            rows = _rows("list" if getattr(config.translate.search, "n_best", 1) > 1 else form)
            for answered in answer(lines, translator, sink, rows, numbers):
                if meter is not None:
                    meter.advance(answered)
    _summarize(translator, line_counts, numbers, time.monotonic() - started, log)
    counts = translator.counts
    if strict and (counts.cut or counts.endless or line_counts.invalid_bytes or line_counts.controls_removed):
        raise DataError(
            f"--strict: {counted(counts.cut, 'line')} cut, {counts.endless:,} ended by the length limit, "
            f"{line_counts.invalid_lines:,} not UTF-8, {counted(line_counts.controls_removed, 'control character')} "
            "removed (see above); every line was answered"
        )


def answer(
    chunks: Iterable[list[str]],
    translator: "LineTranslator",
    sink: BinaryIO,
    rows: Rows,
    numbers: NumberCounts,
) -> Iterator[int]:
    """Write the answers to each chunk of lines and yield how many lines it had; compare the numbers in them."""
    number = 0
    for chunk in chunks:
        answers: list[str] = []
        found = translator.hypotheses(chunk, numbers=count(number + 1))
        for line, hypotheses in zip(chunk, found, strict=True):
            number += 1
            answers += rows(number, hypotheses)
            numbers.add(line, hypotheses[0].text)
        sink.write("".join(f"{row}\n" for row in answers).encode("utf-8"))
        sink.flush()
        yield len(chunk)


def _rows(form: Form) -> Rows:
    """Return how answers are written."""
    if form == "list":
        return lambda number, found: (f"{number}\t{each.score:.6f}\t{each.text}" for each in found)
    if form == "scores":
        return lambda _, found: iter((f"{found[0].score:.6f}\t{found[0].text}",))
    return lambda _, found: iter((found[0].text,))


def _check(source: Path | None, output: Path | None) -> None:
    """Raise DataError at once where input cannot be read or would be replaced; what can be read once is left alone."""
    if source is not None and output is not None and output.is_file() and source.exists() and output.samefile(source):
        raise DataError(f"--output {output}: this is the file to be translated, which would be lost; name another one")
    if source is None and sys.stdin is None:
        raise DataError("standard input is closed; name a file to translate, or send text to it")
    if source is not None and not (source.is_fifo() or source.is_char_device()):
        next(raw_lines(source), None)


def is_file(source: Path | None) -> bool:
    """Tell whether all lines are there already, so that waiting for full chunks delays nobody."""
    try:
        return source.is_file() if source is not None else stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def _lines(source: Path | None, counts: LineCounts) -> Iterator[str]:
    """Yield the clean lines of a file or of standard input; bytes that are not UTF-8 become U+FFFD."""
    if source is not None:
        yield from read_lines(source, invalid="replace", counts=counts)
        return
    yield from clean_lines(standard_input(), STANDARD_INPUT, invalid="replace", counts=counts)


def standard_input() -> Iterator[bytes]:
    """Yield the raw lines of standard input, packed or not, as they come."""
    try:
        # Not sys.stdin.buffer: Python aborts at its end where a thread still waits in that.
        stream = open(sys.stdin.fileno(), "rb", closefd=False)  # noqa: SIM115
        # Where another program left it so, reading would take a pause of the writer for the end.
        os.set_blocking(stream.fileno(), True)
    except (OSError, ValueError):
        stream = io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer))
    yield from stream_lines(stream, STANDARD_INPUT)


@contextmanager
def _opened(output: Path | None) -> Iterator[BinaryIO]:
    """Open what is written to. Only what is a file, or will be one, is written under another name first."""
    if output is None:
        if sys.stdout is None:
            raise DataError("standard output is closed; name a file with --output")
        yield sys.stdout.buffer
        return
    if output.is_dir():
        raise DataError(f"--output {output} is a folder; give the name of a file in it")
    try:
        with ExitStack() as stack:
            is_device = output.exists() and not output.is_file()
            path = output if is_device else stack.enter_context(replacing(output.resolve()))
            yield stack.enter_context(path.open("wb"))
    except BrokenPipeError:  # who reads a pipe that is named went away, as with standard output
        raise
    except OSError as error:
        raise DataError(f"--output {output} cannot be written ({error.strerror or error}); choose another") from None


def _summarize(
    translator: "LineTranslator", lines: LineCounts, numbers: NumberCounts, seconds: float, log: Log
) -> None:
    """Say what was met and how fast it went."""
    counts = translator.counts
    if lines.invalid_bytes:
        log.warn(
            f"bytes that are not UTF-8, turned into U+FFFD: {lines.invalid_bytes:,} in "
            f"{counted(lines.invalid_lines, 'line')} (first in line {lines.first_invalid:,})"
        )
    if lines.controls_removed:
        log.warn(f"control characters removed: {lines.controls_removed:,} (first in line {lines.first_control:,})")
    for warning in translator.warnings():
        log.warn(warning)
    if counts.unknown:
        log.info(f"unknown to the vocabulary: {counts.unknown:,} of {counted(counts.pieces, 'source piece')}")
    if lines.separators_replaced:
        log.info(
            f"tabs and other separators inside lines turned into spaces: {lines.separators_replaced:,} "
            f"(first in line {lines.first_separator:,})"
        )
    if numbers.differing:
        log.info(f"numbers not as in the line: {counted(numbers.differing, 'line')} (first line {numbers.first:,})")
    rate = max(seconds, 1e-9)
    log.info(
        f"{counted(counts.lines, 'line')} ({counts.blank:,} blank, {counts.cut:,} cut) in {duration(seconds)}: "
        f"{counts.lines / rate:,.1f} lines/s, {counts.pieces / rate:,.0f} pieces/s"
    )
