"""The engine: computes updates. Gradients are summed over the tensors of an update, then the optimizer takes a step.

Nothing here waits for the device: what an update did stays there until somebody reads it, and whether its gradient is
fit to be applied is decided there too.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from nmtkit.data.batch import Batch
from nmtkit.kernels.library import Kernels, using
from nmtkit.models.base import Model
from nmtkit.training.precision import LossScale, Precision, autocast
from nmtkit.training.settings import TrainConfig


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
    """A model, its optimizer, and how an update is computed with them."""

    def __init__(
        self,
        model: Model,
        optimizer: Optimizer,
        config: TrainConfig,
        precision: Precision,
        device: torch.device,
        kernels: Kernels | None = None,
    ) -> None:
        self.model, self.optimizer, self.config = model, optimizer, config
        self.precision, self.device, self.kernels = precision, device, kernels
        self.loss_scale = LossScale(device) if precision == "fp16" else None

    def update(self, batches: Iterable[Batch], number: int, tokens: int, rate: float) -> Outcome:
        """Compute update `number` of `tokens` target tokens in all at a learning rate, and apply it if it is finite."""
        outcome = self.gradients(batches, number, tokens)
        self.step(outcome, rate)
        return outcome

    def gradients(self, batches: Iterable[Batch], number: int, tokens: int) -> Outcome:
        """Add up the gradients of the loss per token, and its sums."""
        sums = torch.zeros(2, device=self.device)
        scale = 1.0 if self.loss_scale is None else self.loss_scale.value
        for index, batch in enumerate(batches):
            torch.manual_seed(tensor_seed(self.config.seed, number, index))
            with autocast(self.precision, self.device), using(self.kernels):
                loss = self.model(batch.to(self.device), self.config.label_smoothing)
            (loss.total * (scale / tokens)).backward()
            sums += torch.stack((loss.total.detach(), loss.nll.detach()))
        return Outcome(sums, gradient_norm(self.model) / scale)

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
        self.forget()

    def forget(self) -> None:
        """Drop the gradients."""
        self.optimizer.zero_grad(set_to_none=True)


def tensor_seed(seed: int, update: int, tensor: int, rank: int = 0) -> int:
    """Return the seed of the dropout of one tensor: a mix of 64 bits in which no two tensors of a run are alike."""
    return int(np.random.SeedSequence((seed, update, tensor, rank)).generate_state(1, np.uint64)[0]) >> 1


def gradient_norm(model: nn.Module) -> Tensor:
    """Return the Euclidean norm of all gradients together, a scalar on their device; not finite where one is not."""
    norms = torch._foreach_norm([p.grad for p in model.parameters() if p.grad is not None])
    norm: Tensor = torch.linalg.vector_norm(torch.stack(norms))
    return norm
