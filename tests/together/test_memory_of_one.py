"""Memory that is too small in one process: all compute in smaller pieces then, and updates stay what they are."""

from pathlib import Path

import pytest
from kills.processes import Forked, Moment
from toy.projects import Project

from together.teams import arguments, strike, train, trained
from together.trainings import PARALLEL, SETTINGS, close, counts, losses

TWENTY = (*SETTINGS, "train.stop.updates=20", "train.validation.every=0", "model.dropout=0.2")
ADD = "nmtkit.training.engine:Engine._add"


@pytest.fixture(scope="module")
def alone(prepared: Project, team: Forked, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A training in one process whose memory is large enough. Not to be changed."""
    return trained(team, prepared.copy(tmp_path_factory.mktemp("alone") / "project"), 1, *TWENTY)


@pytest.mark.parametrize(
    ("rank", "most", "pieces"),
    [
        pytest.param(1, 7, 2, marks=pytest.mark.slow),
        pytest.param(0, 7, 2, marks=pytest.mark.full),
        pytest.param(1, 2, 8, marks=pytest.mark.full),
        pytest.param(0, 1, 16, marks=pytest.mark.full),
    ],
)
def test_all_compute_in_smaller_pieces(
    prepared: Project, team: Forked, alone: Project, tmp_path: Path, rank: int, most: int, pieces: int
) -> None:
    project = prepared.copy(tmp_path / "project")
    small = strike("SIGKILL", Moment("memory", ADD, most))
    first, second = train(team, [arguments(project, *TWENTY)] * 2, {rank: small})
    assert (first.code, second.code, second.said) == (0, 0, ""), first.said + second.said
    warnings = [line for line in first.said.split("\n") if line.startswith("warning: ")]
    assert warnings[-1].startswith("warning: update "), first.said
    assert f"the memory was too small, so tensors are computed in {pieces} pieces from here on" in warnings[-1]
    assert len(warnings) == pieces.bit_length() - 1
    assert counts(project) == counts(alone)
    assert close(losses(project), losses(alone))


@pytest.mark.full
@pytest.mark.parametrize("rank", [0, 1])
def test_a_single_pair_that_is_too_large(prepared: Project, team: Forked, tmp_path: Path, rank: int) -> None:
    project = prepared.copy(tmp_path / "project")
    ended = train(team, [arguments(project, *TWENTY)] * 2, {rank: strike("SIGKILL", Moment("memory", ADD, 0))})
    assert [each.code for each in ended] == [1, 1], ended[0].said
    told = "the memory is too small for a single pair of sentences; drop long ones (prepare.max_pieces), "
    assert ended[0].said.count(told) == 1, ended[0].said
    assert ended[1].said == ""


@pytest.mark.full
@pytest.mark.parametrize("rank", [0, 1])
def test_shards_do_without(prepared: Project, team: Forked, tmp_path: Path, rank: int) -> None:
    """The first process says who ran out of memory, and what to do."""
    project = prepared.copy(tmp_path / "project")
    small = strike("SIGKILL", Moment("memory", ADD, 3))
    ended = train(team, [arguments(project, *TWENTY, PARALLEL["shard"])] * 2, {rank: small})
    assert [each.code for each in ended] == [1, 1]
    told = "behind update 0: the memory is too small (CUDA out of memory. Tried to allocate more than there is); lower "
    who = "" if rank == 0 else "rank 1 ended behind update 0: "
    assert f"nmtkit: error: {who}{told}train.batch.tokens_per_tensor (now 150; " in ended[0].said, ended[0].said
    assert ended[1].said == ""
