"""Recomputation: gradients to the bit, less kept for the way back, and nothing computed twice outside of training."""

from collections import Counter

import pytest
import torch
from toy.kernels import kernels
from toy.models import VARIANTS, build, random_batch

from nmtkit.kernels.library import using
from nmtkit.kernels.masks import behind
from nmtkit.models.base import AutoregressiveModel
from nmtkit.training.freezing import freeze

BATCH = random_batch([(3, 5), (7, 2), (1, 1), (5, 6)])


def gradients(model: AutoregressiveModel, precision: str = "fp32", way: str = "torch") -> dict[str, torch.Tensor]:
    """Return gradients of a loss with dropout; the way back lies outside of every context of the way forth."""
    model.train().zero_grad(set_to_none=True)
    torch.manual_seed(3)
    with (
        using(kernels() if way == "kernels" else None),
        behind(5),
        torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"),
    ):
        loss = model(BATCH, 0.1)
    loss.total.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("way", ["torch", "kernels"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_are_the_same_to_the_bit(variant: str, precision: str, way: str) -> None:
    model = build(VARIANTS[variant])
    expected, drawn = gradients(model, precision, way), torch.get_rng_state()
    model.recompute = True
    found = gradients(model, precision, way)
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        assert torch.equal(gradient, expected[name]), name
    assert torch.equal(torch.get_rng_state(), drawn)


def test_parts_below_and_above_frozen_ones_learn_the_same() -> None:
    model = build(VARIANTS["transformer"])
    freeze(model, ["embeddings", "encoder.1.*", "decoder.0.*"])
    expected = gradients(model, way="kernels")
    model.recompute = True
    found = gradients(model, way="kernels")
    assert found.keys() == expected.keys()
    assert all(torch.equal(gradient, expected[name]) for name, gradient in found.items())


@pytest.mark.parametrize("variant", ["transformer", "transformer-pre-norm", "rnn", "rnn-lstm-dot-unfed"])
def test_layers_keep_no_more_than_their_inputs(variant: str) -> None:
    model = build(VARIANTS[variant]).train()
    kept = {}
    for recompute in (False, True):
        model.recompute = recompute
        sizes: list[int] = []
        with torch.autograd.graph.saved_tensors_hooks(lambda saved, to=sizes: to.append(saved.numel()), lambda _: None):
            model(BATCH, 0.1)
        kept[recompute] = sum(sizes)
    assert kept[True] < kept[False] / 2


def test_a_layer_is_computed_again_on_the_way_back_of_training_alone() -> None:
    model = build(VARIANTS["transformer"])
    calls: Counter[str] = Counter()
    for name, layer in model.named_modules():
        if name in ("encoder.0", "decoder.1"):
            layer.register_forward_pre_hook(lambda *_, name=name: calls.update([name]))
    model.recompute = True
    for training, expected in ((True, 2), (False, 1)):
        calls.clear()
        model.train(training)
        model(BATCH).total.backward()
        assert calls == {"encoder.0": expected, "decoder.1": expected}
    with torch.inference_mode():
        model.train()(BATCH)
    assert calls == {"encoder.0": 2, "decoder.1": 2}
    with model.plain():
        calls.clear()
        model(BATCH).total.backward()
        assert calls == {"encoder.0": 1, "decoder.1": 1}
    assert model.recompute
