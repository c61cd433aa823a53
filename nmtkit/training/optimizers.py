"""Optimizers: settings and what they build. One class and one name in the union adds one."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from nmtkit.section import Section

if TYPE_CHECKING:
    from torch.nn import Parameter
    from torch.optim import Optimizer


class AdamConfig(Section):
    """Adam (Kingma and Ba 2015) with the paper's constants; with weight_decay, AdamW (Loshchilov and Hutter 2019)."""

    kind: Literal["adam"] = "adam"
    beta1: float = Field(0.9, ge=0, lt=1, description="Decay of the mean of gradients.")
    beta2: float = Field(0.98, ge=0, lt=1, description="Decay of the mean of squared gradients.")
    epsilon: float = Field(1e-9, gt=0, description="Added to the root of the mean of squares.")
    weight_decay: float = Field(0.0, ge=0, description="Decoupled weight decay; the paper has none.")

    def build(self, parameters: "Iterable[Parameter]") -> "Optimizer":
        """Return the optimizer; the learning rate is set anew before every update."""
        from torch.autograd.graph import increment_version
        from torch.optim import AdamW

        own = list(parameters)
        optimizer = AdamW(
            own,
            lr=0.0,
            betas=(self.beta1, self.beta2),
            eps=self.epsilon,
            weight_decay=self.weight_decay,
            fused=True,
        )

        # The fused step does not say that it changed its parameters, which copies in other formats have to know.
        def tell(*_: object) -> None:
            for parameter in own:
                increment_version(parameter)

        optimizer.register_step_post_hook(tell)
        return optimizer


OptimizerConfig = AdamConfig
