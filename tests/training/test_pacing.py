"""What is due by the count of updates and by the clock; trainings whose clock the test moves."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from toy.training import make_trainer, random_pairs, train_config

from nmtkit.data.epochs import Progress
from nmtkit.log import Log
from nmtkit.metrics.base import Score
from nmtkit.run_folder import RunFolder
from nmtkit.training.checkpoints import newest_resumable, save_checkpoint, usable_checkpoints
from nmtkit.training.engine import Engine, Outcome
from nmtkit.training.pacing import Pace, checkpoint_is_due, validation_is_due
from nmtkit.training.settings import TrainConfig
from nmtkit.training.signals import HANDLED, Interrupted
from nmtkit.training.state import TrainingState
from nmtkit.training.stopping import is_finished, spent
from nmtkit.training.tensor_folder import read_json
from nmtkit.training.trainer import Trainer
from nmtkit.training.validation import Validation

UPDATES_ONLY = {"epochs": 0, "minutes": 0.0, "patience": 0}
MINUTES_ONLY = {"updates": 0, "epochs": 0, "patience": 0}

# When validations are due.


def validating(every: int, minutes: float = 0.0) -> TrainConfig:
    return train_config(validation={"every": every}, stop={"updates": 1_000, "minutes": minutes})


@pytest.mark.parametrize(("every", "update", "due"), [(4, 0, False), (4, 4, True), (4, 6, False), (0, 4, False)])
@pytest.mark.parametrize("minutes", [0.0, 100.0])
def test_validations_are_due_by_updates(every: int, update: int, minutes: float, *, due: bool) -> None:
    assert validation_is_due(validating(every, minutes), TrainingState(update=update)) is due


@pytest.mark.parametrize(("seconds", "due"), [(162.9, False), (163.1, True)])
def test_validations_leave_nine_parts_of_the_time_to_updates(seconds: float, *, due: bool) -> None:
    """The last one ended at 100 s and took 7 s; without a limit in minutes they come as they are asked for."""
    state = TrainingState(update=8, seconds=seconds, validated=4, validation_seconds=7.0, validated_seconds=100.0)
    assert validation_is_due(validating(4, minutes=100.0), state) is due
    assert validation_is_due(validating(4), state)


@pytest.mark.parametrize("every", [0, 1_000])
def test_one_validation_is_due_by_half_of_the_time(every: int) -> None:
    config = validating(every, minutes=20.0)
    assert not validation_is_due(config, TrainingState(update=7, seconds=599.0))
    assert validation_is_due(config, TrainingState(update=7, seconds=600.0))
    assert not validation_is_due(config, TrainingState(update=9, seconds=700.0, validated=7, validated_seconds=610.0))


# When checkpoints are due.


def regular(every: int, average: int, updates: int) -> list[int]:
    """Return the updates of the regular checkpoints of a run."""
    checkpoints = {"every": every, "average": average, "keep_last": 20}
    config = train_config(checkpoints=checkpoints, stop={"updates": updates, **UPDATES_ONLY})
    shares = [spent(config, TrainingState(update=update)) for update in range(updates + 1)]
    states = [TrainingState(update=update) for update in range(1, updates + 1)]
    return [state.update for state in states if checkpoint_is_due(config, state, shares[state.update - 1])]


@pytest.mark.parametrize(
    ("every", "average", "updates", "due"),
    [
        (1_000, 5, 1_500, [1_000, 1_425, 1_444, 1_463, 1_482, 1_500]),
        (1_000, 5, 1_000, [950, 963, 975, 988, 1_000]),
        (1_000, 5, 600, [570, 578, 585, 593, 600]),
        (600, 2, 2_000, [600, 1_200, 1_800, 1_900, 2_000]),
        # where `every` is short enough it alone counts
        (100, 5, 1_650, [*range(100, 1_650, 100)]),
        (500, 2, 2_000, [500, 1_000, 1_500, 2_000]),
        (1_000, 1, 1_500, [1_000]),
        (1_000, 0, 1_500, [1_000]),
        # an end that comes before there is room
        (4, 5, 8, [4, 8]),
        (1_000, 5, 3, [3]),
    ],
)
def test_what_is_averaged_lies_in_the_last_part_of_training(
    every: int, average: int, updates: int, due: list[int]
) -> None:
    assert regular(every, average, updates) == due


def test_without_an_end_in_sight_checkpoints_come_by_updates() -> None:
    config = train_config(checkpoints={"every": 10}, stop={"updates": 0, "patience": 3})
    assert [n for n in range(1, 31) if checkpoint_is_due(config, TrainingState(update=n), 0.0)] == [10, 20, 30]


# Trainings by a clock of their own.


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 5_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Iterator[Clock]:
    """The clock that training looks at."""
    clock = Clock()
    with (
        patch("nmtkit.training.group.Group.clock", lambda _: clock()),
        patch("nmtkit.training.checkpoint_writer.monotonic", clock),
        patch("nmtkit.training.reporting.draw_learning_curve"),
    ):
        yield clock


class SlowValidator:
    """A validator that takes some seconds each time; longer once `slow` is set."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.clock, self.seconds, self.slow = clock, seconds, 1.0
        self.ended: list[float] = []

    def rehearse(self) -> None:
        """Take long: it is no part of the time."""
        self.clock.now += 1_000

    def compute(self) -> str:
        self.clock.now += self.seconds * self.slow
        self.ended.append(self.clock.now)
        return "what it computed"

    def judge(self, shares: object) -> Validation:
        return Validation(1.0, Score("BLEU", 10.0 - len(self.ended), "13a", higher_is_better=True), translated=True)


class Run:
    """A training whose updates compute nothing and take as long as `seconds` says of their number."""

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        config: TrainConfig,
        *,
        seconds: Callable[[int], float] = lambda number: 1.0,
        validation: float = 5.0,
        saving: float = 0.5,
    ) -> None:
        self.folder, self.clock, self.config, self.seconds, self.saving = folder, clock, config, seconds, saving
        self.validator = SlowValidator(clock, validation)
        self.rates: list[float] = []
        self.signal_at = 0

    def trainer(self, state: TrainingState | None = None) -> Trainer:
        """Return a trainer that begins at a state."""
        validator: Any = self.validator
        return make_trainer(self.folder, self.config, random_pairs(200), validator=validator, state=state)

    def train(self, trainer: Trainer) -> str:
        """Train; `began` is then the time of the first update."""

        def update(engine: Engine, batches: object, number: int, tokens: int, rate: float) -> Outcome:
            if not self.rates:
                self.began = self.clock.now
            self.rates.append(rate)
            self.clock.now += self.seconds(number)
            if number == self.signal_at:
                trainer.place.interruption.received = HANDLED[0]
            return Outcome(torch.ones(2), torch.ones(()))

        def save(*arguments: Any, **named: Any) -> Path:
            self.clock.now += self.saving
            return save_checkpoint(*arguments, **named)

        write = trainer.writer.write

        def write_and_wait(*arguments: Any, **named: Any) -> None:
            write(*arguments, **named)
            trainer.writer.wait()  # one thread at a time moves the clock

        with (
            patch.object(Engine, "update", update),
            patch.object(trainer.writer, "write", write_and_wait),
            patch("nmtkit.training.checkpoint_writer.save_checkpoint", save),
        ):
            return trainer.train()

    @property
    def took(self) -> float:
        """The seconds since the first update."""
        return self.clock.now - self.began


def by_the_clock(minutes: float = 2.0, every: int = 1_000, **more: Any) -> TrainConfig:
    """Return settings of a training by minutes, with the schedule fitted to it."""
    values = {
        "stop": {**MINUTES_ONLY, "minutes": minutes},
        "schedule": {"kind": "wsd", "peak": 1.0},
        "validation": {"every": every},
        "checkpoints": {"every": 1_000, "average": 5},
    }
    return train_config(**{**values, **more})


@pytest.mark.parametrize("every", [0, 10, 1])
def test_everything_fits_into_the_minutes(tmp_path: Path, clock: Clock, every: int) -> None:
    """Validations of 5 s and checkpoints of 0.5 s beside updates of 0.5 s, whether validations are asked for or not."""
    run = Run(tmp_path, clock, by_the_clock(every=every), seconds=lambda number: 0.5)
    trainer = run.trainer()
    assert run.train(trainer) == "train.stop.minutes = 2"
    assert 116 < run.took <= 120
    assert trainer.state.validated == trainer.state.update
    assert trainer.state.seconds == pytest.approx(run.took)
    assert len(read_json(RunFolder(tmp_path).average)["updates"]) >= 3  # a validation takes as long as two are apart
    in_between = len(run.validator.ended) - 2
    assert in_between == {0: 1, 10: 2, 1: 3}[every]
    assert run.rates[-1] < 0.05
    assert max(run.rates) > 0.9


def test_a_validation_and_a_checkpoint_that_came_before_say_how_long_the_ending_takes(
    tmp_path: Path, clock: Clock
) -> None:
    """A checkpoint of 4 s and a validation of 5 s: what is kept is 1.1 · 2 · 9 + 4 s."""
    run = Run(tmp_path, clock, by_the_clock(), saving=4.0)
    trainer = run.trainer()
    run.train(trainer)
    assert run.took <= 120
    last_update = run.validator.ended[-2] - 5 - run.began
    assert 120 - (1.1 * 18 + 4) - 1 < last_update <= 120 - 1.1 * 18


def test_a_machine_that_becomes_busy_does_not_overrun_the_time(tmp_path: Path, clock: Clock) -> None:
    """From 80 s on all takes three times as long, so that no validation has shown what the last ones will take."""
    run = Run(tmp_path, clock, by_the_clock())

    def seconds(number: int) -> float:
        run.validator.slow = 3.0 if clock.now - run.began > 80 else 1.0
        return 0.1 * run.validator.slow

    run.seconds = seconds
    run.train(run.trainer())
    assert run.validator.slow == 3.0
    assert 110 < run.took <= 120


@pytest.mark.parametrize("number", [1_300, 1_950])
def test_an_update_that_was_held_up_says_little_of_those_to_come(tmp_path: Path, clock: Clock, number: int) -> None:
    """Updates of 0.5 s, and one of 100 s, as behind Ctrl-Z: training still uses its 20 minutes, the rate its curve."""

    def seconds(update: int) -> float:
        return 100.0 if update == number else 0.5

    run = Run(tmp_path, clock, by_the_clock(minutes=20.0), seconds=seconds, validation=10.0)
    run.train(run.trainer())
    assert 1_180 < run.took <= 1_200
    highest = run.rates.index(max(run.rates))
    assert run.rates[highest:] == sorted(run.rates[highest:], reverse=True)
    assert run.rates[-1] < 0.05


def test_a_training_longer_than_it_was_given_says_so(
    tmp_path: Path, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where validations take nearly all of the time, half of it is still for updates."""
    run = Run(tmp_path, clock, by_the_clock(), validation=100.0)
    run.train(run.trainer())
    assert len(run.rates) >= 60
    assert run.took < 120 + 2 * 100
    assert capsys.readouterr().err.count("training will end later than that; give more minutes") == 1


def test_a_finished_run_stays_finished(tmp_path: Path, clock: Clock) -> None:
    """Also where the last validation took less time than was kept for it."""
    run = Run(tmp_path, clock, by_the_clock())

    def seconds(number: int) -> float:
        run.validator.slow = 0.1 if clock.now - run.began > 100 else 1.0
        return 1.0

    run.seconds = seconds
    trainer = run.trainer()
    run.train(trainer)
    assert run.took < 115
    written = usable_checkpoints(trainer.place.run.checkpoints)[-1].state
    assert is_finished(trainer.place.run, run.config, written, validating=True) == "train.stop.minutes = 2"
    more = by_the_clock(minutes=3.0)
    assert is_finished(trainer.place.run, more, written, validating=True) is None


def test_without_development_set_the_time_is_kept_for_the_average_alone(tmp_path: Path, clock: Clock) -> None:
    run = Run(tmp_path, clock, by_the_clock())
    trainer = run.trainer()
    trainer.validator = None
    with patch.object(Trainer, "_validate", wraps=trainer._validate) as validate:
        run.train(trainer)
    assert validate.call_count == 1  # at the end, where it is asked without looking
    assert 118 < run.took <= 120


def test_averaged_are_checkpoints_of_the_last_twentieth(tmp_path: Path, clock: Clock) -> None:
    run = Run(tmp_path, clock, by_the_clock(minutes=10.0))
    run.train(run.trainer())
    averaged = read_json(RunFolder(tmp_path).average)["updates"]
    last = len(run.rates)
    assert averaged[-1] == last
    assert averaged[:4] == pytest.approx([last * share for share in (0.95, 0.9625, 0.975, 0.9875)], abs=4)


@pytest.mark.parametrize("signal_at", [60, 97])
def test_an_interrupted_training_goes_on_at_its_place_of_the_curve(
    tmp_path: Path, clock: Clock, signal_at: int
) -> None:
    """The process that goes on rehearses first, at a time far away: neither counts."""
    config = by_the_clock(minutes=0.0, stop={**MINUTES_ONLY, "minutes": 2.0, "epochs": 40})
    straight = Run(tmp_path / "straight", clock, config, saving=0.0)
    straight.train(straight.trainer())
    run = Run(tmp_path / "interrupted", clock, config, saving=0.0)
    run.signal_at = signal_at
    with pytest.raises(Interrupted):
        run.train(run.trainer())
    clock.now = 99_999.0
    checkpoint = newest_resumable(RunFolder(tmp_path / "interrupted").checkpoints, pytest.fail)
    assert checkpoint is not None
    assert checkpoint.update == signal_at
    run.train(run.trainer(checkpoint.state))
    assert run.rates == pytest.approx(straight.rates, rel=1e-6)
    averaged = [read_json(RunFolder(tmp_path / name).average)["updates"] for name in ("straight", "interrupted")]
    assert averaged[0] == averaged[1]


@pytest.mark.parametrize("stop", [{"updates": 12}, {"updates": 0, "epochs": 2}])
def test_by_updates_and_epochs_the_weights_are_those_of_a_training_without_interruption(
    tmp_path: Path, stop: dict[str, int]
) -> None:
    """With real updates, to the bit."""
    config = train_config(
        stop={**UPDATES_ONLY, **stop},
        schedule={"kind": "wsd", "peak": 0.05},
        checkpoints={"every": 1_000, "average": 5, "keep_last": 5},
    )
    straight = make_trainer(tmp_path / "straight", config, random_pairs(120))
    straight.train()
    first = make_trainer(tmp_path / "other", config, random_pairs(120))
    first.pace.update_done = _then(first.pace.update_done, lambda: _stop(first, behind=7))
    with pytest.raises(Interrupted):
        first.train()
    checkpoint = newest_resumable(first.place.run.checkpoints, pytest.fail)
    assert checkpoint is not None
    second = make_trainer(tmp_path / "other", config, random_pairs(120), model=first.model, state=checkpoint.state)
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    second.train()
    assert (second.state.update, second.state.passes) == (straight.state.update, straight.state.passes)
    for one, other in zip(second.model.parameters(), straight.model.parameters(), strict=True):
        assert torch.equal(one, other)
    names = [sorted(path.name for path in (tmp_path / run / "checkpoints").iterdir()) for run in ("straight", "other")]
    assert set(names[1]) - {"00000007"} == set(names[0])


def _then(done: Callable[[Progress], None], also: Callable[[], None]) -> Callable[[Progress], None]:
    def both(progress: Progress) -> None:
        done(progress)
        also()

    return both


def _stop(trainer: Trainer, behind: int) -> None:
    if trainer.state.update == behind:
        trainer.place.interruption.received = HANDLED[0]


def test_a_validation_that_was_cut_off_says_nothing_of_the_time_it_takes(clock: Clock) -> None:
    pace = Pace(by_the_clock(), TrainingState(update=10), Log("quiet"), clock)
    clock.now += 3
    pace.validation_done(ending=False)
    assert pace.state.validation_seconds == 0
    pace.state.validated = 10
    clock.now += 4
    pace.validation_done(ending=False)
    assert (pace.state.validation_seconds, pace.state.validated_seconds) == (4, 7)
    clock.now += 9
    pace.validation_done(ending=True)
    assert (pace.state.validation_seconds, pace.state.seconds) == (4, 16)


def test_it_is_said_where_validations_are_left_out(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    pace = Pace(by_the_clock(minutes=20.0, every=10), TrainingState(), Log(), clock)
    for update in range(1, 21):
        pace.state.update = update
        clock.now += 1
        pace.update_done(Progress(update / 100, 100))
        if update % 10 == 0:
            pace.state.validated = update
            clock.now += 5
            pace.validation_done(ending=False)
    assert capsys.readouterr().err == (
        "a validation takes 5 s, so they will come at least 50 s apart and not every 10 updates "
        "(train.validation.every), to leave train.stop.minutes = 20 for training\n"
    )
