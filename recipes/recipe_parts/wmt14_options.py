"""The options of the WMT14 recipes."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from recipe_parts.fetching import above_nothing, add_source_options, provider_of
from recipe_parts.manifest import Manifest, read_manifest
from recipe_parts.providing import Provider

STEPS = ("download", "unpack", "sample", "prepare", "train", "average", "translate", "score")
DATA = "data"
SIZES = {"base": "nmtkit.toml", "big": "big.toml"}


class Options(NamedTuple):
    """What was asked for."""

    recipe: Path
    """Folder of the recipe: configs, manifest, published figures."""
    size: str
    folder: Path
    run: Path
    manifest: Manifest
    provider: Provider
    """Of the texts of the manifest."""
    scale: float
    gpus: int | None
    clean: bool
    settings: list[str]
    steps: tuple[str, ...]
    ignore_space: bool

    @property
    def data(self) -> Path:
        """Where downloads and texts go."""
        return self.folder / DATA

    @property
    def sample(self) -> Path:
        """Where the sample of a scaled run goes."""
        return self.data / f"sample-{self.scale:g}"

    def settings_of(self, section: str) -> list[str]:
        """Return those of the settings asked for that belong to a section of the config."""
        return [setting for setting in self.settings if setting.startswith(f"{section}.")]


def read_options(arguments: Sequence[str] | None) -> Options:
    """Read the command line. Ends the process with exit code 2 where it cannot be, RecipeError for a bad manifest."""
    parser = _parser(STEPS)
    asked = parser.parse_args(arguments)
    if asked.only == "sample" and asked.scale == 1:
        parser.error("argument --only: there is no sample without --scale")
    recipe: Path = asked.recipe
    manifest = read_manifest(asked.manifest or recipe / "files.json")
    folder: Path = asked.folder or recipe
    big = "-big" if asked.size == "big" else ""
    name = f"run{big}{'-clean' if asked.clean else ''}" + (f"-scale-{asked.scale:g}" if asked.scale < 1 else "")
    if asked.only:
        steps: tuple[str, ...] = (asked.only,)
    else:
        steps = STEPS[: STEPS.index(asked.stop_after) + 1]
    return Options(
        recipe,
        asked.size,
        folder,
        asked.run or folder / name,
        manifest,
        provider_of(manifest, folder / DATA, asked),
        asked.scale,
        asked.gpus,
        asked.clean,
        asked.set,
        steps,
        asked.ignore_space,
    )


def _parser(steps: tuple[str, ...]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run.sh",
        description="WMT14 from download to the scores of newstest2014. Call it again after an interruption: what is "
        "done is not done again. Steps: " + ", ".join(steps) + ".",
        epilog="The variables WMT14_DATA and WMT14_MIRROR (addresses with spaces between) stand for --data and --mirror"
        " where these are not given.",
    )
    option = parser.add_argument
    option("--recipe", type=Path, required=True, help=argparse.SUPPRESS)
    option("--size", choices=SIZES, default="base", help="the model of the paper [default: base]")
    add_source_options(parser)
    option(
        "--folder", type=Path, metavar="DIR", help="where everything made goes [default: data/ and run/ beside run.sh]"
    )
    option(
        "--run",
        type=Path,
        metavar="DIR",
        help="the run folder [default: run, run-big, run-clean, run-scale-… in --folder]",
    )
    option(
        "--scale",
        type=_scale,
        default=1.0,
        metavar="SHARE",
        help="the same steps on a share of the pairs and updates, with a tiny model: 0.001 takes minutes on two cores",
    )
    option("--gpus", type=_positive, metavar="N", help="train on N GPUs [default: one, or the processor]")
    option(
        "--clean", action="store_true", help="also drop pairs in other languages and copies, which the paper did not"
    )
    option("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting that wins over the config")
    option("--stop-after", choices=steps, default=steps[-1], metavar="STEP", help="end behind this step")
    option("--only", choices=steps, metavar="STEP", help="do this step alone")
    option("--manifest", type=Path, metavar="FILE", help="which files there are, and their checksums [files.json]")
    option("--ignore-space", action="store_true", help="go on where the disk looks too small")
    return parser


def _scale(text: str) -> float:
    value = above_nothing(text)
    if value > 1:
        raise argparse.ArgumentTypeError("a share above 0 and at most 1, as 0.001")
    return value


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return int(text)
