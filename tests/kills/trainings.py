"""A training small enough to be killed often, its undisturbed runs, and what must hold after a kill and at the end."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import load_file
from toy.projects import Project, same

from kills.processes import Ended, Forked, run
from nmtkit.training.card_files import lasting, read_card
from nmtkit.training.checkpoints import checkpoint_folders, read_state
from nmtkit.training.tensor_folder import OPTIMIZER, STATE, WEIGHTS, read_json

SETTINGS = (
    "train.batch={tokens_per_update=800, tokens_per_tensor=200}",
    "train.stop.updates=8",
    "train.validation.every=3",
    "train.log_every=1",
)
SPARE = (*SETTINGS, "train.checkpoints={every=2, keep_last=2, average=2}")
"""An epoch of 5 updates; validations at 3, 6 and 8 and of the average; checkpoints at 2, 3, 4, 6 and 8."""
KEEP_ALL = (*SETTINGS, "train.checkpoints={every=1, keep_last=99, keep_best=99, average=2}")

TIMES = ("seconds", "seconds_left", "source_tokens_per_second", "target_tokens_per_second")
"""What differs between two runs of the same."""


class Reference(NamedTuple):
    """The same training undisturbed: as it is, and with a checkpoint of every update."""

    straight: Project
    complete: Project


def arguments(project: Project) -> list[str]:
    """Return the command line that trains a project."""
    settings = [part for setting in SPARE for part in ("--set", setting)]
    return ["train", "--config", str(project.file), "--device", "cpu", *settings]


def reference(prepared: Project, folder: Path) -> Reference:
    """Train undisturbed."""
    straight, complete = (prepared.copy(folder / name) for name in ("straight", "complete"))
    done = run(*arguments(straight))
    assert done.code == 0, done.said
    complete.train(*KEEP_ALL)
    return Reference(straight, complete)


def finish(project: Project, forked: Forked | None = None) -> Ended:
    """Give the same command again, see where it says to begin, and that it ends well."""
    newest = max((0, *_updates(project)))
    again = (forked.run if forked else run)(*arguments(project))
    assert again.code == 0, again.said
    ways = [f"going on behind update {newest}\n", f"{project.run}: finished at update {newest} "]
    assert any(way in again.said for way in (ways if newest else [f"training in {project.run}\n"])), again.said
    assert "Traceback" not in again.said
    assert "warning" not in again.said
    return again


def assert_nothing_half(project: Project, expected: Reference) -> None:
    """Every checkpoint that is listed, and the average, is whole and holds what the undisturbed run's holds."""
    for folder in checkpoint_folders(project.run.checkpoints):
        read_state(folder)
        undisturbed = expected.complete.run.checkpoints / folder.name
        assert same(load_file(folder / WEIGHTS), load_file(undisturbed / WEIGHTS)), folder
        if (folder / OPTIMIZER).exists() and (undisturbed / OPTIMIZER).exists():
            assert same(load_file(folder / OPTIMIZER), load_file(undisturbed / OPTIMIZER)), folder
    if project.run.average.exists():
        json.loads((project.run.average / STATE).read_bytes())
        assert same(project.weights("average"), expected.straight.weights("average"))


def assert_same_end(project: Project, expected: Reference) -> None:
    """The run is what it would be undisturbed: its files, weights, scores and records, but for times."""
    straight = expected.straight
    assert _files(project) == _files(straight)
    for folder in (*checkpoint_folders(straight.run.checkpoints), straight.run.average):
        mine = project.run.checkpoints / folder.name
        for file in (WEIGHTS, OPTIMIZER):
            if (folder / file).exists():
                assert same(load_file(mine / file), load_file(folder / file)), mine / file
        assert _state(mine) == _state(folder)
    assert _records(project) == _records(straight)
    assert _card(project) == _card(straight)
    for file in ("config.toml", "learning_curve.png"):
        told = [(each.run.path / file).read_bytes().replace(bytes(each.folder), b"") for each in (project, straight)]
        assert told[0] == told[1], file


def _updates(project: Project) -> list[int]:
    return [int(folder.name) for folder in checkpoint_folders(project.run.checkpoints)]


def _files(project: Project) -> set[str]:
    return {str(path.relative_to(project.folder)) for path in project.folder.rglob("*")}


def _state(folder: Path) -> Any:
    content = read_json(folder)
    state = content.get("state", {})
    for name in [name for name in state if name.endswith("seconds")]:
        del state[name]
    return content


def _card(project: Project) -> Any:
    """Return what equal runs have in common on their run cards."""
    card = lasting(read_card(project.run.path))
    del card["config"]["corpus"]["folder"]
    for name in ("commit", "changed"):  # somebody may work at the code meanwhile
        del card["software"][name]
    return card


def _records(project: Project) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in project.run.metrics.read_bytes().split(b"\n")[:-1]]
    return [{key: value for key, value in record.items() if key not in TIMES} for record in records]
