"""Several processes train what one trains: the same updates, losses, scores and weights but for rounding."""

from pathlib import Path

import pytest
from toy.projects import Project

from together.trainings import PARALLEL, close, counts, losses, train, trained

SIXTY = "train.stop.updates=60"
DROPOUT = {"without dropout": "model.dropout=0.0", "with dropout": "model.dropout=0.2"}

pytestmark = pytest.mark.slow


def scores(project: Project) -> list[tuple[int, float, float]]:
    return [(r["update"], r["perplexity"], r["score"]) for r in project.records("validation")]


@pytest.fixture(scope="module", params=[pytest.param("without dropout", marks=pytest.mark.full), "with dropout"])
def dropout(request: pytest.FixtureRequest) -> str:
    return DROPOUT[request.param]


@pytest.fixture(scope="module")
def alone(prepared: Project, dropout: str, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A training in one process, which computes the tensors of an update one after another."""
    return trained(prepared.copy(tmp_path_factory.mktemp("alone") / "project"), 1, SIXTY, dropout)


@pytest.mark.parametrize(
    ("parallel", "processes"), [("replicate", 2), ("shard", 2), pytest.param("replicate", 3, marks=pytest.mark.full)]
)
def test_processes_make_the_updates_of_one(
    prepared: Project, alone: Project, dropout: str, tmp_path: Path, parallel: str, processes: int
) -> None:
    together = trained(prepared.copy(tmp_path / "project"), processes, SIXTY, dropout, PARALLEL[parallel])
    assert counts(together) == counts(alone), "the same pairs in the same updates, each once an epoch"
    assert close(losses(together), losses(alone))
    for mine, its in zip(scores(together), scores(alone), strict=True):
        assert mine[0] == its[0]
        assert close(mine[1:], its[1:], 1e-3)
    assert together.updates() == alone.updates()


@pytest.mark.parametrize("ways", [(2, 1, 2), pytest.param((1, 3, 2), marks=pytest.mark.full)])
def test_a_training_goes_on_in_another_number_of_processes(
    prepared: Project, alone: Project, dropout: str, tmp_path: Path, ways: tuple[int, ...]
) -> None:
    project = prepared.copy(tmp_path / "project")
    for updates, processes in zip((17, 38, 60), ways, strict=True):
        trained(project, processes, f"train.stop.updates={updates}", dropout)
    assert counts(project) == counts(alone)
    assert close(losses(project), losses(alone))


@pytest.mark.full
def test_shards_go_on_as_replicas_and_in_one_process(prepared: Project, alone: Project, dropout: str, tmp_path: Path):
    project = prepared.copy(tmp_path / "project")
    trained(project, 2, "train.stop.updates=15", dropout, PARALLEL["shard"])
    trained(project, 2, "train.stop.updates=30", dropout, PARALLEL["replicate"])
    trained(project, 2, "train.stop.updates=45", dropout, PARALLEL["shard"])
    trained(project, 1, SIXTY, dropout)
    assert counts(project) == counts(alone)
    assert close(losses(project), losses(alone))


def test_a_finished_training_is_left_as_it_is(prepared: Project, tmp_path: Path) -> None:
    project = trained(prepared.copy(tmp_path / "project"), 2, "train.stop.updates=3")
    before = project.snapshot()
    ended = train(project, 2, "train.stop.updates=3")
    assert ended.code == 0, ended.said
    assert ended.said.count("finished at update 3 (train.stop.updates = 3); to train on, raise that limit") == 1
    assert project.snapshot() == before


@pytest.mark.full
def test_more_processes_than_pairs_in_an_update(prepared: Project, tmp_path: Path) -> None:
    """Some have nothing to compute, and yet everybody makes the same steps."""
    few = "train.batch={tokens_per_update=65, tokens_per_tensor=65}"
    one, nine = (prepared.copy(tmp_path / name) for name in ("one", "nine"))
    for project, processes, way in ((one, 1, "replicate"), (nine, 9, "shard")):
        trained(project, processes, "train.stop.updates=12", few, PARALLEL[way])
    assert counts(nine) == counts(one)
    assert close(losses(nine), losses(one), 1e-4)


def test_pieces_drawn_anew(prepared: Project, tmp_path: Path) -> None:
    """How many tokens an update has is known only when all have drawn theirs."""
    sampling = "train.sampling={source=true, target=true, dropout=0.2}"
    one, two = (prepared.copy(tmp_path / name) for name in ("one", "two"))
    for project, processes in ((one, 1), (two, 2)):
        trained(project, processes, "train.stop.updates=12", sampling, DROPOUT["without dropout"])
    assert counts(two) == counts(one)
    assert close(losses(two), losses(one))


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_is_said_once(prepared: Project, tmp_path: Path, processes: int) -> None:
    project = prepared.copy(tmp_path / "project")
    ended = train(project, processes, "train.seed=7", "prepare.max_pieces=9")
    assert ended.code == 1
    assert ended.said.count("prepare.max_pieces: 64 -> 9\n") == 1, ended.said
    assert "Traceback" not in ended.said
