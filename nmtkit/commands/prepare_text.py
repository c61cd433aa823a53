"""The first stage of a preparation: the training corpora, read, normalised and filtered, as a spool of clean pairs."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from nmtkit.appending import Appender
from nmtkit.commands.prepare_inputs import Inputs
from nmtkit.commands.prepare_suspicions import percent
from nmtkit.config import Config
from nmtkit.corpus.cleaning import (
    clean_held_out,
    clean_into,
    clean_more_references,
    corpus_cleaners,
    drop_duplicates,
)
from nmtkit.corpus.counts import CleanCounts
from nmtkit.corpus.lines import EncodingError
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.spool import FILES, Spool
from nmtkit.data.manifest import Stage
from nmtkit.errors import DataError
from nmtkit.log import Log

BYTES_FOR_PROCESSES = 16_000_000
"""Text from which worker processes save more time than they take to start."""


class CleanText(NamedTuple):
    """The text stage and its spool, on disk until the preparation is complete."""

    stage: Stage
    spool: Spool


def clean_text(config: Config, inputs: Inputs, folder: Path, log: Log, *, key: str, processes: int) -> CleanText:
    """Read, normalise and filter the training corpora into a spool in `folder`, from where an interruption left it.

    Raises DataError where no pair is left.
    """
    texts = inputs.train
    for text in [*texts, *inputs.held_out]:
        text.count_soon()  # shows at once where two plain files do not belong together
    held_out = [clean_held_out(text, config.prepare, config.languages) for text in inputs.held_out]
    more = [each for text in inputs.test for each in clean_more_references(text, config.prepare, config.languages)]
    pairs = [
        SentencePair(*pair) for chunk in [*held_out, *more] for pair in zip(chunk.sources, chunk.targets, strict=True)
    ]
    cleaners = corpus_cleaners(config.prepare, config.languages, config.corpus.train, pairs)
    size = sum(text.bytes() for text in texts)
    try:
        with log.progress("cleaning", size, "bytes") as meter, Appender(folder, key, FILES) as files:
            counts = clean_into(files, texts, cleaners, processes=worthwhile(size, processes), advance=meter.advance)
    except EncodingError as error:
        raise DataError(f'{error}, or let such pairs be dropped: prepare.invalid_utf8 = "drop"') from None
    spool = Spool(folder)
    drop_duplicates(spool, cleaners, counts)
    if not any(each.kept for each in counts):
        raise DataError(_nothing_left(counts))
    report = {
        "corpora": [{"name": text.name, **asdict(each)} for text, each in zip(texts, counts, strict=True)],
        "held_out": [
            {"name": text.name, **asdict(chunk.counts)} for text, chunk in zip(inputs.held_out, held_out, strict=True)
        ],
        "normalizers": [normalizer.kind for normalizer in config.prepare.normalizers],
    }
    return CleanText(Stage(key, spool.digest(), report=report), spool)


def worthwhile(size: int, processes: int) -> int:
    """Return how many processes a text of `size` bytes is worth."""
    return processes if size >= BYTES_FOR_PROCESSES else 1


def _nothing_left(corpora: Sequence[CleanCounts]) -> str:
    reasons: dict[str, int] = {}
    for counts in corpora:
        for reason, drops in counts.drops.items():
            reasons[reason] = reasons.get(reason, 0) + drops.count
    read = sum(counts.read for counts in corpora)
    dropped = ", ".join(f"{reason} {count} ({percent(count / read)})" for reason, count in reasons.items() if count)
    return f"nothing is left to train on: all {read} pairs were dropped ({dropped}); check files and prepare.filters"
