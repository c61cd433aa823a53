"""Optimizers, against the rule written out."""

import pytest
import torch
from toy.union import members

from nmtkit.training.optimizers import AdamConfig, OptimizerConfig


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_adam_follows_its_rule(weight_decay: float) -> None:
    weight = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.5]))
    optimizer = AdamConfig(weight_decay=weight_decay).build([weight])
    gradients = torch.tensor([[0.3, -0.1, 2.0], [0.1, 0.2, -1.0], [-0.4, 0.0, 0.5]])
    expected, mean, square = weight.detach().clone().double(), torch.zeros(3).double(), torch.zeros(3).double()
    for step, gradient in enumerate(gradients, 1):
        rate = 0.01 * step
        optimizer.param_groups[0]["lr"] = rate
        weight.grad = gradient.clone()
        optimizer.step()
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.98 * square + 0.02 * gradient.double() ** 2
        expected -= rate * weight_decay * expected
        expected -= rate * (mean / (1 - 0.9**step)) / ((square / (1 - 0.98**step)).sqrt() + 1e-9)
    torch.testing.assert_close(weight.detach().double(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", members(OptimizerConfig))
def test_every_optimizer_stands_still_until_a_rate_is_set(kind: type) -> None:
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = kind().build([weight])
    weight.grad = torch.ones(3)
    optimizer.step()
    assert torch.equal(weight, torch.ones(3))
    optimizer.param_groups[0]["lr"] = 0.1
    optimizer.step()
    assert (weight < 1).all()
