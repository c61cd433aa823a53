"""`nmtkit average`."""

import json

import pytest
from toy.projects import Project

from nmtkit.commands.average import average
from nmtkit.errors import CheckpointError, ConfigError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.training.choice import find_weights


def averaged(project: Project) -> list[int]:
    updates: list[int] = json.loads((project.run.average / "state.json").read_text())["updates"]
    return updates


def test_the_newest_or_the_best_are_averaged(finished: Project, capsys: pytest.CaptureFixture[str]) -> None:
    average(finished.run, Log(), last=1)
    assert averaged(finished) == [8]
    assert "the average of updates 8" in capsys.readouterr().err
    average(finished.run, Log("quiet"), last=9)
    assert averaged(finished) == [4, 8]
    scores = {record["update"]: record["score"] for record in finished.records("validation")}
    average(finished.run, Log("quiet"), best=1)
    assert averaged(finished) == [max(scores, key=lambda update: (scores[update], -update))]


def test_an_average_of_ones_own_is_used_and_kept(finished: Project) -> None:
    average(finished.run, Log("quiet"), last=1)
    before = finished.snapshot()
    assert find_weights(finished.run, "auto").parent == finished.run.average
    finished.train()
    assert finished.snapshot() == before


@pytest.mark.parametrize("both", [{}, {"last": 2, "best": 2}])
def test_one_choice_is_needed(finished: Project, both: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="--last N or --best N: give one of them"):
        average(finished.run, Log("quiet"), **both)


def test_there_must_be_something_to_average(finished: Project) -> None:
    for update in finished.updates():
        (finished.run.checkpoints / f"{update:08d}" / "state.json").unlink()
    with pytest.raises(CheckpointError, match="no checkpoint to average"):
        average(finished.run, Log("quiet"), last=2)
    with pytest.raises(CheckpointError, match="no such folder"):
        average(RunFolder(finished.folder / "absent"), Log("quiet"), last=2)
