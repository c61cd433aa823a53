"""A toy project on the disk: its config, its commands called as the command line calls them."""

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from nmtkit.commands.train import train
from nmtkit.config import Config, load
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder


class Project:
    """A folder with nmtkit.toml, corpus files and the run folder `run`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "nmtkit.toml"
        self.run = RunFolder(folder / "run")

    def copy(self, folder: Path) -> "Project":
        """Copy everything to another folder."""
        shutil.copytree(self.folder, folder)
        return Project(folder)

    def config(self, *settings: str) -> Config:
        """Read the config file, with `--set` settings."""
        return load(self.file, settings)

    def train(self, *settings: str) -> None:
        """Call `nmtkit train`."""
        train(self.config(*settings), self.folder, self.run, Log("quiet"), device="cpu")

    def updates(self) -> list[int]:
        """Return the updates of the checkpoints there are."""
        return sorted(int(path.name) for path in self.run.checkpoints.iterdir() if path.name.isdecimal())

    def weights(self, name: int | str) -> dict[str, torch.Tensor]:
        """Return the weights of a checkpoint."""
        folder = f"{name:08d}" if isinstance(name, int) else name
        return load_file(self.run.checkpoints / folder / "weights.safetensors")

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Return the records of a kind in metrics.jsonl."""
        lines = self.run.metrics.read_bytes().splitlines()
        return [record for record in map(json.loads, lines) if record["kind"] == kind]

    def snapshot(self) -> dict[str, tuple[int, bytes]]:
        """Return time and content of every file of the run."""
        files = (path for path in self.run.path.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    """Tell whether two sets of tensors are equal to the bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
