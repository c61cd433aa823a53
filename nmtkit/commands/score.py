"""`nmtkit score`: translations against references, or a trained model on the test sets of its configuration."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from nmtkit import __version__
from nmtkit.commands.error_report import write_reports
from nmtkit.commands.score_checks import check_scripts, suspicions
from nmtkit.commands.score_material import Material, System
from nmtkit.commands.score_output import Output, show, write_sentences
from nmtkit.commands.score_reading import Given, read_given, read_test_sets
from nmtkit.commands.score_records import ScoreKeeper
from nmtkit.commands.score_results import Evaluated, evaluate
from nmtkit.config import Config
from nmtkit.corpus.tags import check_tags, untagged
from nmtkit.errors import ConfigError, DataError, check_stdout
from nmtkit.log import Log
from nmtkit.metrics.settings import Metrics, ScoreConfig, build_metrics
from nmtkit.run_folder import RunFolder, write_text

if TYPE_CHECKING:
    from nmtkit.api import Translator

NOTHING_MORE = Output()
"""Scores on stdout, as they suit where it goes."""


def score_files(
    config: ScoreConfig, target_language: str, log: Log, given: Given, output: Output = NOTHING_MORE
) -> None:
    """Score files of translations against files of references; the scores go to stdout.

    The first system is the baseline that others are compared with. With labels, a file of one label a line, the lines
    of each label are scored by themselves as well.

    Raises DataError, naming both files and counts, where they differ in lines, and where a file is missing, empty or
    not UTF-8; ConfigError where a metric cannot be built, or lacks the sources, or where the output would replace a
    file that was read.
    """
    check_stdout("the scores go")
    metrics = build_metrics(config, target_language)
    if given.source is None:
        _check_sources(metrics)
    material = read_given(given, log)
    output.check_apart(material)
    _score([material], config, metrics, {"target_language": target_language}, log, output)


def score_test_sets(
    config: Config, base: Path, log: Log, systems: Sequence[str], output: Output = NOTHING_MORE
) -> None:
    """Score files of translations of every [[corpus.test]] of `config`, whose paths start at `base`.

    Raises as `score_files` does, and ConfigError where the name of a file does not say which test set it is of.
    """
    check_stdout("the scores go")
    metrics = build_metrics(config.score, config.languages.target)
    tests = read_test_sets(config, base, log, systems)
    for test in tests:
        output.check_apart(test)
    _score(tests, config.score, metrics, {"target_language": config.languages.target}, log, output)


def score_run(
    run: RunFolder, config: Config, base: Path, log: Log, *, device: str, output: Output = NOTHING_MORE
) -> None:
    """Translate and score every [[corpus.test]] of `config` (paths start at `base`); scores go to stdout.

    The translations stay in RUN/translations, their scores beside them and on the run card. Raises ConfigError
    where there is no test set, one has a tag that training had not, or the output would replace a file that was
    read, DataError where one cannot be read, CheckpointError where the run has no weights to use; all before the
    first translation.
    """
    check_stdout("the scores go")
    metrics = build_metrics(config.score, config.languages.target)
    tests = read_test_sets(config, base, log)
    for test in tests:
        output.check_apart(test)

    from nmtkit.api import Translator, resolve_device, use_threads
    from nmtkit.training.choice import updates_of

    use_threads()
    translator = Translator.open(run, config, resolve_device(device), log.warn)
    check_tags(config.tags, translator.source_segmenter.tags)
    _check_place(run)
    checkpoint = translator.weights.parent.name
    keeper = ScoreKeeper(run, config, log, checkpoint=checkpoint, updates=updates_of(translator.weights))
    log.info(f"translating the test sets with {translator.weights}")

    def translated() -> Iterator[Material]:
        for test in tests:
            file = run.translation(test.name, checkpoint)
            hypotheses = _translated(test, translator, config, log)
            write_text(file, "".join(f"{line}\n" for line in hypotheses))
            log.detail(f"translations written: {file}")
            yield test.translated_by(System(checkpoint, hypotheses, str(file)))

    origin = {
        "target_language": config.languages.target,
        "run": str(run),
        "checkpoint": checkpoint,
        "weights": str(translator.weights),
        "translate": config.translate.model_dump(mode="json"),
    }
    _score(translated(), config.score, metrics, origin, log, output, keeper)


def _score(
    tests: Iterable[Material],
    config: ScoreConfig,
    metrics: Metrics,
    origin: dict[str, Any],
    log: Log,
    output: Output,
    keeper: ScoreKeeper | None = None,
) -> None:
    """Score test sets, as they come, and write what was found."""
    for notice in metrics.notices:
        log.info(notice)
    evaluated: list[Evaluated] = []
    for test in tests:
        for suspicion in (*check_scripts(test, origin["target_language"]), *suspicions(test, metrics.metrics)):
            log.warn(suspicion)
        total = len(metrics.metrics) * len(test.systems) * len(test)
        with log.progress(f"scoring {test.name}", total, "lines") as meter:
            evaluated.append(evaluate(test, metrics.metrics, config.significance, meter.advance))
        if keeper is not None:
            keeper.keep(evaluated[-1])
    if keeper is not None:
        keeper.finish()
    made_by = {"nmtkit": __version__, **origin, "notices": metrics.notices}
    show([each.found for each in evaluated], made_by, config.significance, output.form)
    if output.per_sentence is not None:
        write_sentences(output.per_sentence, evaluated, metrics.metrics)
        log.info(f"scores of each line written: {output.per_sentence}")
    if output.report is not None:
        write_reports(output.report, evaluated, metrics.metrics, config.significance, log)


def _check_sources(metrics: Metrics) -> None:
    """Raise ConfigError where a metric would lack the sources."""
    for metric in metrics.metrics:
        if metric.needs_sources:
            raise ConfigError(f"{metric.name} compares with the sources too; give their file as --source FILE")


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
            "--system"
        ) from None


def _translated(test: Material, translator: "Translator", config: Config, log: Log) -> list[str]:
    """Return the translations of a test set."""
    from nmtkit.translation.translator import TranslationCounts

    name, sources = test.name, test.sources or []
    if wrong := untagged(test.tag, [corpus.tag for corpus in config.corpus.train]):
        log.warn(f"{name} {wrong} (corpus.test.tag)")
    hypotheses = []
    translator.counts = TranslationCounts()
    with log.progress(f"translating {name}", len(sources), "lines") as meter:
        for found in translator.hypotheses(sources, tag=test.tag):
            hypotheses.append(found[0].text)
            meter.advance()
    for warning in translator.warnings():
        log.warn(f"{name}: {warning}")
    return hypotheses
