"""The cells of Table 3: a row trained with a seed, each a run folder, several at once, finished ones left alone.

OUT/
  prepared/           the data, prepared once
  cells/ROW-SEED/     the run folder of a cell; its data is that of prepared/
  cells/ROW-SEED.log  what its training said, its errors too
  table.md table.json the table
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from nmtkit.config import Config, load
from nmtkit.data.manifest import prepared
from nmtkit.run_folder import RunFolder
from nmtkit.training.changes import changes
from recipe_parts.saying import RecipeError
from recipe_parts.table3_rows import Row, Variation

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows: nothing keeps two tables apart there
    flock = None  # type: ignore[assignment]

EVERY_CELL = (
    "train.checkpoints.average=0",  # as in the paper's table
    "train.checkpoints.keep_best=0",
    "train.checkpoints.keep_last=1",
    "train.validation.every=0",  # once, at the end
    "train.validation.translate=true",
    "train.stop.epochs=0",
    "train.stop.patience=0",
)
"""Settings of all cells, whatever the base says: they are compared behind equal numbers of updates."""


class Base(NamedTuple):
    """What all rows are variations of."""

    file: Path
    settings: tuple[str, ...]
    """`--set` settings over the file."""

    def arguments(self, variation: Sequence[str] = ()) -> list[str]:
        """Return what commands of nmtkit are given."""
        settings = [*self.settings, *EVERY_CELL, *variation]
        return ["--config", str(self.file), *(word for setting in settings for word in ("--set", setting))]

    def config(self, variation: Sequence[str] = ()) -> Config:
        """Return the settings. Raises nmtkit's ConfigError where they are wrong."""
        return load(self.file, [*self.settings, *EVERY_CELL, *variation])


class Result(NamedTuple):
    """What a cell has found."""

    seed: int
    parameters: int
    perplexity: float
    """Of the development set, per piece, unsmoothed."""
    score: float
    metric: str
    signature: str
    updates: int
    seconds: float


class Cell(NamedTuple):
    """A row with a seed."""

    variation: Variation
    seed: int
    run: Path

    @property
    def row(self) -> Row:
        """Its row."""
        return self.variation.row

    @property
    def name(self) -> str:
        """What it is called, for people."""
        return f"{self.row.name}, seed {self.seed}"

    @property
    def overrides(self) -> list[str]:
        """The settings by which it differs from the base."""
        return [*self.variation.overrides, f"train.seed={self.seed}"]

    @property
    def log(self) -> Path:
        """Where its training writes what it says."""
        return self.run.with_name(f"{self.run.name}.log")

    def card(self) -> dict[str, Any]:
        """Return the card of its run; empty where there is none."""
        try:
            found = json.loads((self.run / "run.json").read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def result(self) -> Result | None:
        """Return what it has found; None until its training is finished."""
        try:
            card = self.card()
            development, training = card["development"]["last"], card["training"]
            if training["ended"] is None or development["update"] != training["updates"]:
                return None
            return Result(
                self.seed,
                sum(card["model"]["parameters"].values()),
                development["perplexity"],
                development["score"],
                development["metric"],
                development["signature"],
                training["updates"],
                card["time"]["seconds"],
            )
        except (KeyError, TypeError):
            return None

    def differences(self, base: Base) -> list[str]:
        """Return in which settings, but for where the corpus lies, the cell was trained otherwise than is asked for."""
        file = self.run / "config.toml"
        if not file.exists():
            return []
        trained, asked = (
            load(file).model_dump(exclude_none=True),
            base.config(self.overrides).model_dump(exclude_none=True),
        )
        return [str(change) for change in changes(trained, asked) if change.key != "corpus.folder"]


def cells_of(out: Path, variations: Sequence[Variation], seeds: Sequence[int]) -> list[Cell]:
    """Return all cells, one seed of all rows after the other, so that a table half done can be read."""
    return [
        Cell(variation, seed, out / "cells" / f"{variation.row.name}-{seed}")
        for seed in seeds
        for variation in variations
    ]


def check(cells: Sequence[Cell], base: Base) -> None:
    """Raise RecipeError where a cell that is there has other settings than those asked for."""
    for cell in cells:
        if found := cell.differences(base):
            raise RecipeError(
                "\n".join([f"{cell.run}: was trained with other settings:", *(f"  {line}" for line in found)])
                + "\nset them back, or give another folder with --out"
            )


def check_data(cells: Sequence[Cell], out: Path) -> None:
    """Raise RecipeError where a cell that is finished was trained on other pairs than are prepared now."""
    fingerprint = prepared(RunFolder(out / "prepared")).fingerprint
    for cell in cells:
        if cell.result() is not None and cell.card().get("data", {}).get("fingerprint") != fingerprint:
            raise RecipeError(
                f"{cell.run}: was trained on other pairs than those in {out / 'prepared'}; bring back the text it had, "
                "or give another folder with --out"
            )


@contextmanager
def alone(out: Path) -> Iterator[tuple[int, ...]]:
    """Keep other tables out of the folder; gives what trainings must inherit, so that they keep them out too.

    A training that outlives this process, since that was killed, holds the folder until it ends.
    """
    out.mkdir(parents=True, exist_ok=True)
    with (out / ".lock").open("ab") as file:
        if flock is None:
            yield ()
            return
        try:
            flock(file, LOCK_EX | LOCK_NB)
        except BlockingIOError as error:
            raise RecipeError(
                f"{out}: another table, or a training that a killed one left, is at work here; wait for it or end it"
            ) from error
        yield (file.fileno(),)


def prepare(out: Path, base: Base, inherited: tuple[int, ...]) -> None:
    """Prepare the data of all cells; what is prepared already is not made again. Raises RecipeError where it fails."""
    command = [*_nmtkit("prepare"), *base.arguments(), "--run", str(out / "prepared")]
    code = subprocess.run(command, stdout=sys.stderr, pass_fds=inherited, check=False).returncode
    if code:
        raise RecipeError(f"nmtkit prepare ended with exit code {code} (see above)", code if code > 0 else 128 - code)


def start(
    cell: Cell, base: Base, inherited: tuple[int, ...], *, threads: int = 0, gpu: str | None = None
) -> "subprocess.Popen[bytes]":
    """Begin or go on with the training of a cell, in a session of its own: it is told by us alone what to do.

    `threads` and `gpu` are what it may use; 0 and None: all.
    """
    cell.run.mkdir(parents=True, exist_ok=True)
    data, prepared = cell.run / "data", cell.run.parent.parent / "prepared" / "data"
    if not data.is_symlink():
        data.symlink_to(os.path.relpath(prepared, cell.run))
    environment = dict(os.environ)
    if threads:
        environment |= {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    if gpu is not None:
        environment |= {"CUDA_VISIBLE_DEVICES": gpu}
    command = [*_nmtkit("train"), *base.arguments(cell.overrides), "--run", str(cell.run)]
    with cell.log.open("ab") as log:
        return subprocess.Popen(
            command, stdout=log, stderr=log, env=environment, start_new_session=True, pass_fds=inherited
        )


def _nmtkit(command: str) -> list[str]:
    return [sys.executable, "-m", "nmtkit", command]


def as_json(result: Result) -> dict[str, Any]:
    """Return a result as JSON has it."""
    return result._asdict()
