"""What training promises: the same seed gives the same weights, and an interruption changes nothing, to the bit."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from toy.projects import Project, same

from nmtkit.training.feeding import Feed

STRAIGHT = (
    "train.stop.updates=14",
    "train.checkpoints.every=5",
    "train.validation.every=4",
    "train.checkpoints.average=2",
)
"""Over an epoch's end (10 updates), with validations and checkpoints at different updates."""


@pytest.fixture(scope="module", autouse=True)
def _no_picture() -> Iterator[None]:
    """Save the time that drawing takes."""
    with patch("nmtkit.training.reporting.draw_learning_curve"):
        yield


VARIATIONS = {
    "fp32": "train.precision=fp32",
    "bf16": "train.precision=bf16",
    "rnn": 'model={kind="rnn", preset="tiny", width=16}',
    "sampling": "train.sampling={source=true, target=true, dropout=0.2}",
    "frozen": "train.freeze=['embeddings', 'encoder.0.*']",
}


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=pytest.mark.slow if name != "fp32" else ()) for name in VARIATIONS],
)
def variation(request: pytest.FixtureRequest) -> str:
    """The setting that makes each kind of training; all but the first in the slower tier."""
    return VARIATIONS[request.param]


@pytest.fixture(scope="module")
def straight(prepared: Project, variation: str, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run without interruption."""
    project = prepared.copy(tmp_path_factory.mktemp("straight") / "project")
    project.train(*STRAIGHT, variation)
    return project


def assert_equal(project: Project, straight: Project) -> None:
    """Two runs ended with the same checkpoints, scores and records of training, but for times."""
    regular = [update for update in straight.updates() if update % 5 == 0]
    assert set(regular) <= set(project.updates())
    for name in (*regular, 14, "average"):
        assert same(project.weights(name), straight.weights(name)), name
    assert last_words(project, "validation") == last_words(straight, "validation")
    assert last_words(project, "average")[-1] == last_words(straight, "average")[-1]


def last_words(project: Project, kind: str) -> list[tuple[object, ...]]:
    return [
        (r["update"], r["loss"], r["score"]) for r in project.records(kind) if r["update"] % 4 == 0 or kind == "average"
    ]


def test_the_same_seed_gives_the_same_weights(fresh: Project, straight: Project, variation: str) -> None:
    fresh.train(*STRAIGHT, variation)
    assert_equal(fresh, straight)
    assert [r["loss"] for r in fresh.records("train")] == [r["loss"] for r in straight.records("train")]


def test_another_seed_gives_other_weights(fresh: Project, straight: Project, variation: str) -> None:
    fresh.train(*STRAIGHT, variation, "train.seed=2")
    assert not same(fresh.weights(14), straight.weights(14))


@pytest.mark.parametrize("stop", [5, 7, 10])
def test_a_run_stopped_early_and_gone_on_with_is_a_straight_run(
    fresh: Project, straight: Project, variation: str, stop: int
) -> None:
    """At a regular checkpoint, between two, and at the end of an epoch."""
    fresh.train(*STRAIGHT, variation, f"train.stop.updates={stop}")
    fresh.train(*STRAIGHT, variation)
    assert_equal(fresh, straight)
    assert [r["update"] for r in fresh.records("train")] == [2, 4, 6, 8, 10, 12, 14]


@pytest.mark.slow
def test_layers_that_are_recomputed_train_the_same(fresh: Project, straight: Project, variation: str) -> None:
    """To the bit, and it may be asked for in the middle of a training."""
    fresh.train(*STRAIGHT, variation, "train.stop.updates=7")
    fresh.train(*STRAIGHT, variation, "train.recompute=true")
    assert_equal(fresh, straight)


class _Died(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("update", [3, 8, 12])
def test_a_run_that_died_between_checkpoints_is_a_straight_run_when_gone_on_with(
    fresh: Project, straight: Project, variation: str, update: int
) -> None:
    """What was trained after the last checkpoint is lost, trained again, and stands once in metrics.jsonl."""
    from nmtkit.training.trainer import Trainer

    after_update = Trainer._after_update

    def die(trainer: Trainer) -> str | None:
        if trainer.state.update == update:
            raise _Died
        return after_update(trainer)

    with patch.object(Trainer, "_after_update", die), pytest.raises(_Died):
        fresh.train(*STRAIGHT, variation)
    fresh.train(*STRAIGHT, variation)
    assert_equal(fresh, straight)
    for kind in ("train", "validation"):
        updates = [record["update"] for record in fresh.records(kind)]
        assert updates == sorted(set(updates))


BATCHES = ("train.batch={tokens_per_update=250, tokens_per_tensor=90}", "train.batch.window=70")


def test_other_batches_in_the_middle_of_an_epoch_go_on_with_the_pairs_not_seen(fresh: Project) -> None:
    """Two changes within the first epoch: at its end each of the 200 pairs was seen once."""
    from nmtkit.training.trainer import Trainer

    seen: list[list[int]] = [[], []]
    update = Trainer._update

    def watch(trainer: Trainer, feed: Feed) -> None:
        step = feed.step
        assert step.epoch == trainer.state.epoch
        seen[step.epoch] += [pair for tensor in step.update.tensors for pair in tensor.tolist()]
        update(trainer, feed)

    stops = ((), 3), (BATCHES, 6), (("train.batch.tokens_per_update=300",), 9)
    with patch.object(Trainer, "_update", watch):
        for settings, stop in stops:
            fresh.train(*settings, f"train.stop.updates={stop}", "train.validation.every=0")
        assert len(seen[0]) < 200
        fresh.train("train.stop={updates=0, epochs=2}", "train.validation.every=0")
    assert sorted(seen[0]) == sorted(seen[1]) == list(range(200))
    said = fresh.run.log.read_text()
    assert "changed since this run began: train.batch.tokens_per_update: 400 in the run, now 250" in said
    assert "train.batch: what is left of this epoch comes in the new batches, each pair once; limits" in said


def start(project: Project, *settings: str) -> "subprocess.Popen[bytes]":
    """Start `nmtkit train` in a process of its own."""
    arguments = [part for setting in settings for part in ("--set", setting)]
    command = [sys.executable, "-m", "nmtkit", "train", "--config", str(project.file), "--device", "cpu", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(path: Path, process: "subprocess.Popen[bytes]") -> None:
    """Wait until a file exists; the process that makes it must live until then."""
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


LONG = (
    "train.stop.updates=300",
    "train.checkpoints.every=50",
    "train.validation.every=0",
    "train.log_every=7",
    "train.batch={tokens_per_update=300, tokens_per_tensor=300}",
)


@pytest.fixture(scope="module")
def long(prepared: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A longer run without interruption."""
    project = prepared.copy(tmp_path_factory.mktemp("long") / "project")
    project.train(*LONG)
    return project


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGKILL, -signal.SIGKILL, ""),
        pytest.param(signal.SIGTERM, 143, "stopped by SIGTERM behind update", marks=pytest.mark.full),
        pytest.param(signal.SIGINT, 130, "stopped by SIGINT behind update", marks=pytest.mark.full),
    ],
)
def test_a_process_that_was_signalled_goes_on_as_if_nothing_had_happened(
    fresh: Project, long: Project, number: signal.Signals, code: int, said: str
) -> None:
    process = start(fresh, *LONG)
    wait_for(fresh.run.checkpoints / "00000050", process)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == code, stderr.decode()
    assert stdout == b""
    assert said in stderr.decode()
    assert "Traceback" not in stderr.decode()
    assert max(fresh.updates()) < 300
    fresh.train(*LONG)
    for name in (300, "average"):
        assert same(fresh.weights(name), long.weights(name))
    assert fresh.updates() == long.updates()
    assert [(r["update"], r["loss"]) for r in fresh.records("train")][-1] == [
        (r["update"], r["loss"]) for r in long.records("train")
    ][-1]
    updates = [record["update"] for record in fresh.records("train")]
    assert updates == sorted(set(updates))
