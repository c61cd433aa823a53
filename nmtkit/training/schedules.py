"""Learning-rate schedules: pure functions of the update, counted from 1, and of the share of training that is spent.

One class and one name in the union adds one.
"""

import math
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from nmtkit.section import Conflict, Section

LEAST_WARMUP = 100
"""Updates over which a fitted schedule rises at least, however little of the time they take.

Adam's mean of squared gradients has to be a mean of something before steps are large: 2 / (1 - beta2) updates
(Ma and Yarats 2021), here with beta2 = 0.98. By the clock alone, one slow first update could end a warm-up.
"""


class NoamConfig(Section):
    """factor · width^-0.5 · min(update^-0.5, update · warmup^-1.5) (Vaswani et al. 2017, section 5.3)."""

    kind: Literal["noam"] = "noam"
    factor: float = Field(1.0, gt=0, description="Multiplies the paper's rate.")
    warmup: int = Field(4_000, ge=1, description="Updates until the rate peaks.")

    def rate(self, update: int, width: int, spent: float) -> float:  # noqa: ARG002  every schedule has this signature
        """Return the learning rate of an update (from 1) for a model of this width."""
        return self.factor * math.pow(width, -0.5) * min(math.pow(update, -0.5), update * math.pow(self.warmup, -1.5))


class InverseSqrtConfig(Section):
    """Linear warm-up to `peak`, then peak · (warmup / update)^0.5: the paper's curve by its highest point."""

    kind: Literal["inverse_sqrt"] = "inverse_sqrt"
    peak: float = Field(5e-4, gt=0, description="Highest learning rate.")
    warmup: int = Field(4_000, ge=1, description="Updates until the rate peaks.")

    def rate(self, update: int, width: int, spent: float) -> float:  # noqa: ARG002
        """Return the learning rate of an update (from 1)."""
        return self.peak * min(update / self.warmup, math.sqrt(self.warmup / update))


class ConstantConfig(Section):
    """Linear warm-up to `peak`, then no change."""

    kind: Literal["constant"] = "constant"
    peak: float = Field(5e-4, gt=0, description="Learning rate.")
    warmup: int = Field(0, ge=0, description="Updates until the rate is reached.")

    def rate(self, update: int, width: int, spent: float) -> float:  # noqa: ARG002
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

    def rate(self, update: int, width: int, spent: float) -> float:  # noqa: ARG002
        """Return the learning rate of an update (from 1)."""
        if update <= self.warmup:
            return self.peak * update / self.warmup
        return self.peak * max(0, self.decay_to + 1 - update) / (self.decay_to + 1 - self.warmup)


class WsdConfig(Section):
    """Warm-up, stable, decay (Hu et al. 2024, section 4), fitted to what ends training: updates, epochs or minutes.

    The rate rises in a line to `peak`, stays there, and falls in a line to zero, which it reaches with the end of
    training. The turns are shares of training: of the limit in train.stop that is nearest to its end. A fall to zero is
    what makes a short training good, and a fifth of it is enough for that (Hägele et al. 2024); until the fall begins,
    the limits can still be moved without a loss.
    """

    kind: Literal["wsd"] = "wsd"
    peak: float | None = Field(
        None,
        gt=0,
        description="Highest learning rate; without one, (2000 · width)^-0.5: 0.001 for a width of 512, where `noam` "
        "peaks with a warmup of 2000.",
    )
    warmup: float = Field(
        0.1, ge=0, le=1, description=f"Share of training until the rate peaks; at least {LEAST_WARMUP} updates."
    )
    # Measured: 800 updates of 1,800 tokens, `tiny` on Multi30k, peak 0.003; the perplexity of the development set was
    # 13.3 with a fall over the last 20 %, 14.7 with 50 %, 18.0 with 90 %.
    decay: float = Field(0.2, gt=0, le=1, description="Share of training, at its end, in which the rate falls.")

    def conflicts(self) -> Iterator[Conflict]:
        """Report a rate that would fall before it has risen."""
        if self.warmup + self.decay > 1:
            yield Conflict(
                "warmup", f"with decay = {self.decay:g} that is more than the whole training; lower one of them"
            )

    def highest(self, width: int) -> float:
        """Return the learning rate between warm-up and decay for a model of this width."""
        return math.pow(2_000 * width, -0.5) if self.peak is None else self.peak

    def rate(self, update: int, width: int, spent: float) -> float:
        """Return the learning rate of an update (from 1) in whose middle this share of training, 0 to 1, is spent."""
        risen = min(1.0, update / LEAST_WARMUP, spent / self.warmup if self.warmup else 1.0)
        return self.highest(width) * min(risen, (1.0 - spent) / self.decay)


ScheduleConfig = Annotated[
    NoamConfig | InverseSqrtConfig | ConstantConfig | LinearConfig | WsdConfig, Field(discriminator="kind")
]
