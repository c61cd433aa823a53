"""The engine: computes updates. Gradients are summed over tensors and processes, then the optimizer takes a step.

Nothing here waits for the device: what an update did stays there until somebody reads it, and whether its gradient is
fit to be applied is decided there too.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from nmtkit.data.batch import Part
from nmtkit.errors import NmtkitError
from nmtkit.kernels.library import Kernels, using
from nmtkit.kernels.masks import behind
from nmtkit.training.group import Group
from nmtkit.training.parallel import Whole
from nmtkit.training.precision import LossScale, Precision, autocast
from nmtkit.training.settings import TrainConfig

NO_MEMORY = "can't allocate memory"
"""How torch, which has no exception for it, says that the CPU's memory is too small."""


class Outcome(NamedTuple):
    """What an update did, on the device: the losses summed over its target tokens in nats, and the gradient's norm."""

    sums: Tensor
    """(2,) float32: what was minimised, and the plain negative log-likelihood."""
    norm: Tensor
    """Scalar: the Euclidean norm of the gradient of the loss per token, before clipping."""

    def read(self) -> tuple[float, float, float]:
        """Return loss, plain loss and norm; waits for the device."""
        total, nll, norm = torch.cat((self.sums, self.norm[None])).tolist()
        return total, nll, norm


class Engine:
    """A model, its optimizer, and how an update is computed with them by all processes of a group."""

    def __init__(
        self,
        parallel: Whole,
        optimizer: Optimizer,
        config: TrainConfig,
        precision: Precision,
        device: torch.device,
        kernels: Kernels | None = None,
        group: Group | None = None,
    ) -> None:
        self.parallel, self.optimizer, self.config = parallel, optimizer, config
        self.precision, self.device, self.kernels = precision, device, kernels
        self.group = Group() if group is None else group
        self.loss_scale = LossScale(device) if precision == "fp16" else None
        self.pieces = 1
        """What tensors are cut into, since the memory was too small for them."""
        self.warn: Callable[[str], None] = lambda _: None
        """Takes what the user should see."""

    def update(self, parts: Sequence[Part], number: int, tokens: int, rate: float) -> Outcome:
        """Compute this process's parts of update `number`, and with the others the update; apply it if it is finite.

        `tokens` are the target tokens of the whole update, `rate` is the learning rate. Raises NmtkitError where the
        memory is too small for a single sentence.
        """
        outcome = self.gradients(parts, number, tokens)
        self.step(outcome, rate)
        return outcome

    def gradients(self, parts: Sequence[Part], number: int, tokens: int) -> Outcome:
        """Add up the gradients of the loss per token, and its sums, over parts and processes."""
        scale = 1.0 if self.loss_scale is None else self.loss_scale.value
        while True:
            sums = torch.zeros(2, device=self.device)
            fits = self._accumulate(parts, number, scale * (self.parallel.gain / tokens), sums)
            if not self.parallel.sum_gradients(sums, useless=not fits):
                break
            self._cut_finer(parts, number)
        return Outcome(sums, self.parallel.norm() / scale)

    def _accumulate(self, parts: Sequence[Part], number: int, scale: Tensor | float, sums: Tensor) -> bool:
        """Add up the gradients of `scale` times the loss, and its sums, over parts; tell whether memory suffices."""
        self.parallel.begin()
        pieces = [piece for part in parts for piece in part.cut(self.pieces)]
        try:
            for piece in pieces:
                self.parallel.last(piece is pieces[-1])
                self._add(piece, number, scale, sums)
        except (torch.cuda.OutOfMemoryError, RuntimeError) as error:
            if self.parallel.in_step or not is_too_large(error):
                raise
            return False
        return True

    def _add(self, part: Part, number: int, scale: Tensor | float, sums: Tensor) -> None:
        """Add the gradients of a part, and its losses to the sums."""
        seed = tensor_seed(self.config.seed, number, part.tensor)
        torch.manual_seed(seed)
        if self.device.type == "cuda":  # whose generator knows nothing of what other processes draw
            torch.cuda.manual_seed(tensor_seed(self.config.seed, number, part.tensor, part.before))
        # The way back lies within too: what it recomputes must come out as it did before.
        with using(self.kernels), behind(part.before):
            with autocast(self.precision, self.device):
                loss = self.parallel.model(part.batch.to(self.device), self.config.label_smoothing)
            (loss.total * (scale * part.weight)).backward()
        self.group.moved()
        sums += torch.stack((loss.total.detach(), loss.nll.detach())) * part.weight

    def _cut_finer(self, parts: Sequence[Part], number: int) -> None:
        """Cut tensors into twice as many pieces; raise NmtkitError where no process can."""
        largest = max((len(part.batch.source.lengths) for part in parts), default=0)
        if not self.group.any(largest > self.pieces):
            raise NmtkitError(
                f"update {number:,}: the memory is too small for a single pair of sentences; drop long ones "
                "(prepare.max_pieces), choose a smaller model, or train.recompute = true"
            )
        self.pieces *= 2
        self.parallel.forget()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        self.warn(
            f"update {number:,}: the memory was too small, so tensors are computed in {self.pieces} pieces from here "
            "on; updates stay what they are. To be rid of this, lower train.batch.tokens_per_tensor (now "
            f"{self.config.batch.tokens_per_tensor})"
        )

    def step(self, outcome: Outcome, rate: float) -> None:
        """Take a step along the gradients and forget them; without effect on the weights where they are not finite."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        finite = (outcome.sums[0] + outcome.norm).isfinite()
        # The fused optimizer divides gradients by `grad_scale` as it reads them and leaves all as it is for a
        # `found_inf` of 1: so do torch's own gradient scalers tell it, and neither costs a look at the result.
        divisor = torch.ones((), device=self.device) if self.loss_scale is None else self.loss_scale.value
        if self.config.clip_norm:
            divisor = divisor * (outcome.norm / self.config.clip_norm).clamp(min=1)
        scaled = self.loss_scale is not None or self.config.clip_norm > 0
        self.optimizer.grad_scale = divisor if scaled else None  # type: ignore[attr-defined]
        self.optimizer.found_inf = 1 - finite.float()  # type: ignore[attr-defined]
        self.optimizer.step()
        if self.loss_scale is not None:
            self.loss_scale.follow(finite)
        self.parallel.forget()


def is_too_large(error: BaseException) -> bool:
    """Tell whether an error says that the memory of a device is too small."""
    return isinstance(error, torch.cuda.OutOfMemoryError) or NO_MEMORY in str(error)


def tensor_seed(seed: int, update: int, tensor: int, before: int = 0) -> int:
    """Return the seed of the dropout of one tensor: a mix of 64 bits in which no two tensors of a run are alike."""
    return int(np.random.SeedSequence((seed, update, tensor, before)).generate_state(1, np.uint64)[0]) >> 1
