"""The command `score` of the command line: its options."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from nmtkit import cli_score_pairs as pairs
from nmtkit.cli_options import Checkpoint, ConfigFile, Device, Quiet, RunPath, Settings, as_log, as_settings
from nmtkit.errors import ConfigError

if TYPE_CHECKING:
    from nmtkit.commands.score_output import Form
    from nmtkit.corpus.settings import LanguagesConfig

FORMS = ("table", "tsv", "json", "markdown", "latex")


def score(  # noqa: PLR0913, PLR0917  one parameter for each option
    files: pairs.Pairs = None,
    systems: Annotated[
        list[str] | None,
        typer.Option(
            "--system",
            metavar="[NAME=]FILE",
            help="Translations to score, instead of the model's; repeatable: the first one is compared with the rest.",
        ),
    ] = None,
    references: Annotated[
        list[Path] | None,
        typer.Option(
            "--reference",
            metavar="FILE",
            help="What --system is compared with; repeatable.  [default: the test sets of the config, {set} in the "
            "name of a system's file]",
        ),
    ] = None,
    source: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --reference: what was translated, for COMET and --report.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --reference: a label a line, each scored apart too.")
    ] = None,
    config: ConfigFile = None,
    run: RunPath = None,
    settings: Settings = None,
    checkpoint: Checkpoint = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="|".join(FORMS), help="Form of the scores.  [default: table on a terminal, else tsv]"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    per_sentence: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the scores of each line by itself there too (TSV).")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page (HTML) that shows where translations fail; of several test sets one each, {set} in its "
            "name.",
        ),
    ] = None,
    report_all: Annotated[
        bool, typer.Option("--report-all", help="Put every line on that page, however large it becomes.")
    ] = False,
    model: pairs.ModelRun = None,
    tokens: pairs.Tokens = False,
    text: pairs.Text = False,
    above: pairs.Above = None,
    below: pairs.Below = None,
    n_best: pairs.NBest = None,
    weights: pairs.Weights = None,
    length_penalty: pairs.LengthPenalty = None,
    best: pairs.Best = False,
    tag: pairs.Tag = None,
    device: Device = "auto",
    quiet: Quiet = None,
) -> None:
    """Score test sets, files of translations, or pairs by a model.

    Without --system the test sets of the config are translated with the model of the run folder and scored. Several
    systems are compared with the first one. With --model nothing is translated: the model tells how probable it finds
    each target.
    """
    by_model = pairs.ByModel(tuple(files or ()), tokens, text, above, below, n_best, weights, length_penalty, best, tag)
    asked = [*(settings or ()), *as_settings(translate__checkpoint=checkpoint)]
    shown = _form(form, as_json)
    if model is not None:
        others: dict[str, object] = {"--system": systems, "--reference": references, "--source": source}
        others |= {"--labels": labels, "--run": run, "--per-sentence": per_sentence, "--report": report}
        others |= {"--report-all": report_all, f"--format {form}": shown not in ("auto", "tsv", "json")}
        pairs.check_alone(others)
        pairs.score_by_model(model, by_model, config, asked, as_json=shown == "json", device=device, quiet=quiet)
        return
    by_model.check_none()
    if references and not systems:
        raise ConfigError("--reference: goes with --system FILE, which is compared with it")
    for name, value in (("labels", labels), ("source", source)):
        if value is not None and not references:
            raise ConfigError(f"--{name}: goes with --reference; for a test set give corpus.test.{name}")
    if checkpoint is not None and systems:
        raise ConfigError("--checkpoint: goes without --system, whose translations exist already")
    from nmtkit.commands.error_report import wished
    from nmtkit.commands.score_output import Output
    from nmtkit.config import run_of, to_compare, to_score, to_use
    from nmtkit.run_folder import check_place

    if per_sentence is not None:
        check_place("--per-sentence", per_sentence)
    log = as_log(quiet)

    def output(languages: "LanguagesConfig") -> Output:
        return Output(shown, per_sentence, wished(report, report_all, run_of(config, run), languages))

    if references:
        chosen = to_compare(config, run, asked)
        from nmtkit.commands.score import score_files
        from nmtkit.commands.score_reading import Given

        given = Given(tuple(systems or ()), tuple(references), source, labels)
        score_files(chosen.score, chosen.languages.target, log, given, output(chosen.languages))
    elif systems:
        chosen, base = to_score(config, run, asked)
        from nmtkit.commands.score import score_test_sets

        score_test_sets(chosen, base, log, systems, output(chosen.languages))
    else:
        place = to_use(config, run, asked)
        from nmtkit.commands.score import score_run

        more = output(place.config.languages)
        score_run(place.run, place.config, place.base, log, device=device, output=more)


def _form(asked: str | None, as_json: bool) -> "Form":
    """Return the form that --format and --json ask for."""
    if asked is not None and asked not in FORMS:
        raise ConfigError(f"--format {asked}: no such form; choose {', '.join(FORMS)}")
    if as_json and asked not in (None, "json"):
        raise ConfigError(f"--json and --format {asked}: one output has one form; give one of them")
    return cast("Form", "json" if as_json else asked or "auto")
