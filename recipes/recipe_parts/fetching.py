"""The command `recipes/fetch`: see that the files of a manifest are there and right, and print their folder.

What it shares with the WMT14 recipes are the options that say where files come from, and how a command ends.
"""

import argparse
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from recipe_parts.downloading import Patience
from recipe_parts.manifest import Manifest, read_manifest
from recipe_parts.providing import Provider
from recipe_parts.saying import RecipeError, say

INTERRUPTED = 130


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where files come from."""
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder of archives or texts that you have: nothing is downloaded"
    )
    parser.add_argument(
        "--mirror",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="where to download from instead, a folder too; repeatable",
    )
    parser.add_argument(
        "--timeout",
        type=above_nothing,
        default=Patience().timeout,
        metavar="SECONDS",
        help="how long a mirror may send nothing [60]",
    )


def above_nothing(text: str) -> float:
    """Return the number in an option that wants one above 0. Raises ArgumentTypeError for anything else."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no number above 0")
    return value


def provider_of(manifest: Manifest, folder: Path, asked: argparse.Namespace) -> Provider:
    """Return what provides the files: by the options, else by the variables of the environment that a manifest names.

    Raises RecipeError where the folder that is given does not exist.
    """
    given = _variable(manifest.data_variable)
    return Provider(
        manifest,
        folder,
        given=asked.data or (Path(given) if given else None),
        mirrors=asked.mirror or _variable(manifest.mirror_variable).split(),
        patience=Patience(timeout=asked.timeout),
    )


def _variable(name: str) -> str:
    return os.environ.get(name, "") if name else ""


def ended(program: str, work: Callable[[], None]) -> int:
    """Do the work and return the exit code; what goes wrong is said, with the name of the program before it."""
    try:
        work()
    except RecipeError as error:
        say(f"{program}: {error}")
        return error.code
    except OSError as error:
        say(f"{program}: {error.filename or 'the disk'}: {error.strerror or error}; check permissions and free space")
        return 1
    except KeyboardInterrupt:
        say(f"{program}: interrupted; the same command goes on")
        return INTERRUPTED
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the folder, or say what is wrong; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="fetch", description="See that files are there and right; print their folder."
    )
    parser.add_argument("manifest", type=Path, metavar="MANIFEST", help="what is needed (JSON)")
    parser.add_argument("--into", type=Path, required=True, metavar="DIR", help="where downloads and texts go")
    add_source_options(parser)
    options = parser.parse_args(arguments)

    def fetch() -> None:
        provider = provider_of(read_manifest(options.manifest), options.into, options)
        provider.fetch()
        provider.unpack()
        sys.stdout.write(f"{provider.texts.resolve()}\n")

    return ended("fetch", fetch)
