"""Parts that are frozen, where several processes train the rest."""

from pathlib import Path

import pytest
from safetensors.torch import load_file
from toy.projects import Project

from nmtkit.training.tensor_folder import WEIGHTS
from together.trainings import PARALLEL, close, losses, trained

pytestmark = pytest.mark.slow

TWELVE = ("train.stop.updates=12", "train.validation.every=0", 'train.freeze=["embeddings", "encoder"]')


@pytest.mark.parametrize("parallel", ["shard", pytest.param("replicate", marks=pytest.mark.full)])
def test_frozen_parts_stay_and_the_rest_learns_as_in_one_process(
    prepared: Project, tmp_path: Path, parallel: str
) -> None:
    alone = trained(prepared.copy(tmp_path / "alone"), 1, *TWELVE)
    together = trained(prepared.copy(tmp_path / "together"), 2, *TWELVE, PARALLEL[parallel])
    assert close(losses(together), losses(alone))
    weights = [load_file(each.run.checkpoints / "00000012" / WEIGHTS) for each in (alone, together)]
    frozen = [name for name in weights[0] if name.startswith(("encoder", "source_embedding"))]
    assert frozen
    assert all(weights[0][name].equal(weights[1][name]) for name in frozen)
