"""A training that diverges goes back once, passes over what it diverged by, and is then as any other."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from toy.training import make_trainer, random_pairs, train_config

from nmtkit.data.batch import Part
from nmtkit.data.epochs import Progress
from nmtkit.run_folder import RunFolder
from nmtkit.training.checkpoints import checkpoint_folders, load_optimizer, newest_resumable, read_state
from nmtkit.training.engine import Engine, Outcome
from nmtkit.training.guard import Diverged
from nmtkit.training.outcomes import Outcomes
from nmtkit.training.signals import HANDLED, Interrupted
from nmtkit.training.state import TrainingState
from nmtkit.training.tensor_folder import OPTIMIZER, WEIGHTS, read_tensors
from nmtkit.training.trainer import Trainer

TROUBLE = range(17, 21)
"""Updates that are not finite: as many as are a divergence, behind the last that is steady."""
PASSED = range(14, 21)
"""The three updates before that, too, are not trusted."""
Breaks = Callable[[int], float]


@pytest.fixture(autouse=True, scope="module")
def _short() -> Iterator[None]:
    with patch("nmtkit.training.guard.WINDOW", 3), patch("nmtkit.training.guard.MOST_SKIPPED", len(TROUBLE)):
        yield


def infinite(number: int) -> float:
    return math.inf


def rising(number: int) -> float:
    """Let the loss of the updates from 14 on rise, by some half a nat each."""
    return 1 + 0.15 * (number - 13)


class Run:
    """A training of 30 updates with a checkpoint of each fifth.

    The losses of chosen updates are multiplied by something when these are tried first.
    """

    def __init__(self, folder: Path, broken: Sequence[int] = (), breaks: Breaks = infinite, **config: Any) -> None:
        self.folder, self.broken, self.breaks = RunFolder(folder), list(broken), breaks
        values = {
            "batch": {"tokens_per_update": 60, "tokens_per_tensor": 60},
            "stop": {"updates": 30},
            "log_every": 1,
            "checkpoints": {"every": 5, "average": 0, "keep_last": 9},
        }
        self.config = train_config(**{**values, **config})
        self.computed: list[int] = []

    def train(self, state: TrainingState | None = None, stop: int = 0, returns: int = 0) -> Trainer:
        """Train, from a state or from the newest checkpoint on, until a signal comes behind update `stop`.

        That is before or, with `returns` = 1, after training went back.
        """
        checkpoint = newest_resumable(self.folder.checkpoints, pytest.fail) if state is None else None
        state = checkpoint.state if checkpoint else state or TrainingState()
        trainer = make_trainer(self.folder.path, self.config, random_pairs(120), state=state)
        if checkpoint is not None:
            trainer.parallel.take(read_tensors(checkpoint.folder / WEIGHTS))
            load_optimizer(trainer.optimizer, trainer.parallel, checkpoint.folder / OPTIMIZER)
        done = trainer.pace.update_done

        def update_done(progress: Progress) -> None:
            done(progress)
            if (trainer.state.update, trainer.state.returns) == (stop, returns):
                trainer.place.interruption.received = HANDLED[0]

        trainer.pace.update_done = update_done
        trainer.place.reporter.open(state, average_stands=False)
        try:
            with patch.object(Engine, "update", self._update()):
                trainer.train()
        except Interrupted:
            assert stop
        finally:
            trainer.place.reporter.close()
        return trainer

    def _update(self) -> Callable[..., Outcome]:
        def update(engine: Engine, parts: Sequence[Part], number: int, tokens: int, rate: float) -> Outcome:
            self.computed.append(number)
            outcome = engine.gradients(parts, number, tokens)
            if number in self.broken:
                self.broken.remove(number)
                outcome = outcome._replace(sums=outcome.sums * self.breaks(number))
            engine.step(outcome, rate)
            return outcome

        return update

    def updates(self) -> list[int]:
        return [int(path.name) for path in checkpoint_folders(self.folder.checkpoints)]

    def records(self) -> list[int]:
        return [json.loads(line)["update"] for line in self.folder.metrics.read_text().split("\n")[:-1]]


def passing_over(folder: Path) -> Trainer:
    """Return a training that knew before what not to compute."""
    return Run(folder).train(TrainingState(passed_from=PASSED[0], passed_to=PASSED[-1]))


def assert_same(one: Trainer, other: Trainer) -> None:
    for mine, its in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(mine, its)
        for name, tensor in one.optimizer.state[mine].items():
            assert torch.equal(tensor, other.optimizer.state[its][name])
    states = [{n: v for n, v in vars(t.state).items() if not n.endswith("seconds")} for t in (one, other)]
    assert {**states[0], "returns": 0} == {**states[1], "returns": 0}


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    """A training that diverges and is not interrupted."""
    return Run(tmp_path_factory.mktemp("straight"), TROUBLE).train()


def test_what_training_diverged_by_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It ends as a training that never computed those updates; their pairs and rates are past all the same."""
    run = Run(tmp_path / "run", TROUBLE)
    trainer = run.train()
    assert run.computed == [*range(1, 21), *range(11, 14), *range(21, 31)]
    assert_same(trainer, passing_over(tmp_path / "other"))
    assert (trainer.state.returns, trainer.state.skipped, trainer.state.update) == (1, len(PASSED), 30)
    assert run.updates() == [5, 10, 15, 20, 25, 30]
    assert run.records() == [*range(1, PASSED[0]), *range(21, 31)]
    said = capsys.readouterr().err
    assert (
        "update 20: 4 updates in a row had no finite gradient; going back, once, to the checkpoint of update 10. The "
        "updates 14 to 20 will be passed over\n"
    ) in said.replace("warning: ", "")
    assert said.count("is not finite; the weights stay as they are") == len(TROUBLE)


@pytest.mark.parametrize(
    ("stop", "returns"),
    [
        pytest.param(*when, marks=() if when in ((18, 0), (17, 1)) else pytest.mark.slow)
        for when in ((3, 0), (12, 0), (16, 0), (18, 0), (19, 0), (11, 1), (14, 1), (17, 1), (20, 1), (22, 1), (27, 1))
    ],
)
def test_whoever_is_interrupted_ends_alike(tmp_path: Path, straight: Trainer, stop: int, returns: int) -> None:
    """Before trouble and in it; on the way from the checkpoint that training went back to; and behind all that."""
    run = Run(tmp_path, TROUBLE)
    trainer = run.train(stop=stop, returns=returns)
    assert (trainer.state.update, trainer.state.returns) == (stop, returns)
    assert_same(run.train(), straight)
    assert run.records() == [*range(1, PASSED[0]), *range(21, 31)]


def test_a_rise_of_the_loss_is_a_divergence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The checkpoint of update 15, written while losses rise, is no way back."""
    run = Run(tmp_path, range(14, 21), rising)
    trainer = run.train()
    assert trainer.state.returns == 1
    assert trainer.state.passed_from in range(11, 15)
    assert trainer.state.passed_to in range(18, 21)
    said = capsys.readouterr().err
    assert "nats a token, lies more than train.guard = 2 above the lowest so far, " in said
    assert "going back, once, to the checkpoint of update 10. The updates " in said


@pytest.mark.slow
def test_without_a_guard_losses_may_rise(tmp_path: Path) -> None:
    assert Run(tmp_path, range(14, 21), rising, guard=0).train().state.returns == 0


@pytest.mark.slow
def test_a_second_divergence_ends_training(tmp_path: Path) -> None:
    """Whether it was the same process that went back or one before."""
    with pytest.raises(Diverged, match="update 27: 4 updates in a row had no finite gradient, so training has diver"):
        Run(tmp_path / "one", [*TROUBLE, *range(24, 28)]).train()
    run = Run(tmp_path / "two", [*TROUBLE, *range(24, 28)])
    run.train(stop=22, returns=1)
    with pytest.raises(Diverged, match="diverged again; lower the learning rate"):
        run.train()


@pytest.mark.parametrize(("every", "computed"), [(5, 20), pytest.param(12, 24, marks=pytest.mark.slow)])
def test_outcomes_that_are_read_late_lead_to_the_same_end(
    tmp_path: Path, straight: Trainer, monkeypatch: pytest.MonkeyPatch, every: int, computed: int
) -> None:
    """As on a GPU: trouble shows when the checkpoint behind it would be written, which then is not."""
    monkeypatch.setattr(Outcomes, "waits", property(lambda outcomes: len(outcomes._unread) >= 20))
    run = Run(tmp_path, TROUBLE, log_every=100, checkpoints={"every": every, "average": 0})
    trainer = run.train()
    begin = 12 if every == 12 else 10
    assert run.computed == [*range(1, computed + 1), *range(begin + 1, PASSED[0]), *range(21, 31)]
    assert_same(trainer, straight)


@pytest.mark.slow
def test_the_learning_rate_goes_on_by_its_count(tmp_path: Path) -> None:
    run = Run(tmp_path, TROUBLE, schedule={"kind": "inverse_sqrt", "peak": 0.01, "warmup": 4})
    rates: dict[int, float] = {}
    step = Engine.step

    def watch(engine: Engine, outcome: Outcome, rate: float) -> None:
        rates[run.computed[-1]] = rate
        step(engine, outcome, rate)

    with patch.object(Engine, "step", watch):
        run.train()
    assert rates[21] == pytest.approx(0.01 * (4 / 21) ** 0.5)


@pytest.mark.slow
def test_the_time_that_went_by_stays_gone(tmp_path: Path) -> None:
    run = Run(tmp_path, TROUBLE)
    seen = []
    go_back = Trainer._go_back

    def watch(trainer: Trainer, error: Diverged) -> None:
        before = trainer.state.seconds
        go_back(trainer, error)
        seen.append((before, trainer.state.seconds))

    with patch.object(Trainer, "_go_back", watch):
        run.train()
    ((before, after),) = seen
    assert after >= before
    assert read_state(run.folder.checkpoints / "00000010").state.seconds >= before
