"""What the leading process alone sees or does, a divergence and a full disk among it, happens to all together."""

from pathlib import Path

import pytest
from kills.processes import Ended, Forked, Moment
from toy.projects import Project

from nmtkit.training.checkpoints import read_state
from together.teams import arguments, strike, train
from together.trainings import PARALLEL, SETTINGS, close, counts, losses

SPOILED = strike("SIGKILL", Moment("spoil", "nmtkit.training.engine:Engine.gradients", 18))
"""Updates 17 to 20: the first call is a rehearsal."""
SHORT = ("nmtkit.training.guard:WINDOW=3", "nmtkit.training.guard:MOST_SKIPPED=4")
FORTY = (*SETTINGS, "train.stop.updates=40", "train.checkpoints={every=5, keep_last=9, average=2}")


@pytest.mark.slow
@pytest.mark.parametrize("parallel", ["replicate", pytest.param("shard", marks=pytest.mark.full)])
def test_processes_go_back_together(prepared: Project, team: Forked, tmp_path: Path, parallel: str) -> None:
    """As one process does, with weights and optimizer in whatever way they are shared out."""
    alone, project = (prepared.copy(tmp_path / name) for name in ("alone", "project"))
    for each, processes in ((alone, 1), (project, 2)):
        command = arguments(each, *FORTY, PARALLEL[parallel])
        first, *others = train(team, [command] * processes, dict.fromkeys(range(processes), SPOILED), put=SHORT)
        assert first.code == 0, first.said
        assert first.said.count("going back, once, to the checkpoint of update 10. The updates 14 to 20 will") == 1
        assert others == [Ended(0, "", "")] * (processes - 1)
        state = read_state(each.run.checkpoints / "00000040").state
        assert (state.returns, state.skipped, state.passed_from, state.passed_to) == (1, 7, 14, 20)
    assert counts(project) == counts(alone)
    assert close(losses(project), losses(alone))


@pytest.mark.slow
def test_a_full_disk_ends_all_processes(fresh: Project, team: Forked) -> None:
    """Found in a thread of the first, at the checkpoint of update 20; the second has nothing to add."""
    put = ("nmtkit.training.tensor_folder:SPARE_BYTES=1000000000000000",)
    first, second = train(team, [arguments(fresh, *SETTINGS)] * 2, put=put)
    assert first.code == 1
    assert "nmtkit: error: " in first.said
    assert "/checkpoints: a checkpoint needs " in first.said
    assert "Traceback" not in first.said
    assert second == Ended(1, "", "")
