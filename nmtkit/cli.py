"""The command line: options, help, messages and exit codes. No logic; each command imports its work when it runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import nmtkit
from nmtkit.cli_inspect import inspect
from nmtkit.cli_options import Checkpoint, ConfigFile, Device, Quiet, RunPath, Settings, as_log, as_settings
from nmtkit.cli_score import score
from nmtkit.cli_train import train
from nmtkit.ending import Command, report
from nmtkit.errors import ConfigError

if TYPE_CHECKING:
    from nmtkit.translation.settings import TranslateConfig

app = typer.Typer(
    help="Neural machine translation from raw text to BLEU: prepare, train, translate, score.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"nmtkit {nmtkit.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    ctx: typer.Context,
    version: Annotated[  # noqa: ARG001  its callback answers
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Print the help where no command is given."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command(cls=Command)
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the new experiment.")],
    source: Annotated[str | None, typer.Option(metavar="CODE", help="Source language, as en.")] = None,
    target: Annotated[str | None, typer.Option(metavar="CODE", help="Target language, as de.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="tiny|small|base|big", help="Size; base and big are those of the 2017 paper.  [default: small]"
        ),
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Write a corpus too: made-up English-German sentences, to try nmtkit with.")
    ] = False,
    quiet: Quiet = None,
) -> None:
    """Write a short commented nmtkit.toml to start from."""
    from nmtkit.commands import init as commands

    if sample:
        for name, value in (("--source", source), ("--target", target), ("--preset", preset)):
            if value is not None:
                raise ConfigError(f"{name} {value}: --sample has languages and size of its own; leave one of them away")
        commands.init_sample(folder, as_log(quiet))
        return
    if source is None or target is None:
        missing = "--source" if source is None else "--target"
        raise ConfigError(f"Missing option '{missing}'; give a language code such as en, or --sample alone")
    commands.init(folder, as_log(quiet), source=source, target=target, preset=preset or "small")


@app.command(cls=Command)
def prepare(
    config: ConfigFile = None,
    run: RunPath = None,
    settings: Settings = None,
    processes: Annotated[
        int, typer.Option(min=0, metavar="N", help="Worker processes for a large text; 0: one for each core.")
    ] = 0,
    quiet: Quiet = None,
) -> None:
    """Filter the corpora, learn the vocabulary, pack the ids.

    Everything made goes into the run folder. Only what a change of settings or files asks for is done again.
    """
    from nmtkit.config import to_train

    place = to_train(config, run, settings or ())
    from nmtkit.commands.prepare import prepare as run_prepare

    run_prepare(place.config, place.base, place.run, as_log(quiet), processes=processes)


app.command(cls=Command)(inspect)


app.command(cls=Command)(train)


@app.command(cls=Command)
def translate(  # noqa: PLR0913, PLR0917  one parameter for each option
    source: Annotated[
        Path | None, typer.Argument(metavar="INPUT", help="Text, one sentence a line, packed or not.  [default: stdin]")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Translations.  [default: stdout]")
    ] = None,
    config: ConfigFile = None,
    run: RunPath = None,
    settings: Settings = None,
    checkpoint: Checkpoint = None,
    beam: Annotated[int | None, typer.Option(metavar="K", help="Hypotheses kept for each sentence.")] = None,
    n_best: Annotated[
        int | None, typer.Option(metavar="N", help="Translations written for each line, as NUMBER TAB SCORE TAB TEXT.")
    ] = None,
    length_penalty: Annotated[float | None, typer.Option(metavar="ALPHA", help="0 prefers short translations.")] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Draw translations at random, for back-translation; see kind sampling.")
    ] = False,
    seed: Annotated[int | None, typer.Option(metavar="N", help="With --sample: another seed draws others.")] = None,
    tag: Annotated[
        str | None, typer.Option(metavar="NAME", help="Put before each source; one of the tags of training.")
    ] = None,
    batch_tokens: Annotated[int | None, typer.Option(metavar="N", help="Tokens computed at once.")] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Write score and translation, TAB between.")] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit with 1, after all is written, if a line was cut or repaired, or a translation "
            "ended by the length limit.",
        ),
    ] = False,
    device: Device = "auto",
    quiet: Quiet = None,
) -> None:
    """Translate text, line by line.

    Line n of the output answers line n of the input. Languages, normalization and model are those of the run folder;
    the other settings come from --config, else from the folder given as --run, else from ./nmtkit.toml.
    """
    from nmtkit.config import to_use

    aliases = as_settings(
        translate__checkpoint=checkpoint,
        translate__search__beam=beam,
        translate__search__n_best=n_best,
        translate__search__length_penalty=length_penalty,
        translate__search__seed=seed,
        translate__tag=tag,
        translate__batch_tokens=batch_tokens,
    )
    first = _sampling(to_use(config, run).config.translate) if sample else []
    place = to_use(config, run, [*first, *(settings or ()), *aliases])
    from nmtkit.commands.translate import translate as run_translate

    run_translate(
        place.run,
        place.config,
        as_log(quiet),
        source=None if source == Path("-") else source,
        output=None if output == Path("-") else output,
        form="list" if n_best is not None else "scores" if scores else "text",
        device=device,
        strict=strict,
    )


def _sampling(translate: "TranslateConfig") -> list[str]:
    """Return the setting that makes a search one that draws, with the limits that it has; none where it draws."""
    search = translate.search
    if search.kind == "sampling":
        return []
    ratio, extra = search.max_length_ratio, search.max_length_extra
    table = {"kind": "sampling", "max_length_ratio": ratio, "max_length_extra": extra}
    return as_settings(translate__search=table)


app.command(cls=Command)(score)


@app.command(cls=Command)
def average(
    last: Annotated[int | None, typer.Option(metavar="N", min=1, help="Average the newest N checkpoints.")] = None,
    best: Annotated[int | None, typer.Option(metavar="N", min=1, help="Average the N best checkpoints.")] = None,
    config: ConfigFile = None,
    run: RunPath = None,
    quiet: Quiet = None,
) -> None:
    """Average the weights of checkpoints.

    translate and score use the average before any other checkpoint.
    """
    from nmtkit.config import run_of

    folder = run_of(config, run)
    from nmtkit.commands.average import average as run_average

    run_average(folder, as_log(quiet), last=last or 0, best=best or 0)


@app.command(cls=Command)
def options() -> None:
    """Print the reference of all settings (Markdown)."""
    from nmtkit.commands.options import options as page

    typer.echo(page(), nl=False)


@app.command(cls=Command)
def doctor(
    config: ConfigFile = None,
    run: RunPath = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    device: Device = "auto",
    quiet: Quiet = None,
) -> None:
    """Check whether nmtkit can work here.

    Looks at packages, processor, GPUs, memory and the disk of the run folder, and says what to do where something is
    wrong; measures how fast devices exchange tensors; then a tiny model learns to copy, which takes up to a minute.
    """
    from nmtkit.config import run_of

    folder = run_of(config, run)
    from nmtkit.commands.doctor import doctor as run_doctor

    run_doctor(folder, as_log(quiet), device=device, as_json=as_json)


def main() -> None:
    """Run the command line."""
    try:
        app(prog_name="nmtkit")
    except OSError as error:  # outside of commands: the help could not be written
        raise SystemExit(report(error)) from None
