"""The options of the WMT14 recipes."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from recipe_parts.downloading import Patience
from recipe_parts.fetching import given_folder, given_mirrors
from recipe_parts.manifest import Manifest, read_manifest

STEPS = ("download", "unpack", "sample", "prepare", "train", "average", "translate", "score")
SIZES = {"base": "nmtkit.toml", "big": "big.toml"}


class Options(NamedTuple):
    """What was asked for."""

    recipe: Path
    """Folder of the recipe: configs, manifest, published figures."""
    size: str
    folder: Path
    run: Path
    manifest: Manifest
    given: Path | None
    """Folder of files that somebody has."""
    mirrors: list[str]
    timeout: float
    """Seconds without a byte from a mirror."""
    scale: float
    gpus: int | None
    clean: bool
    settings: list[str]
    steps: tuple[str, ...]
    ignore_space: bool

    @property
    def data(self) -> Path:
        """Where downloads and texts go."""
        return self.folder / "data"

    @property
    def sample(self) -> Path:
        """Where the sample of a scaled run goes."""
        return self.data / f"sample-{self.scale:g}"


def read_options(arguments: Sequence[str] | None) -> Options:
    """Read the command line. Ends the process with exit code 2 where it cannot be, RecipeError for a bad manifest."""
    asked = _parser(STEPS).parse_args(arguments)
    recipe: Path = asked.recipe
    manifest = read_manifest(asked.manifest or recipe / "files.json")
    folder: Path = asked.folder or recipe
    big = "-big" if asked.size == "big" else ""
    name = f"run{big}" + (f"-scale-{asked.scale:g}" if asked.scale < 1 else "")
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
        given_folder(manifest, asked.data),
        given_mirrors(manifest, asked.mirror),
        asked.timeout,
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
    )
    option = parser.add_argument
    option("--recipe", type=Path, required=True, help=argparse.SUPPRESS)
    option("--size", choices=SIZES, default="base", help="the model of the paper [default: base]")
    option(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder of archives or texts that you have, or WMT14_DATA: no downloads",
    )
    option(
        "--folder", type=Path, metavar="DIR", help="where everything made goes [default: data/ and run/ beside run.sh]"
    )
    option("--run", type=Path, metavar="DIR", help="the run folder [default: run, run-big, run-scale-… in --folder]")
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
    option(
        "--mirror",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="where to download from instead, a folder too; repeatable; or WMT14_MIRROR, with spaces between",
    )
    option(
        "--timeout", type=float, default=Patience().timeout, metavar="SECONDS", help="without a byte from a mirror [60]"
    )
    option("--manifest", type=Path, metavar="FILE", help="which files there are, and their checksums [files.json]")
    option("--ignore-space", action="store_true", help="go on where the disk looks too small")
    return parser


def _scale(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError("a share above 0 and at most 1, as 0.001")
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return value
