"""Table 3 of "Attention Is All You Need" for any base and any data: its rows trained, and set beside the paper's.

python -m recipe_parts.table3 --config nmtkit.toml --out DIR --seeds 1,2 --at-once 2
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from nmtkit.errors import NmtkitError
from recipe_parts.checking import write_whole
from recipe_parts.saying import RecipeError, say
from recipe_parts.table3_cells import Base, alone, cells_of, check, check_data, prepare
from recipe_parts.table3_rows import chosen, variations
from recipe_parts.table3_show import Table, markdown, plain, plan
from recipe_parts.table3_training import failure, train


class Options(argparse.Namespace):
    """What was asked for."""

    config: Path
    out: Path
    settings: list[str]
    rows: list[str]
    seeds: list[int]
    at_once: int
    plan: bool
    show: bool


def read_options(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line. Ends the process with exit code 2 where it cannot be."""
    parser = argparse.ArgumentParser(
        prog="table3", description="Train the rows of the paper's Table 3 as variations of a base; show them beside it."
    )
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the base, an nmtkit.toml")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where trainings and table go")
    parser.add_argument(
        "--set", action="append", default=[], dest="settings", metavar="KEY=VALUE", help="another setting of the base"
    )
    parser.add_argument(
        "--rows", type=_names, default=[], metavar="NAMES", help="some of the rows, as A1,B16; all else"
    )
    parser.add_argument("--seeds", type=_seeds, default=[1, 2], metavar="N,N", help="a training each (default: 1,2)")
    parser.add_argument("--at-once", type=_count, default=1, metavar="N", help="trainings at once (default: 1)")
    parser.add_argument("--plan", action="store_true", help="train nothing: say what the rows are for this base")
    parser.add_argument("--show", action="store_true", help="train nothing: show the table as far as it is there")
    return parser.parse_args(arguments, Options())


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _seeds(text: str) -> list[int]:
    seeds = [int(seed) for seed in text.split(",")]
    if len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise ValueError(text)
    return seeds


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError(text)
    return count


def run(options: Options) -> int:
    """Train what is not there yet, and show the table; return the exit code."""
    base = Base(options.config, tuple(options.settings))
    config = base.config()
    if not config.train.stop.updates:
        raise RecipeError("train.stop.updates = 0: rows are compared behind equal numbers of updates; say how many", 2)
    if config.train.stop.minutes:
        raise RecipeError("train.stop.minutes: it would end rows behind unequal numbers of updates; set it to 0", 2)
    if config.corpus.dev is None:
        raise RecipeError("corpus.dev: perplexity and BLEU are those of a development set; add [corpus.dev]", 2)
    rows, left_out = variations(config, chosen(options.rows))
    cells = cells_of(options.out, rows, options.seeds)
    table = Table(config, rows, left_out, cells)
    if options.plan:
        sys.stdout.write(plan(table))
        return 0
    check(cells, base)
    if options.show:
        sys.stdout.write(markdown(table))
        return 0
    failed = []
    with alone(options.out) as inherited:
        try:
            if any(cell.result() is None for cell in cells):
                prepare(options.out, base, inherited)
                check_data(cells, options.out)
                failed = train(cells, base, at_once=options.at_once, inherited=inherited)
        finally:
            _keep(options.out, table)
    sys.stdout.write(markdown(table))
    sys.stdout.flush()
    if failed:
        raise failure(failed)
    return 0


def _keep(out: Path, table: Table) -> None:
    """Write the table as far as it is there."""
    if table.found:
        write_whole(out / "table.md", markdown(table).encode())
        write_whole(out / "table.json", (json.dumps(plain(table), ensure_ascii=False, indent=2) + "\n").encode())
        say(f"table: {out / 'table.md'} and table.json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    options = read_options(arguments)
    try:
        return run(options)
    except RecipeError as error:
        say(str(error))
        return error.code
    except NmtkitError as error:
        say(str(error))
        return error.exit_code
    except OSError as error:
        say(f"{error.filename or options.out}: {error.strerror or error}; check permissions and free space")
        return 1
    except KeyboardInterrupt:
        say("interrupted; the same command goes on")
        return 130


if __name__ == "__main__":
    sys.exit(main())
