"""FLOPs against the formulas of both architectures, and the peak that they are measured by."""

from unittest.mock import patch

import pytest
import torch
from toy.models import VARIANTS, VOCABULARY, build, random_batch

from nmtkit.data.batch import Batch
from nmtkit.models.rnn.settings import RnnConfig
from nmtkit.models.transformer.settings import TransformerConfig
from nmtkit.training.flops import flop_counter, matrix_peak, product_flops

LENGTHS = [(5, 6), (3, 4), (5, 2)]
B, S, T, TOKENS = 3, 6, 7, 15
"""Sentences, positions of both sides with end marks, and target tokens."""


def counted(name: str, batch: Batch) -> int:
    model = build(VARIANTS[name]).train()
    with flop_counter() as counter:
        model(batch, 0.1).total.backward()
    return counter.get_total_flops()


def transformer_products(config: TransformerConfig) -> int:
    """Multiplications of a forward pass (Vaswani et al. 2017): projections, scores and values, feed-forward, output."""
    width, inner = config.width, config.feed_forward
    encoder = B * S * (4 * width**2 + 2 * width * inner) + 2 * B * S * S * width
    decoder = B * T * (6 * width**2 + 2 * width * inner) + 2 * B * S * width**2 + 2 * B * T * (T + S) * width
    return config.encoder_layers * encoder + config.decoder_layers * decoder + TOKENS * width * VOCABULARY


@pytest.mark.parametrize("name", ["transformer", "transformer-pre-norm", "transformer-unshared"])
def test_flops_of_a_transformer(name: str) -> None:
    """A product has two operations for each multiplication, and two products of its size undo it."""
    config = VARIANTS[name]
    assert isinstance(config, TransformerConfig)
    assert counted(name, random_batch(LENGTHS)) == 6 * transformer_products(config)


def recurrent_products(config: RnnConfig) -> int:
    """Multiplications of a forward pass: gates, what leads from one side to the other, attention, output."""
    width, gates = config.width, {"gru": 3, "lstm": 4}[config.cell]
    half, states = width // 2, gates - 2
    encoder = B * S * 2 * gates * half * (width + half)
    decoder = B * T * gates * width * (width + width)
    between = B * half * config.decoder_layers * states * width + B * S * width**2
    attention = 2 * B * T * S * width + (B * T * width**2 if config.attention == "additive" else 0)
    combining = B * T * 2 * width**2 + (B * T * gates * width**2 if config.input_feeding else 0)
    layers = config.encoder_layers * encoder + config.decoder_layers * decoder
    return layers + between + attention + combining + TOKENS * width * VOCABULARY


def test_flops_of_a_recurrent_network_step_by_step() -> None:
    """Nobody asks for the gradients of the zeros that the encoder and input feeding begin with."""
    config = VARIANTS["rnn"]
    assert isinstance(config, RnnConfig)
    zeros = B * 3 * 16 * 16 + config.encoder_layers * 2 * B * 3 * 8 * 8
    assert counted("rnn", random_batch(LENGTHS)) == 6 * recurrent_products(config) - 2 * zeros


def test_flops_of_a_recurrent_network_whose_layers_are_one_operator() -> None:
    config = VARIANTS["rnn-lstm-dot-unfed"]
    assert isinstance(config, RnnConfig)
    # Whether the gradient of the zeros is counted depends on the operator.
    assert counted("rnn-lstm-dot-unfed", random_batch(LENGTHS)) == pytest.approx(
        6 * recurrent_products(config), rel=0.01
    )


def test_flops_of_operators_that_no_cpu_has() -> None:
    """A recurrent layer of cuDNN, 5 positions of 2 sentences, width 8 to 6 with 4 gates; fused attention."""
    counter, aten = flop_counter(), torch.ops.aten
    x, weights = torch.zeros(5, 2, 8), [torch.zeros(24, 8), torch.zeros(24, 6), torch.zeros(24), torch.zeros(24)]
    forward = counter.flop_registry[aten._cudnn_rnn](x, weights, 4, None, out_val=x)
    assert forward == 2 * 10 * 24 * 14
    assert counter.flop_registry[aten._cudnn_rnn_backward](x, weights, 4, None, out_val=x) == 2 * forward
    query, key = torch.zeros(2, 3, 4, 8), torch.zeros(2, 3, 5, 8)
    for kind in ("flash", "efficient", "cudnn"):
        backward = getattr(aten, f"_scaled_dot_product_{kind}_attention_backward")
        assert counter.flop_registry[backward](query, query, key, key, out_val=query) == 2 * 2 * 2 * 6 * 4 * 5 * 8


def test_flops_of_the_fused_attention_of_a_cpu_are_those_of_its_products() -> None:
    query, key, value = (torch.randn(2, 3, length, 8, requires_grad=True) for length in (4, 5, 5))
    with flop_counter() as fused:
        torch.nn.functional.scaled_dot_product_attention(query, key, value).sum().backward()
    with flop_counter() as written_out:
        ((query @ key.mT).softmax(-1) @ value).sum().backward()
    assert fused.get_total_flops() == written_out.get_total_flops() == 6 * 2 * 6 * 4 * 5 * 8


@pytest.mark.parametrize(
    ("operator", "shapes", "flops"),
    [
        ("aten::mm", [[2, 3], [3, 5]], 60),
        ("aten::bmm", [[7, 2, 3], [7, 3, 5]], 420),
        ("aten::addmm", [[5], [2, 3], [3, 5], [], []], 60),
        ("aten::baddbmm", [[7, 2, 5], [7, 2, 3], [7, 3, 5]], 420),
        ("aten::mul", [[2, 3], [2, 3]], 0),
        ("aten::mm", [[], []], 0),
        ("aten::mm", [], 0),
    ],
)
def test_flops_by_operator_and_shapes(operator: str, shapes: list[list[int]], flops: int) -> None:
    assert product_flops(operator, shapes) == flops


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_peak_is_that_of_the_fastest_size(precision: str) -> None:
    seconds = {16: [0.5, 0.25], 32: [9.0, 1.0]}
    formats = set()

    def multiply(left: torch.Tensor, right: torch.Tensor, result: torch.Tensor, times: int) -> float:
        formats.add(result.dtype)
        return seconds[len(left)].pop(0)

    with (
        patch("nmtkit.training.flops.PEAK_SIZES", {"cpu": (16, 32)}),
        patch("nmtkit.training.flops.PEAK_SECONDS", 0.0),
        patch("nmtkit.training.flops._multiply", multiply),
    ):
        peak = matrix_peak(precision, torch.device("cpu"))
    assert peak == 2 * 32**3 / 1.0  # the first one of each size warms up
    assert formats == {torch.bfloat16 if precision == "bf16" else torch.float32}


def test_a_peak_is_measured() -> None:
    with patch("nmtkit.training.flops.PEAK_SIZES", {"cpu": (8,)}), patch("nmtkit.training.flops.PEAK_SECONDS", 0.001):
        assert matrix_peak("bf16", torch.device("cpu")) > 1e3
