"""`nmtkit train` with train.compile and train.recompute: what becomes of it, and what is said."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
import torch
from toy.projects import Project, same

from nmtkit.training import compiling

SHORT = ("train.stop.updates=3", "train.checkpoints={every=3, average=0}", "train.validation.every=3")


@pytest.fixture(autouse=True)
def _no_picture() -> Iterator[None]:
    with patch("nmtkit.training.reporting.draw_learning_curve"):
        yield


def test_training_goes_on_without_a_compiler_and_says_so(
    fresh: Project, prepared: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows before the first update; the weights are those of a training that asked for nothing."""

    def no_compiler(layer: torch.nn.Module, *inputs: Any) -> Any:
        raise RuntimeError("no working C++ compiler")

    plain = prepared.copy(fresh.folder.parent / "plain")
    plain.train(*SHORT, "train.compile=false")
    monkeypatch.setattr(compiling, "compiled_call", lambda: no_compiler)
    fresh.train(*SHORT, "train.compile=true")
    said = fresh.run.log.read_text()
    assert (
        "train.compile: the layers could not be compiled (RuntimeError: no working C++ compiler); training goes" in said
    )
    assert said.index("train.compile: ") < said.index("update 3: development set")
    assert same(fresh.weights(3), plain.weights(3))
    assert fresh.records("validation")[0]["loss"] == plain.records("validation")[0]["loss"]


def test_compiled_layers_train_and_validation_does_without_them(
    fresh: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[bool] = []

    def call(layer: torch.nn.Module, *inputs: Any) -> Any:
        called.append(layer.training and torch.is_grad_enabled())
        return layer(*inputs)

    monkeypatch.setattr(compiling, "compiled_call", lambda: call)
    fresh.train(*SHORT, "train.compile=true", "train.recompute=true")
    assert called
    assert all(called)
    assert "could not be compiled" not in fresh.run.log.read_text()


@pytest.mark.full
@pytest.mark.filterwarnings("default")  # those of the compiler are not ours
def test_compiled_by_torch_it_learns_the_same(fresh: Project, prepared: Project) -> None:
    plain = prepared.copy(fresh.folder.parent / "plain")
    for project, compiled in ((plain, "false"), (fresh, "true")):
        project.train(*SHORT, "model.dropout=0.0", f"train.compile={compiled}", "train.log_every=1")
    losses = [[record["loss"] for record in project.records("train")] for project in (plain, fresh)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    assert fresh.weights(3).keys() == plain.weights(3).keys()
    assert "could not be compiled" not in fresh.run.log.read_text()
