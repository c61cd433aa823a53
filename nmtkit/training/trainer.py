"""The trainer: from packed pairs to weights, in the order in which things happen.

An update is its tensors one after another: loss summed, divided by the target tokens of the whole update,
gradients added up; then norm, rate, step. After it: validation, checkpoint, and the limits that end training.
Where several processes train, each goes through the same: what it decides follows from what all have agreed on.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

import torch

from nmtkit.data.batch import Part, make_batch
from nmtkit.data.batching import PlanSummary
from nmtkit.data.position import PositionError
from nmtkit.errors import CheckpointError, NmtkitError
from nmtkit.training.averaging import choose_last, mean_weights, write_average
from nmtkit.training.checkpoint_writer import CheckpointWriter
from nmtkit.training.checkpoints import (
    average_is_current,
    load_optimizer,
    prune,
    save_score,
    training_tensors,
)
from nmtkit.training.compiling import rehearse
from nmtkit.training.engine import Engine, is_too_large
from nmtkit.training.feeding import Feed, Material, Reader, feeds
from nmtkit.training.guard import Diverged, Guard, passes_over
from nmtkit.training.outcomes import Outcomes, Unread
from nmtkit.training.pacing import Pace
from nmtkit.training.parallel import copy_weights
from nmtkit.training.recovery import go_back
from nmtkit.training.settings import TrainConfig
from nmtkit.training.signals import Abandoned, Interrupted
from nmtkit.training.state import Origin, TrainingState
from nmtkit.training.tensor_folder import OPTIMIZER, WEIGHTS, read_tensors
from nmtkit.training.validation import Validation, Validator
from nmtkit.training.workplace import Learner, Workplace

T = TypeVar("T")


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
        self.parallel, self.optimizer, self.width = learner
        self.model, self.group = self.parallel.model, place.group
        self.engine = Engine(
            self.parallel, self.optimizer, config, place.precision, place.device, place.kernels, self.group
        )
        self.engine.warn = place.log.warn
        if self.engine.loss_scale is not None:
            self.engine.loss_scale.load(state.loss_scale, state.calm)
        self.material = material
        self.validator, self.config = validator, config
        self.state, self.origin, self.place = state, origin, place
        self.pace = Pace(config, state, place.log, self.group.clock)
        self.outcomes = Outcomes(Guard(config.guard), place, self.engine.loss_scale)
        keep, seconds = config.checkpoints, state.checkpoint_seconds
        self.writer = CheckpointWriter(place.run.checkpoints, keep, place.log, seconds=seconds)

    def train(self) -> str:
        """Train until a limit is reached and return which; the average is then made and everything written.

        Raises Interrupted, with a checkpoint written, after a signal; NmtkitError where training diverges for good or
        the memory is too small. However it ends, the checkpoint that is being written is finished first.
        """
        self.model.train()
        try:
            with self.writer:
                self._prepare()
                ending = self.pace.ending
                self._feed = self._feeds()
                while ending is None:
                    ending = self._step()
                del self._feed  # what makes batches ahead ends here
                self._finish(ending)
        except (torch.cuda.OutOfMemoryError, RuntimeError) as error:
            if not is_too_large(error):
                raise
            raise NmtkitError(
                f"behind update {self.state.update:,}: the memory is too small ({str(error).splitlines()[0]}); "
                f"lower train.batch.tokens_per_tensor (now {self.config.batch.tokens_per_tensor}; the update stays the "
                "same) or translate.batch_tokens"
            ) from error
        return ending

    def _prepare(self) -> None:
        """See that the largest tensors and a validation go through, then make up for a validation that was cut off."""
        self._rehearse()
        if self.validator is not None:
            with self.parallel.whole():
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
            largest = self.material.batches.largest(self.state.position, self.group.ranks)
        except PositionError as error:
            raise CheckpointError(
                f"{self.place.run.checkpoints}: the newest checkpoint does not fit the training pairs ({error}): "
                "another version of nmtkit wrote it; go back to that version, or train into another folder with --run"
            ) from error
        pairs, _, resegment = self.material
        parts = [Part(make_batch(pairs, places, resegment), number, 0) for number, places in enumerate(largest)]
        rehearse(self.model, lambda: self.engine.gradients(parts, number=0, tokens=1), self.place.log.warn)
        self.parallel.forget()

    def _feeds(self) -> Iterator[Feed]:
        """Return the updates that come next, with what this process computes of them."""
        reader = Reader(self.place.device, self.group.rank, self.group.ranks, self.parallel.in_step)
        return feeds(self.material, self.state.position, reader)

    def _step(self) -> str | None:
        """Take an update and all that follows it; return the limit that ends training, if one does."""
        try:
            self._update(next(self._feed))
            return self._after_update()
        except Diverged as error:
            self._go_back(error)
            return self.pace.ending

    def _update(self, feed: Feed) -> None:
        """Compute an update, unless it is passed over, and move the state behind it."""
        state, (step, parts, cost) = self.state, feed
        if self.material.resegment is not None:
            cost = PlanSummary(*map(int, self.group.add(*cost)))._replace(updates=1)
        number, rate = state.update + 1, self.pace.rate(self.width, step.progress)
        passed = passes_over(state, number)
        outcome = None if passed else self.engine.update(parts, number, cost.target_tokens, rate)
        self.group.moved(number)
        self.outcomes.add(Unread(number, outcome, cost, rate, step.progress))
        state.update = number
        state.position = step.behind
        state.count(cost)
        self.pace.update_done(step.progress)

    def _go_back(self, error: Diverged) -> None:
        """Go on from the last good checkpoint, as a resume from there would. Raises the error where there is none."""
        run, log = self.place.run, self.place.log
        self.pace.tick()
        self.group.lead(self.writer.wait)
        good = self.group.lead(lambda: go_back(run.checkpoints, self.state, error, log.warn))
        self.state.become(good.state)
        self.parallel.take(read_tensors(good.folder / WEIGHTS))
        load_optimizer(self.optimizer, self.parallel, good.folder / OPTIMIZER)
        if self.engine.loss_scale is not None:
            self.engine.loss_scale.load(self.state.loss_scale, self.state.calm)
        self.pace.went_back()
        self._feed = self._feeds()
        log.warn(
            f"update {error.number:,}: {error.what}; going back, once, to the checkpoint of update {good.update:,}. "
            f"The updates {self.state.passed_from:,} to {self.state.passed_to:,} will be passed over"
        )
        self.place.reporter.close()
        self.place.reporter.open(self.state, average_stands=average_is_current(run, good.update))

    def _after_update(self) -> str | None:
        """Validate and write a checkpoint where due; return the limit that ends training, if one does."""
        ending, best = self.pace.ending, False
        if self.outcomes.waits or self.state.update % self.config.log_every == 0:
            self.outcomes.read(self.state)
        if ending or self._validation_is_due():
            best = self._validate()
            self.pace.validation_done(ending=ending is not None)
            ending = ending or self.pace.ending
        asked = self._asked()
        saving = ending or asked or self._checkpoint_is_due() or (best and self.config.checkpoints.keep_best)
        if saving or self.state.validated == self.state.update:
            self.outcomes.read(self.state)
            self.place.write_card(self.state, ending)
        if saving:
            self._save()
        if asked:  # and not by a signal since, behind which no checkpoint may have been written
            self._stop()
        return ending

    def _validation_is_due(self) -> bool:
        return self.validator is not None and self.pace.validation_is_due

    def _checkpoint_is_due(self) -> bool:
        return self.pace.checkpoint_is_due

    def _validate(self) -> bool:
        """Validate the weights as they are; return whether they are the best so far. A signal cuts it off."""
        self.outcomes.read(self.state)
        if self.validator is None:
            return False
        self.place.reporter.begin_validation()
        validation = self._validation(self.validator)
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
        self.place.write_card(self.state, self.pace.ending)
        self.group.lead(lambda: save_score(self.place.run.checkpoints, self.state, self.origin))

    def _validation(self, validator: Validator) -> Validation | None:
        """Return what the development set says of the weights as they are; None where a signal cut that off."""
        with self.parallel.whole():
            own = self._attempt(validator.compute)
        shares = [share for share in self.group.gather(own) if share is not None]
        return self.group.lead(lambda: validator.judge(shares)) if len(shares) == self.group.ranks else None

    def _attempt(self, work: Callable[[], T]) -> T | None:
        """Do work that a signal may cut off, and return what it returns; None, where `_stop_if_asked` must follow."""
        try:
            with self.place.interruption.abandoning():
                return work()
        except Abandoned:
            return None

    def _asked(self) -> bool:
        """Tell whether any process was sent a signal; agree on what checkpoints take, too. Raises why one failed."""
        received, broken = self.place.interruption.received is not None, self.writer.look()
        seconds = self.writer.seconds if self.group.leads else 0.0
        asked, failed, self.state.checkpoint_seconds = self.group.add(received, broken, seconds)
        if failed:
            self.group.lead(self.writer.wait)
        return asked > 0

    def _stop_if_asked(self) -> None:
        if self._asked():
            self._stop()

    def _stop(self) -> None:
        self.group.lead(self.writer.wait)
        received = next(filter(None, self.group.gather(self.place.interruption.received)))
        stands = f"behind update {self.state.update:,}; the same command goes on from there"
        raise Interrupted(f"stopped by {received.name} {stands}", received)

    def _save(self) -> None:
        """Let a checkpoint of the state be written, and those not to be kept be deleted."""
        if not self.parallel.agrees():
            raise NmtkitError(
                f"behind update {self.state.update:,}: the processes hold different weights, so one of them has "
                "computed wrongly; no checkpoint is written. Check the machines, and go on from the checkpoint before "
                "by the same command"
            )
        tensors, regular = training_tensors(self.parallel, self.optimizer), self._checkpoint_is_due()
        self.group.lead(lambda: self.writer.write(tensors, self.state, self.origin, regular=regular))
        self.pace.checkpoint_begun()
        self.place.reporter.begin_updates()

    def _finish(self, ending: str) -> None:
        """Validate where that was cut off, average the newest checkpoints and validate the average."""
        self.group.lead(self.writer.wait)
        if self.validator is not None and self.state.validated < self.state.update:
            self._validate_late()
        run, keep = self.place.run, self.config.checkpoints
        self.group.lead(lambda: prune(run.checkpoints, keep, self.state.update, ended=True))
        if keep.average == 0:
            return
        chosen = self.group.lead(lambda: choose_last(run, keep.average, self.place.log.warn))
        means = mean_weights([checkpoint.folder / WEIGHTS for checkpoint in chosen])
        validation = None
        with self.parallel.whole():
            copy_weights(self.model, means)
            if self.validator is not None:
                self.place.reporter.begin_validation()
                validation = self._validation(self.validator)
                self._stop_if_asked()
        # Record and run card first: once the average stands, the run counts as finished and nothing more is written.
        self.place.reporter.average(validation, [checkpoint.update for checkpoint in chosen], self.state)
        self.place.reporter.draw_curve()
        self.pace.tick()
        self.place.write_card(self.state, ending)
        self.group.lead(lambda: write_average(run, chosen, means, validation.score if validation else None))
        self.pace.tick()
