"""The command `recipes/fetch`: see that the files of a manifest are there and right, and print their folder."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from recipe_parts.downloading import Patience
from recipe_parts.manifest import Manifest, read_manifest
from recipe_parts.providing import Provider
from recipe_parts.saying import RecipeError, say

INTERRUPTED = 130


def given_folder(manifest: Manifest, asked: Path | None) -> Path | None:
    """Return the folder of files that somebody has: as asked for, or in the variable of the environment."""
    named = os.environ.get(manifest.data_variable, "") if manifest.data_variable else ""
    return asked or (Path(named) if named else None)


def given_mirrors(manifest: Manifest, asked: Sequence[str]) -> list[str]:
    """Return the mirrors to use instead of those of the manifest: as asked for, or in the variable."""
    named = os.environ.get(manifest.mirror_variable, "") if manifest.mirror_variable else ""
    return list(asked) or named.split()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the folder, or say what is wrong; return the exit code."""
    parser = argparse.ArgumentParser(prog="fetch", description=__doc__)
    parser.add_argument("manifest", type=Path, metavar="MANIFEST", help="what is needed (JSON)")
    parser.add_argument("--into", type=Path, required=True, metavar="DIR", help="where downloads and texts go")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of files that you have: nothing is downloaded")
    parser.add_argument(
        "--mirror",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="where to look instead, a folder too; repeatable",
    )
    parser.add_argument(
        "--timeout", type=float, default=Patience().timeout, metavar="SECONDS", help="without a byte from a mirror [60]"
    )
    options = parser.parse_args(arguments)
    try:
        manifest = read_manifest(options.manifest)
        provider = Provider(
            manifest,
            options.into,
            given=given_folder(manifest, options.data),
            mirrors=given_mirrors(manifest, options.mirror),
            patience=Patience(timeout=options.timeout),
        )
        provider.fetch()
        provider.unpack()
    except RecipeError as error:
        say(str(error))
        return error.code
    except OSError as error:
        say(f"{error.filename or options.into}: {error.strerror or error}; check permissions and free space")
        return 1
    except KeyboardInterrupt:
        say("interrupted; the same command goes on")
        return INTERRUPTED
    sys.stdout.write(f"{provider.texts.resolve()}\n")
    return 0
