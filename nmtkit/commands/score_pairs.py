"""`nmtkit score --model`: how probable a model finds the target of each pair, a line for each line."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nmtkit.commands.score_pairs_input import read_pairs
from nmtkit.commands.score_pairs_output import Wanted, total
from nmtkit.config import Config
from nmtkit.corpus.tags import untagged
from nmtkit.errors import check_stdout
from nmtkit.log import Log, counted, duration
from nmtkit.run_folder import RunFolder
from nmtkit.translation.arrivals import GRACE, Arrivals

if TYPE_CHECKING:
    from nmtkit.api import Scorer


def score_pairs(
    run: RunFolder, config: Config, log: Log, files: Sequence[Path], wanted: Wanted, *, device: str = "auto"
) -> None:
    """Score the pairs in `files` (see `read_pairs`); what is `wanted` of them goes to stdout, chunk by chunk.

    Raises DataError where a file cannot be read, CheckpointError where the run cannot be used, ConfigError where the
    device or the tag does not exist.
    """
    check_stdout("the scores go")
    given = read_pairs(files)
    if not files and sys.stdin.isatty():
        log.info("scoring what is typed, SOURCE TAB TARGET, line by line; end it with Ctrl-D")
    with ExitStack() as stack:
        pairs = Arrivals(given.pairs, config.translate.chunk_lines, grace=None if given.at_rest else GRACE)
        stack.callback(pairs.close)
        scorer = opened(run, config, log, device)  # while the first lines are read: torch takes seconds to import
        started = time.monotonic()
        with progress(log, "scored", "pairs", given.total) as advance:
            number = 0
            for chunk in pairs:
                rows = []
                for pair, score in zip(chunk, scorer.scores(chunk), strict=True):
                    number += 1
                    if wanted.takes(score):
                        rows.append(wanted.row(number, pair, score, scorer.target_segmenter))
                write(rows)
                advance(len(chunk))
    if wanted.as_json:
        write([total(scorer)])
    summarize(scorer, time.monotonic() - started, log)


def opened(run: RunFolder, config: Config, log: Log, device: str) -> "Scorer":
    """Open the scorer of a run."""
    from nmtkit.api import Scorer, resolve_device, use_threads

    use_threads()
    scorer = Scorer.open(run, config, resolve_device(device), log.warn)
    if wrong := untagged(config.translate.tag, [corpus.tag for corpus in config.corpus.train]):
        log.warn(f"the text {wrong} (--tag)")
    log.info(f"scoring with {scorer.weights} on {scorer.device}")
    return scorer


@contextmanager
def progress(log: Log, what: str, unit: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show how far the work is, but not among results on a terminal; gives what is told of every step."""
    if sys.stdout.isatty():
        yield lambda _: None
        return
    with log.progress(what, total, unit) as meter:
        yield meter.advance


def write(rows: Iterable[str]) -> None:
    """Write rows to stdout, at once."""
    sys.stdout.buffer.write("".join(f"{row}\n" for row in rows).encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def summarize(scorer: "Scorer", seconds: float, log: Log) -> None:
    """Say what was met, the perplexity of all, and how fast it went."""
    counts = scorer.counts
    if counts.broken:
        log.warn(
            f"not two columns, or not UTF-8, so that they score -inf: {counted(counts.broken, 'line')} "
            f"(first line {counts.first_broken:,})"
        )
    if counts.too_long:
        most = f"{scorer.config.max_pieces:,} source or {scorer.longest_target:,} target pieces"
        log.warn(
            f"of more than {most}, so that they score -inf: {counted(counts.too_long, 'pair')} (first "
            f"{counts.first_too_long:,}); raise translate.max_pieces to have them scored"
        )
    if counts.blank:
        log.info(f"with a blank side: {counted(counts.blank, 'pair')}")
    if counts.unknown:
        log.info(f"unknown to the vocabulary: {counts.unknown:,} of {counted(counts.pieces, 'piece')}")
    if counts.scored:
        log.info(
            f"perplexity {counts.perplexity:.4f} of a piece, over {counted(counts.tokens, 'target piece')} of "
            f"{counted(counts.scored, 'pair')}"
        )
    rate = max(seconds, 1e-9)
    log.info(
        f"{counted(counts.pairs, 'pair')} in {duration(seconds)}: {counts.pairs / rate:,.1f} pairs/s, "
        f"{counts.pieces / rate:,.0f} pieces/s"
    )
