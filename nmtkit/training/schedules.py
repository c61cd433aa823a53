"""Learning-rate schedules: pure functions of the update, counted from 1.

One class and one name in the union adds one.
"""

import math
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from nmtkit.section import Conflict, Section


class NoamConfig(Section):
    """factor · width^-0.5 · min(update^-0.5, update · warmup^-1.5) (Vaswani et al. 2017, section 5.3)."""

    kind: Literal["noam"] = "noam"
    factor: float = Field(1.0, gt=0, description="Multiplies the paper's rate.")
    warmup: int = Field(4_000, ge=1, description="Updates until the rate peaks.")

    def rate(self, update: int, width: int) -> float:
        """Return the learning rate of an update (from 1) for a model of this width."""
        return self.factor * math.pow(width, -0.5) * min(math.pow(update, -0.5), update * math.pow(self.warmup, -1.5))


class InverseSqrtConfig(Section):
    """Linear warm-up to `peak`, then peak · (warmup / update)^0.5: the paper's curve by its highest point."""

    kind: Literal["inverse_sqrt"] = "inverse_sqrt"
    peak: float = Field(5e-4, gt=0, description="Highest learning rate.")
    warmup: int = Field(4_000, ge=1, description="Updates until the rate peaks.")

    def rate(self, update: int, width: int) -> float:  # noqa: ARG002  every schedule has the same signature
        """Return the learning rate of an update (from 1)."""
        return self.peak * min(update / self.warmup, math.sqrt(self.warmup / update))


class ConstantConfig(Section):
    """Linear warm-up to `peak`, then no change."""

    kind: Literal["constant"] = "constant"
    peak: float = Field(5e-4, gt=0, description="Learning rate.")
    warmup: int = Field(0, ge=0, description="Updates until the rate is reached.")

    def rate(self, update: int, width: int) -> float:  # noqa: ARG002
        """Return the learning rate of an update (from 1)."""
        return self.peak * min(1.0, update / self.warmup if self.warmup else 1.0)


class LinearConfig(Section):
    """Linear warm-up to `peak`, then linear decay, reaching zero right after update `decay_to`."""

    kind: Literal["linear"] = "linear"
    peak: float = Field(5e-4, gt=0, description="Highest learning rate.")
    warmup: int = Field(1_000, ge=1, description="Updates until the rate peaks.")
    decay_to: int = Field(description="The last update; usually train.stop.updates.", ge=2)

    def conflicts(self) -> Iterator[Conflict]:
        """Report a rate that would fall before it has risen."""
        if self.warmup >= self.decay_to:
            yield Conflict("warmup", f"{self.warmup} is not below decay_to = {self.decay_to}; lower warmup")

    def rate(self, update: int, width: int) -> float:  # noqa: ARG002
        """Return the learning rate of an update (from 1)."""
        if update <= self.warmup:
            return self.peak * update / self.warmup
        return self.peak * max(0, self.decay_to + 1 - update) / (self.decay_to + 1 - self.warmup)


ScheduleConfig = Annotated[NoamConfig | InverseSqrtConfig | ConstantConfig | LinearConfig, Field(discriminator="kind")]
