"""The trainer: from packed pairs to weights, in the order in which things happen.

An update is its tensors one after another: loss summed, divided by the target tokens of the whole update,
gradients added up; then norm, rate, step. After it: validation, checkpoint, and the limits that end training.
"""

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer

from nmtkit.data.batch import Batch, cost_of, make_batch
from nmtkit.data.batching import summarize
from nmtkit.data.epochs import Batches, Step
from nmtkit.data.position import Position, PositionError
from nmtkit.data.resegmenting import Resegmenter
from nmtkit.data.store import PairStore
from nmtkit.data.tensors import Indexes
from nmtkit.errors import CheckpointError, NmtkitError
from nmtkit.log import Log
from nmtkit.models.base import Model
from nmtkit.run_folder import RunFolder
from nmtkit.training.averaging import choose_last, mean_weights, write_average
from nmtkit.training.checkpoints import copy_weights, prune, save_checkpoint, save_score
from nmtkit.training.precision import Precision, autocast
from nmtkit.training.reporting import Reporter, UpdateResult
from nmtkit.training.settings import TrainConfig
from nmtkit.training.signals import Abandoned, Interrupted, Interruption
from nmtkit.training.state import Origin, TrainingState
from nmtkit.training.stopping import limit_reached
from nmtkit.training.tensor_folder import WEIGHTS
from nmtkit.training.validation import Validator

T = TypeVar("T")

MOST_SKIPPED = 10
"""Updates in a row without a finite gradient that end training."""


class Workplace(NamedTuple):
    """Where training computes and writes, and whom it tells."""

    run: RunFolder
    device: torch.device
    precision: Precision
    log: Log
    reporter: Reporter
    interruption: Interruption


class Learner(NamedTuple):
    """A model with its optimizer, and the width that its learning rate may depend on."""

    model: Model
    optimizer: Optimizer
    width: int


class Material(NamedTuple):
    """What is learned from: packed pairs, how they are dealt out, and what draws their pieces anew, if anything."""

    pairs: PairStore
    batches: Batches
    resegment: Resegmenter | None = None


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
        self.pairs, self.batches, self.resegment = material
        self.validator, self.config = validator, config
        self.state, self.origin, self.place = state, origin, place
        self._started = time.monotonic() - state.seconds

    def train(self) -> str:
        """Train until a limit is reached and return which; the average is then made and everything written.

        Raises Interrupted, with a checkpoint written, after a signal; NmtkitError where training diverges or the GPU's
        memory is too small.
        """
        self.model.train()
        try:
            self._prepare()
            ending = limit_reached(self.config.stop, self.state)
            steps = self.batches.steps(self.state.position)
            while ending is None:
                self._update(next(steps))
                ending = self._after_update()
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
            if self._validation_is_due() and self.state.validated < self.state.update:
                self._validate_late()
        self.place.reporter.begin_updates()

    def _rehearse(self) -> None:
        """Compute the largest tensors: what does not fit into memory shows before the first update."""
        try:
            largest = self.batches.largest(self.state.position)
        except PositionError as error:
            raise CheckpointError(
                f"{self.place.run.checkpoints}: the newest checkpoint does not fit the training pairs ({error}): "
                "another version of nmtkit wrote it; go back to that version, or train into another folder with --run"
            ) from error
        self._backward((make_batch(self.pairs, tensor) for tensor in largest), number=0, tokens=1)
        self.optimizer.zero_grad(set_to_none=True)

    def _update(self, step: Step) -> None:
        """Feed one update to the model and move the state behind it."""
        number, update = self.state.update + 1, step.update
        cost = summarize([update], self.pairs.source.lengths, self.pairs.target.lengths)
        batches: Iterable[Batch] = (self._batch(tensor) for tensor in update.tensors)
        if self.resegment is not None:
            batches = list(batches)
            cost = cost_of(batches)
        total, nll = self._backward(batches, number, cost.target_tokens)
        norm = gradient_norm(self.model)
        rate = self.config.schedule.rate(number, self.width)
        result = UpdateResult(total, nll, cost, norm, rate)
        if result.finite:
            if self.config.clip_norm and norm > self.config.clip_norm:
                scale_gradients(self.model, self.config.clip_norm / norm)
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self._advance(result, step.behind)
        self.place.reporter.update(result, self.state, step.progress)

    def _batch(self, tensor: Indexes) -> Batch:
        return make_batch(self.pairs, tensor, self.resegment, self.state.epoch)

    def _backward(self, batches: Iterable[Batch], number: int, tokens: int) -> tuple[float, float]:
        """Add up the gradients of the loss per token; return the summed loss and its unsmoothed part, in nats."""
        device = self.place.device
        sums = torch.zeros(2, device=device)
        for index, batch in enumerate(batches):
            torch.manual_seed(tensor_seed(self.config.seed, number, index))
            with autocast(self.place.precision, device):
                loss = self.model(batch.to(device), self.config.label_smoothing)
            (loss.total / tokens).backward()
            sums += torch.stack((loss.total.detach(), loss.nll.detach()))
        total, nll = sums.tolist()
        return total, nll

    def _advance(self, result: UpdateResult, behind: Position) -> None:
        """Move the state behind an update. Raises NmtkitError where too many in a row could not be applied."""
        state = self.state
        state.update += 1
        state.position = behind
        state.pairs += result.cost.pairs
        state.seconds = time.monotonic() - self._started
        if result.finite:
            state.skipped_in_a_row = 0
            return
        state.skipped += 1
        state.skipped_in_a_row += 1
        self.place.log.warn(
            f"update {state.update:,}: the loss ({result.total:g}) or the norm of the gradient "
            f"({result.gradient_norm:g}) is not finite; the weights stay as they are"
        )
        if state.skipped_in_a_row >= MOST_SKIPPED:
            raise NmtkitError(
                f"update {state.update:,}: {MOST_SKIPPED} updates in a row had no finite gradient, so training has "
                "diverged; lower the learning rate (train.schedule) or lengthen its warmup, set train.clip_norm = 1.0, "
                'or try train.precision = "fp32", and train anew'
            )

    def _after_update(self) -> str | None:
        """Validate and write a checkpoint where due; return the limit that ends training, if one does."""
        stop, state = self.config.stop, self.state
        ending, best = limit_reached(stop, state), False
        if ending or self._validation_is_due():
            best = self._validate()
            ending = ending or limit_reached(stop, state)
        asked = self.place.interruption.received is not None
        if ending or asked or self._checkpoint_is_due() or (best and self.config.checkpoints.keep_best):
            self._save()
        if asked:  # and not by a signal since, behind which no checkpoint may have been written
            self._stop_if_asked()
        return ending

    def _validation_is_due(self) -> bool:
        every = self.config.validation.every
        return every > 0 and self.state.update > 0 and self.state.update % every == 0

    def _checkpoint_is_due(self) -> bool:
        return self.state.update % self.config.checkpoints.every == 0

    def _validate(self) -> bool:
        """Validate the weights as they are; return whether they are the best so far. A signal cuts it off."""
        if self.validator is None:
            return False
        self.place.reporter.begin_validation()
        validation = self._attempt(self.validator)
        if validation is None:
            return False
        best = self.state.record_score(validation.score, counts=self._validation_is_due())
        self.state.seconds = time.monotonic() - self._started
        self.place.reporter.validation(validation, self.state, best=best)
        self.place.reporter.draw_curve()
        self.place.reporter.begin_updates()
        return best

    def _validate_late(self) -> None:
        """Validate a checkpoint that a signal left without its score, and write the score into it."""
        self._validate()
        self._stop_if_asked()
        save_score(self.place.run.checkpoints, self.state, self.origin, regular=self._checkpoint_is_due())

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
        folder, regular = self.place.run.checkpoints, self._checkpoint_is_due()
        written = save_checkpoint(folder, self.model, self.optimizer, self.state, self.origin, regular=regular)
        self.place.log.detail(f"checkpoint written: {written}")
        prune(folder, self.config.checkpoints, self.state.update)
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


def tensor_seed(seed: int, update: int, tensor: int, rank: int = 0) -> int:
    """Return the seed of the dropout of one tensor: a mix of 64 bits in which no two tensors of a run are alike."""
    return int(np.random.SeedSequence((seed, update, tensor, rank)).generate_state(1, np.uint64)[0]) >> 1


def gradient_norm(model: nn.Module) -> float:
    """Return the Euclidean norm of all gradients together, not finite where one of them is not."""
    norms = [torch.linalg.vector_norm(p.grad) for p in model.parameters() if p.grad is not None]
    return float(torch.linalg.vector_norm(torch.stack(norms)))


def scale_gradients(model: nn.Module, factor: float) -> None:
    """Multiply all gradients by a factor."""
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter.grad.mul_(factor)
