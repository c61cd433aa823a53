"""`nmtkit score --model --n-best`: an n-best list ranked anew, by its own scores and by those of a model.

What is written, best first:

    NUMBER TAB SCORE TAB TEXT    for each translation: a list again, which another model may go on with
    TEXT                         with best: for each line of the source the best translation
"""

import math
import time
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmtkit.commands.score_pairs import opened, progress, summarize, write
from nmtkit.commands.score_pairs_input import Group, Listed, read_groups
from nmtkit.commands.score_pairs_output import as_json, finite, total
from nmtkit.config import Config
from nmtkit.corpus.pair import SentencePair
from nmtkit.errors import check_stdout
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder

if TYPE_CHECKING:
    from nmtkit.translation.scorer import PairScore


class Ranking(NamedTuple):
    """How translations are ranked, and what is written.

    A translation's score is that of the list times the first of the `weights`, plus that of the model times the second.
    The model's is the log-probability after length penalty: divided by ((5 + length) / 6)^`length_penalty`, where
    length counts pieces and end mark (Wu et al. 2016, equation 14, without coverage).
    """

    weights: tuple[float, float]
    length_penalty: float
    best: bool = False
    as_json: bool = False

    def combined(self, listed: float, score: "PairScore") -> float:
        """Return what ranks a translation; one that is infinitely good and infinitely bad is bad."""
        parts = zip(self.weights, (listed, score.penalized(self.length_penalty)), strict=True)
        # What has no weight does not count, not even where it is infinite.
        total = sum(weight * part for weight, part in parts if weight)
        return -math.inf if math.isnan(total) else total


class _Ranked(NamedTuple):
    """A translation with its new score."""

    score: float
    listed: Listed
    by_model: "PairScore"


def rerank(
    run: RunFolder,
    config: Config,
    log: Log,
    n_best: Path,
    source: Path | None,
    ranking: Ranking,
    *,
    device: str = "auto",
) -> None:
    """Score the translations of a list (see `read_groups`) and rank those of each source line anew, on stdout.

    Those that score the same stay in order. Raises DataError where a file cannot be read or the list is not that of the
    source, CheckpointError where the run cannot be used, ConfigError where the device or the tag does not exist.
    """
    check_stdout("the list goes")
    groups = read_groups(n_best, source)
    begun = list(islice(groups, 1))  # what is wrong with the first line is told before the model is loaded
    scorer = opened(run, config, log, device)
    started = time.monotonic()
    with progress(log, "ranked", "lines") as advance:
        for chunk in _chunks(chain(begun, groups), config.translate.chunk_lines):
            pairs = [SentencePair(group.source, each.text) for group in chunk for each in group.listed]
            scores = scorer.scores(pairs, found=True)
            for group in chunk:
                write(_rows(group.number, _ranked(group, scores, ranking), ranking))
            advance(len(chunk))
    if ranking.as_json:
        write([total(scorer)])
    summarize(scorer, time.monotonic() - started, log)


def _chunks(groups: Iterable[Group], pairs: int) -> Iterator[list[Group]]:
    """Yield groups together that have so many translations, or a few more."""
    chunk: list[Group] = []
    count = 0
    for group in groups:
        chunk.append(group)
        count += len(group.listed)
        if count >= pairs:
            yield chunk
            chunk, count = [], 0
    if chunk:
        yield chunk


def _ranked(group: Group, scores: Iterator["PairScore"], ranking: Ranking) -> list[_Ranked]:
    """Return the translations of a group, best first; takes as many scores as there are of them."""
    found = []
    for listed in group.listed:
        by_model = next(scores)
        found.append(_Ranked(ranking.combined(listed.score, by_model), listed, by_model))
    return sorted(found, key=lambda each: -each.score)


def _rows(number: int, ranked: list[_Ranked], ranking: Ranking) -> Iterator[str]:
    for rank, each in enumerate(ranked[:1] if ranking.best else ranked, start=1):
        if ranking.as_json:
            yield as_json(
                {
                    "line": number,
                    "rank": rank,
                    "score": finite(each.score),
                    "listed": finite(each.listed.score),
                    "log_probability": finite(each.by_model.log_probability),
                    "tokens": each.by_model.tokens,
                    "text": each.listed.text,
                }
            )
        elif ranking.best:
            yield each.listed.text
        else:
            yield f"{number}\t{each.score:.6f}\t{each.listed.text}"
