"""The trainer: from packed pairs to weights, in the order in which things happen.

An update is its tensors one after another: loss summed, divided by the target tokens of the whole update,
gradients added up; then norm, rate, step. After it: validation, checkpoint, and the limits that end training.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import torch
from torch.optim import Optimizer

from nmtkit.data.batch import make_batch
from nmtkit.data.batching import PlanSummary
from nmtkit.data.epochs import Progress
from nmtkit.data.position import PositionError
from nmtkit.errors import CheckpointError, NmtkitError
from nmtkit.kernels.library import Kernels
from nmtkit.log import Log
from nmtkit.models.base import Model
from nmtkit.run_folder import RunFolder
from nmtkit.training.averaging import choose_last, mean_weights, write_average
from nmtkit.training.checkpoints import copy_weights, prune, save_checkpoint, save_score
from nmtkit.training.engine import Engine, Outcome
from nmtkit.training.feeding import Feed, Material, feeds
from nmtkit.training.pacing import Pace
from nmtkit.training.precision import Precision
from nmtkit.training.reporting import Reporter, UpdateResult
from nmtkit.training.settings import TrainConfig
from nmtkit.training.signals import Abandoned, Interrupted, Interruption
from nmtkit.training.state import Origin, TrainingState
from nmtkit.training.tensor_folder import WEIGHTS
from nmtkit.training.validation import Validator

T = TypeVar("T")

MOST_SKIPPED = 10
"""Updates in a row without a finite gradient that end training."""

MOST_UNREAD = 20
"""Updates that a GPU may be behind with: it is told of the next ones before anybody asks what the last ones did."""


class Workplace(NamedTuple):
    """Where training computes and writes, and whom it tells."""

    run: RunFolder
    device: torch.device
    precision: Precision
    log: Log
    reporter: Reporter
    interruption: Interruption
    kernels: Kernels | None = None


class Learner(NamedTuple):
    """A model with its optimizer, and the width that its learning rate may depend on."""

    model: Model
    optimizer: Optimizer
    width: int


class _Unread(NamedTuple):
    """An update whose outcome nobody has read yet."""

    number: int
    outcome: Outcome
    cost: PlanSummary
    rate: float
    progress: Progress


class Trainer:
    """Trains a model on packed pairs, from a state on."""

    def __init__(
        self,
        learner: Learner,
        material: Material,
        validator: Validator | None,
        config: TrainConfig,
        *,
        state: TrainingState,
        origin: Origin,
        place: Workplace,
    ) -> None:
        self.model, self.optimizer, self.width = learner
        self.engine = Engine(self.model, self.optimizer, config, place.precision, place.device, place.kernels)
        if self.engine.loss_scale is not None:
            self.engine.loss_scale.load(state.loss_scale, state.calm)
        self.material = material
        self.validator, self.config = validator, config
        self.state, self.origin, self.place = state, origin, place
        self.pace = Pace(config, state, place.log)
        self._unread: list[_Unread] = []

    def train(self) -> str:
        """Train until a limit is reached and return which; the average is then made and everything written.

        Raises Interrupted, with a checkpoint written, after a signal; NmtkitError where training diverges or the GPU's
        memory is too small.
        """
        self.model.train()
        try:
            self._prepare()
            ending = self.pace.ending
            feed = feeds(self.material, self.state.position, self.place.device)
            while ending is None:
                self._update(next(feed))
                ending = self._after_update()
            del feed  # what makes batches ahead ends here
            self._finish()
        except torch.cuda.OutOfMemoryError as error:
            raise NmtkitError(
                f"behind update {self.state.update:,}: the GPU's memory is too small ({str(error).splitlines()[0]}); "
                f"lower train.batch.tokens_per_tensor (now {self.config.batch.tokens_per_tensor}; the update stays the "
                "same) or translate.batch_tokens"
            ) from error
        return ending

    def _prepare(self) -> None:
        """See that the largest tensors and a validation go through, then make up for a validation that was cut off."""
        self._rehearse()
        if self.validator is not None:
            self._attempt(self.validator.rehearse)
            self._stop_if_asked()
        self.pace.start()
        if self._validation_is_due() and self.state.validated < self.state.update:
            self._validate_late()
            self.pace.validation_done(ending=False)
        self.place.reporter.begin_updates()

    def _rehearse(self) -> None:
        """Compute the largest tensors: what does not fit into memory shows before the first update."""
        try:
            largest = self.material.batches.largest(self.state.position)
        except PositionError as error:
            raise CheckpointError(
                f"{self.place.run.checkpoints}: the newest checkpoint does not fit the training pairs ({error}): "
                "another version of nmtkit wrote it; go back to that version, or train into another folder with --run"
            ) from error
        self.engine.gradients((make_batch(self.material.pairs, t) for t in largest), number=0, tokens=1)
        self.engine.forget()

    def _update(self, feed: Feed) -> None:
        """Compute an update and move the state behind it."""
        state, (step, batches, cost) = self.state, feed
        number, rate = state.update + 1, self.pace.rate(self.width, step.progress)
        outcome = self.engine.update(batches, number, cost.target_tokens, rate)
        self._unread.append(_Unread(number, outcome, cost, rate, step.progress))
        state.update = number
        state.position = step.behind
        state.pairs += cost.pairs
        self.pace.update_done(step.progress)

    def _read_outcomes(self) -> None:
        """Read what updates did and report it. Raises NmtkitError where too many in a row could not be applied."""
        unread, self._unread = self._unread, []
        for number, outcome, cost, rate, progress in unread:
            total, nll, norm = outcome.read()
            result = UpdateResult(total, nll, cost, norm, rate)
            if result.finite:
                self.state.skipped_in_a_row = 0
            else:
                self._count_skipped(number, result)
            self.place.reporter.update(result, self.state, progress, number)
        if unread and self.engine.loss_scale is not None:
            self.state.loss_scale, self.state.calm = self.engine.loss_scale.read()

    def _count_skipped(self, number: int, result: UpdateResult) -> None:
        state = self.state
        state.skipped += 1
        state.skipped_in_a_row += 1
        self.place.log.warn(
            f"update {number:,}: the loss ({result.total:g}) or the norm of the gradient "
            f"({result.gradient_norm:g}) is not finite; the weights stay as they are"
        )
        if state.skipped_in_a_row >= MOST_SKIPPED:
            raise NmtkitError(
                f"update {number:,}: {MOST_SKIPPED} updates in a row had no finite gradient, so training has "
                "diverged; lower the learning rate (train.schedule) or lengthen its warmup, set train.clip_norm = 1.0, "
                'or try train.precision = "fp32", and train anew'
            )

    def _after_update(self) -> str | None:
        """Validate and write a checkpoint where due; return the limit that ends training, if one does."""
        ending, best = self.pace.ending, False
        if self._reading_is_due():
            self._read_outcomes()
        if ending or self._validation_is_due():
            best = self._validate()
            self.pace.validation_done(ending=ending is not None)
            ending = ending or self.pace.ending
        asked = self.place.interruption.received is not None
        if ending or asked or self._checkpoint_is_due() or (best and self.config.checkpoints.keep_best):
            self._save()
        if asked:  # and not by a signal since, behind which no checkpoint may have been written
            self._stop_if_asked()
        return ending

    def _reading_is_due(self) -> bool:
        """Tell whether to wait for the device: a CPU is never waited for; a GPU works on while the next is launched."""
        return (
            self.place.device.type == "cpu"
            or len(self._unread) >= MOST_UNREAD
            or self.state.update % self.config.log_every == 0
        )

    def _validation_is_due(self) -> bool:
        return self.validator is not None and self.pace.validation_is_due

    def _checkpoint_is_due(self) -> bool:
        return self.pace.checkpoint_is_due

    def _validate(self) -> bool:
        """Validate the weights as they are; return whether they are the best so far. A signal cuts it off."""
        self._read_outcomes()
        if self.validator is None:
            return False
        self.place.reporter.begin_validation()
        validation = self._attempt(self.validator)
        if validation is None:
            return False
        best = self.state.record_score(validation.score, counts=self._validation_is_due())
        self.pace.tick()
        self.place.reporter.validation(validation, self.state, best=best)
        self.place.reporter.draw_curve()
        self.place.reporter.begin_updates()
        return best

    def _validate_late(self) -> None:
        """Validate a checkpoint that a signal left without its score, and write the score into it."""
        self._validate()
        self._stop_if_asked()
        save_score(self.place.run.checkpoints, self.state, self.origin)

    def _attempt(self, work: Callable[[], T]) -> T | None:
        """Do work that a signal may cut off, and return what it returns; None, where `_stop_if_asked` must follow."""
        try:
            with self.place.interruption.abandoning():
                return work()
        except Abandoned:
            return None

    def _stop_if_asked(self) -> None:
        received = self.place.interruption.received
        if received is not None:
            stands = f"behind update {self.state.update:,}; the same command goes on from there"
            raise Interrupted(f"stopped by {received.name} {stands}", received)

    def _save(self) -> None:
        """Write a checkpoint of the state and delete those not to be kept."""
        self._read_outcomes()
        folder, regular = self.place.run.checkpoints, self._checkpoint_is_due()
        written = save_checkpoint(folder, self.model, self.optimizer, self.state, self.origin, regular=regular)
        self.place.log.detail(f"checkpoint written: {written}")
        prune(folder, self.config.checkpoints, self.state.update)
        self.pace.checkpoint_done()
        self.place.reporter.begin_updates()

    def _finish(self) -> None:
        """Validate where that was cut off, average the newest checkpoints and validate the average."""
        if self.validator is not None and self.state.validated < self.state.update:
            self._validate_late()
        run = self.place.run
        prune(run.checkpoints, self.config.checkpoints, self.state.update)  # a kill may have come before that
        if self.config.checkpoints.average == 0:
            return
        chosen = choose_last(run, self.config.checkpoints.average, self.place.log.warn)
        means = mean_weights([checkpoint.folder / WEIGHTS for checkpoint in chosen])
        copy_weights(self.model, means)
        validation = None
        if self.validator is not None:
            self.place.reporter.begin_validation()
            validation = self._attempt(self.validator)
            self._stop_if_asked()
        # The record first: once the average stands, the run counts as finished and nothing more is written.
        self.place.reporter.average(validation, [checkpoint.update for checkpoint in chosen], self.state)
        self.place.reporter.draw_curve()
        write_average(run, chosen, means, validation.score if validation else None)
        self.pace.tick()
