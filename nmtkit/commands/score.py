"""`nmtkit score`: hypotheses against references, or a trained model on the test sets of its configuration."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from nmtkit import __version__
from nmtkit.config import Config
from nmtkit.corpus.lines import read_lines
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.reader import PairCounts, ParallelText, check_files, locate
from nmtkit.errors import ConfigError, DataError
from nmtkit.log import Log
from nmtkit.metrics.base import Metric, Score
from nmtkit.metrics.settings import ScoreConfig
from nmtkit.run_folder import RunFolder, write_text

TOKENIZED_SHARE = 0.3
"""Raw text in which this share of the lines ends in a space and a full stop is taken for tokenized."""


@dataclass(frozen=True)
class TestSet:
    """The scores of a test set and what they were computed from."""

    name: str
    lines: int
    source: str | None
    references: str
    hypotheses: str
    scores: list[Score]


def score_files(
    config: ScoreConfig,
    target_language: str,
    log: Log,
    *,
    hypotheses: Path,
    references: Path,
    as_json: bool,
) -> None:
    """Score a file of translations against a file of references; the scores go to stdout.

    Raises DataError, naming both files and counts, where they differ in lines, and where a file is missing,
    empty or not UTF-8; ConfigError where a metric cannot be built.
    """
    _check_stdout()
    metrics = [metric.build(target_language) for metric in config.metrics]
    candidates, truths = list(read_lines(hypotheses)), list(read_lines(references))
    if len(candidates) != len(truths):
        raise DataError(
            f"{hypotheses} has {len(candidates):,} lines but {references} has {len(truths):,}; line n of the "
            "one must answer line n of the other, so find where they part; nothing was scored"
        )
    scores = _score(metrics, candidates, truths, str(hypotheses), log)
    test_set = TestSet(hypotheses.name, len(truths), None, str(references), str(hypotheses), scores)
    _show([test_set], {"nmtkit": __version__, "target_language": target_language}, as_json=as_json)


def score_run(run: RunFolder, config: Config, base: Path, log: Log, *, device: str, as_json: bool) -> None:
    """Translate and score every [[corpus.test]] of `config` (paths start at `base`); scores go to stdout.

    The translations stay in RUN/translations. Raises ConfigError where there is no test set, DataError where
    one cannot be read, CheckpointError where the run has no weights to use; all before the first translation.
    """
    if not config.corpus.test:
        raise ConfigError(
            "corpus.test: there is no test set; add one as [[corpus.test]] with name, source and target, "
            "or give nmtkit score the files of hypotheses and references"
        )
    _check_stdout()
    target_language = config.languages.target
    metrics = [metric.build(target_language) for metric in config.score.metrics]
    texts = [locate(base, config.corpus, files) for files in config.corpus.test]
    check_files(texts)
    pairs = [_read(text) for text in texts]

    from nmtkit.api import Translator, resolve_device

    translator = Translator.open(run, config, resolve_device(device), log.warn)
    checkpoint = translator.weights.parent.name
    log.info(f"translating the test sets with {translator.weights}")
    test_sets = []
    for text, known in zip(texts, pairs, strict=True):
        sources, references = [pair.source for pair in known], [pair.target for pair in known]
        hypotheses = []
        with log.progress(f"translating {text.name}", len(sources), "lines") as meter:
            for found in translator.hypotheses(sources):
                hypotheses.append(found[0].text)
                meter.advance()
        output = run.translation(text.name, checkpoint)
        write_text(output, "".join(f"{line}\n" for line in hypotheses))
        log.detail(f"translations written: {output}")
        scores = _score(metrics, hypotheses, references, text.name, log)
        target = text.source if text.target is None else text.target
        test_sets.append(TestSet(text.name, len(known), str(text.source), str(target), str(output), scores))
    origin = {
        "nmtkit": __version__,
        "target_language": target_language,
        "run": str(run),
        "checkpoint": checkpoint,
        "weights": str(translator.weights),
        "translate": config.translate.model_dump(mode="json"),
    }
    _show(test_sets, origin, as_json=as_json)


def _check_stdout() -> None:
    if sys.stdout is None:
        raise DataError("standard output is closed; the scores go there, so leave it open or send it to a file")


def _read(text: ParallelText) -> list[SentencePair]:
    text.count_pairs()
    return [pair for pair in text.pairs(PairCounts(), "error") if pair is not None]


def _score(
    metrics: Sequence[Metric], hypotheses: Sequence[str], references: Sequence[str], name: str, log: Log
) -> list[Score]:
    for what, lines in (("hypotheses", hypotheses), ("references", references)):
        tokenized = sum(line.endswith(" .") for line in lines)
        if tokenized > TOKENIZED_SHARE * len(lines):
            log.warn(
                f"{name}: {tokenized:,} of {len(lines):,} {what} end in a space and a full stop, so they "
                "look tokenized; scores of tokenized text compare with nobody's: detokenize first"
            )
    return [metric(hypotheses, references) for metric in metrics]


def _show(test_sets: list[TestSet], origin: dict[str, Any], *, as_json: bool) -> None:
    """Write the scores to stdout: JSON, a table on a terminal, else a tab-separated line for each score."""
    if as_json:
        sets = [{**asdict(each), "scores": [score._asdict() for score in each.scores]} for each in test_sets]
        sys.stdout.write(json.dumps({**origin, "sets": sets}, ensure_ascii=False, indent=2) + "\n")
    elif sys.stdout.isatty():
        _show_table(test_sets, origin.get("checkpoint"))
    else:
        for each in test_sets:
            for score in each.scores:
                sys.stdout.write(f"{each.name}\t{score.name}\t{score.value:.2f}\t{score.signature}\n")
    sys.stdout.flush()


def _show_table(test_sets: list[TestSet], checkpoint: str | None) -> None:
    """Show one row a test set and one column a metric, the signatures below."""
    console = Console(highlight=False)
    table = Table(title=f"scores of checkpoint {checkpoint}" if checkpoint else None, title_justify="left")
    table.add_column("test set", no_wrap=True)
    table.add_column("lines", justify="right")
    for score in test_sets[0].scores:
        table.add_column(f"{score.name} {'↑' if score.higher_is_better else '↓'}", justify="right")
    for each in test_sets:
        table.add_row(each.name, f"{each.lines:,}", *(f"{score.value:.2f}" for score in each.scores))
    console.print(table)
    for score in test_sets[0].scores:
        console.print(f"{score.name}  {score.signature}", style="dim", markup=False, soft_wrap=True)
