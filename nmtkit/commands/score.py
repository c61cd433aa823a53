"""`nmtkit score`: hypotheses against references, or a trained model on the test sets of its configuration."""

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile

from nmtkit import __version__
from nmtkit.commands.score_output import Form, Part, TestSet, show
from nmtkit.commands.score_records import ScoreKeeper
from nmtkit.config import Config
from nmtkit.corpus.lines import read_lines
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.reader import PairCounts, ParallelText, check_files, locate, resolve
from nmtkit.corpus.tags import check_tags, untagged
from nmtkit.errors import ConfigError, DataError
from nmtkit.log import Log
from nmtkit.metrics.base import Metric, Score
from nmtkit.metrics.settings import ScoreConfig
from nmtkit.run_folder import RunFolder, write_text

TOKENIZED_SHARE = 0.3
"""Raw text in which this share of the lines ends in a space and a full stop is taken for tokenized."""


def score_files(
    config: ScoreConfig,
    target_language: str,
    log: Log,
    hypotheses: Path,
    references: Path,
    labels: Path | None = None,
    *,
    form: Form = "auto",
) -> None:
    """Score a file of translations against a file of references; the scores go to stdout.

    With `labels`, a file of one label a line, the lines of each label are scored by themselves as well.

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
    if not truths:
        raise DataError(f"{hypotheses} and {references} are empty: no lines to score; check the names")
    known = _read_labels(labels, references, len(truths))
    scores = _score(metrics, candidates, truths, str(hypotheses), log)
    parts = _score_parts(metrics, candidates, truths, known)
    test_set = TestSet(hypotheses.name, len(truths), None, str(references), str(hypotheses), scores, parts)
    show([test_set], {"nmtkit": __version__, "target_language": target_language}, form)


def score_run(run: RunFolder, config: Config, base: Path, log: Log, *, device: str, form: Form = "auto") -> None:
    """Translate and score every [[corpus.test]] of `config` (paths start at `base`); scores go to stdout.

    The translations stay in RUN/translations, their scores beside them and on the run card. Raises ConfigError where
    there is no test set, or one has a tag that training had not, DataError where one cannot be read, CheckpointError
    where the run has no weights to use; all before the first translation.
    """
    if not config.corpus.test:
        raise ConfigError(
            "corpus.test: there is no test set; add one as [[corpus.test]] with name, source and target, "
            "or give nmtkit score the files of hypotheses and references"
        )
    _check_stdout()
    target_language = config.languages.target
    metrics = [metric.build(target_language) for metric in config.score.metrics]
    texts = [locate(base, config.corpus, files, config.languages) for files in config.corpus.test]
    check_files(texts)
    pairs = [_read(text) for text in texts]
    labels = [
        _read_labels(resolve(base, config.corpus, files.labels) if files.labels else None, text.files[-1], len(known))
        for files, text, known in zip(config.corpus.test, texts, pairs, strict=True)
    ]

    from nmtkit.api import Translator, resolve_device
    from nmtkit.training.choice import updates_of

    translator = Translator.open(run, config, resolve_device(device), log.warn)
    check_tags(config.tags, translator.source_segmenter.tags)
    _check_place(run)
    checkpoint = translator.weights.parent.name
    keeper = ScoreKeeper(run, config, log, checkpoint=checkpoint, updates=updates_of(translator.weights))
    log.info(f"translating the test sets with {translator.weights}")
    test_sets = []
    for text, files, known, labels_of_text in zip(texts, config.corpus.test, pairs, labels, strict=True):
        sources, references = [pair.source for pair in known], [pair.target for pair in known]
        hypotheses = []
        if wrong := untagged(files.tag, [corpus.tag for corpus in config.corpus.train]):
            log.warn(f"{text.name} {wrong} (corpus.test.tag)")
        with log.progress(f"translating {text.name}", len(sources), "lines") as meter:
            for found in translator.hypotheses(sources, tag=files.tag):
                hypotheses.append(found[0].text)
                meter.advance()
        output = run.translation(text.name, checkpoint)
        write_text(output, "".join(f"{line}\n" for line in hypotheses))
        log.detail(f"translations written: {output}")
        scores = _score(metrics, hypotheses, references, text.name, log)
        parts = _score_parts(metrics, hypotheses, references, labels_of_text)
        names = (text.source_name, text.target_name, str(output))
        test_sets.append(TestSet(text.name, len(known), *names, scores, parts, files.tag))
        keeper.keep(test_sets[-1], hypotheses, references)
    keeper.finish()
    origin = {
        "nmtkit": __version__,
        "target_language": target_language,
        "run": str(run),
        "checkpoint": checkpoint,
        "weights": str(translator.weights),
        "translate": config.translate.model_dump(mode="json"),
    }
    show(test_sets, origin, form)


def _check_stdout() -> None:
    if sys.stdout is None:
        raise DataError("standard output is closed; the scores go there, so leave it open or send it to a file")


def _check_place(run: RunFolder) -> None:
    """See that translations can be kept, before there are any."""
    try:
        run.translations.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=run.translations):
            pass
    except OSError as error:
        raise DataError(
            f"{run.translations} cannot be written ({error.strerror}), and the translations stay there; set "
            "permissions or make room, or translate with nmtkit translate --output and score that file with "
            "--hypotheses"
        ) from None


def _read(text: ParallelText) -> list[SentencePair]:
    text.count_pairs()
    return list(text.pairs(PairCounts()))


def _read_labels(path: Path | None, beside: Path, lines: int) -> list[str]:
    """Return the labels of the lines of `beside`; none without a path. Raises DataError where there are not as many."""
    if path is None:
        return []
    labels = [label.strip() for label in read_lines(path)]
    if len(labels) != lines:
        raise DataError(
            f"{path} has {len(labels):,} lines but {beside} has {lines:,}; line n of the labels names what line n "
            "belongs to, so find where they part; nothing was scored"
        )
    return labels


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
    longest = max(len(line.split()) for line in (*hypotheses, *references))
    if any(metric.patience is not None and longest > metric.patience for metric in metrics):
        log.warn(
            f"{name}: a line has {longest:,} words, for which TER may take hours; leave it out with "
            "--set \"score.metrics=[{kind='bleu'}, {kind='chrf'}]\", or put one sentence on a line"
        )
    return [metric(hypotheses, references) for metric in metrics]


def _score_parts(
    metrics: Sequence[Metric], hypotheses: Sequence[str], references: Sequence[str], labels: Sequence[str]
) -> list[Part]:
    """Score the lines of each label by themselves, in the order of the alphabet; those of no label in no part."""
    parts = []
    for label in sorted(set(labels) - {""}):
        chosen = [line for line, each in enumerate(labels) if each == label]
        ours, theirs = [hypotheses[line] for line in chosen], [references[line] for line in chosen]
        parts.append(Part(label, len(chosen), [metric(ours, theirs) for metric in metrics]))
    return parts
