"""What layers keep for the way back: the formulas of all architectures against what autograd really saves."""

from contextlib import ExitStack

import pytest
import torch
from toy.kernels import kernels
from toy.memory import Kept, Living, copies_of
from toy.models import VARIANTS, build, random_batch

from nmtkit.data.batch import Batch
from nmtkit.kernels.library import using
from nmtkit.models.activations import FLOAT, ID, Activations, Shape, Way
from nmtkit.models.base import AutoregressiveModel, Loss
from nmtkit.models.rnn.settings import RnnConfig
from nmtkit.models.settings import ModelConfig
from nmtkit.models.transformer.activations import attention_way
from nmtkit.models.transformer.settings import TransformerConfig

VOCABULARY = 50
SIZES = {"encoder_layers": 2, "decoder_layers": 3, "width": 32, "feed_forward": 72, "heads": 4}
SHORT, LONG, LOPSIDED = Shape(5, 11, 17), Shape(2, 200, 210), Shape(2, 20, 390)
TRANSFORMERS = {
    "paper": TransformerConfig(**SIZES),
    "without dropout": TransformerConfig(**SIZES, dropout=0.0),
    "pre-norm": TransformerConfig(**SIZES, norm="pre"),
    "dropout everywhere": TransformerConfig(**SIZES, attention_dropout=0.1, activation_dropout=0.1),
    "small keys": TransformerConfig(**SIZES, key_size=3),
    "large keys": TransformerConfig(**SIZES, key_size=13),
    "learned positions": TransformerConfig(**SIZES, positions="learned"),
}


def batch_of(shape: Shape) -> Batch:
    """Return a batch without padding, end marks included in its shape."""
    return random_batch([(shape.source - 1, shape.target - 1)] * shape.pairs, vocabulary=VOCABULARY)


def loss_of(model: AutoregressiveModel, batch: Batch, way: Way, *within) -> Loss:
    """Compute a loss in a way, within more contexts."""
    with ExitStack() as stack:
        stack.enter_context(torch.autocast("cpu", torch.bfloat16, enabled=way.number == 2))
        stack.enter_context(using(kernels() if way.kernels else None))
        for context in within:
            stack.enter_context(context)
        return model(batch, 0.1)


def kept(config: ModelConfig, shape: Shape, way: Way) -> int:
    """Return the bytes that are saved before the output layer."""
    model, batch = build(config, VOCABULARY).train(), batch_of(shape)
    loss_of(model, batch, way)  # which makes the copies of matrices
    of_layers = Kept([*model.parameters(), *copies_of(model)])
    loss_of(model, batch, way, of_layers.counting())
    of_loss = way.number * shape.target_positions * config.width + FLOAT * VOCABULARY * config.width
    return of_layers.bytes - of_loss - shape.target_positions  # the last is the mask that leaves padding out


def formula(config: ModelConfig, shape: Shape, way: Way) -> int:
    """Return the same by formula, less the target's ids, which nothing saves."""
    return config.activations(shape, way).kept - ID * shape.target_positions


@pytest.mark.parametrize("with_kernels", [True, False])
@pytest.mark.parametrize("number", [4, 2])
@pytest.mark.parametrize("shape", [SHORT, LONG, LOPSIDED])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformer(name: str, shape: Shape, number: int, with_kernels: bool) -> None:
    config, way = TRANSFORMERS[name], Way(number, with_kernels)
    assert formula(config, shape, way) == pytest.approx(kept(config, shape, way), rel=0.001)


@pytest.mark.parametrize("dropout", [0.1, 0.0])
@pytest.mark.parametrize("feeding", [True, False])
@pytest.mark.parametrize("attention", ["additive", "dot"])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_recurrent_network(cell: str, attention: str, feeding: bool, dropout: float) -> None:
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "width": 128, "dropout": dropout}
    config, shape = RnnConfig(**sizes, cell=cell, attention=attention, input_feeding=feeding), Shape(4, 24, 20)
    # oneDNN fills up the rows of its work space for an LSTM to sizes of its own.
    spare = 0.05 if cell == "lstm" else 0.005
    assert formula(config, shape, Way(4, kernels=False)) == pytest.approx(
        kept(config, shape, Way(4, kernels=False)), rel=spare
    )


def test_every_architecture_states_its_matrices_and_is_kept_small() -> None:
    """The elements of which copies are held are those of the copies; what a formula says is more than nothing."""
    for config in VARIANTS.values():
        model = build(config, VOCABULARY).train()
        loss_of(model, batch_of(SHORT), Way(2, kernels=False))
        assert config.rounded(VOCABULARY) == sum(copy.numel() for copy in copies_of(model))
        assert config.activations(SHORT, Way(4, kernels=False)).kept > 0


RECOMPUTED = {
    **TRANSFORMERS,
    "gru": RnnConfig(encoder_layers=2, decoder_layers=2, width=64),
    "lstm": RnnConfig(encoder_layers=2, decoder_layers=2, width=64, cell="lstm", attention="dot", input_feeding=False),
}


@pytest.mark.parametrize("with_kernels", [True, False])
@pytest.mark.parametrize("name", RECOMPUTED)
def test_recomputed_layers_keep_their_inputs(name: str, with_kernels: bool) -> None:
    config, way = RECOMPUTED[name], Way(4, with_kernels, recompute=True)
    model, batch = build(config, VOCABULARY).train(), batch_of(Shape(12, 14, 15))
    model.recompute = True
    loss_of(model, batch, way)
    living = Living()
    total = loss_of(model, batch, way, living).total
    of_loss = FLOAT * config.width * (12 * 15 + VOCABULARY)
    there = living.bytes - of_loss
    assert total.requires_grad
    # By steps of recurrent layers many small tensors are there besides, the states of random generators most of all.
    assert config.activations(Shape(12, 14, 15), way).kept == pytest.approx(there, rel=0.12 if name == "gru" else 0.03)


@pytest.mark.parametrize("recompute", [True, False])
@pytest.mark.parametrize("with_kernels", [True, False])
@pytest.mark.parametrize("number", [4, 2])
def test_the_way_back_takes_what_is_said(number: int, with_kernels: bool, recompute: bool) -> None:
    """With few pieces the loss is small, and the first layer on the way back is where most is there."""
    config = TransformerConfig(encoder_layers=2, decoder_layers=2, width=64, feed_forward=256, heads=4)
    shape, way = Shape(8, 50, 44), Way(number, with_kernels, recompute=recompute)
    model, batch = build(config, VOCABULARY).train(), batch_of(shape)
    model.recompute = recompute
    loss_of(model, batch, way).total.backward()  # so that gradients and copies are there already
    with Living() as living:
        loss_of(model, batch, way).total.backward()
    found = config.activations(shape, way)
    assert found.kept + found.work + FLOAT * VOCABULARY * 64 == pytest.approx(living.most, rel=0.08)


def test_which_attention_is_meant() -> None:
    config, dropped = TRANSFORMERS["paper"], TRANSFORMERS["dropout everywhere"]
    small = TRANSFORMERS["small keys"]
    ways = {
        (small, Way(2, kernels=True), 384): "kernel",
        (small, Way(2, kernels=True), 385): "fused",
        (small, Way(2, kernels=False), 192): "written out",
        (small, Way(2, kernels=False, cuda=True), 193): "fused",
        (config, Way(2, kernels=True), 384): "kernel",
        (config, Way(2, kernels=True), 385): "fused",
        (config, Way(2, kernels=False), 192): "written out",
        (config, Way(2, kernels=False), 193): "fused",
        (config, Way(2, kernels=False, cuda=True), 5): "fused",
        (dropped, Way(2, kernels=True), 5): "written out",
        (dropped, Way(2, kernels=True), 193): "by PyTorch in float32",
        (dropped, Way(2, kernels=False, cuda=True), 193): "fused",
    }
    for (settings, way, positions), kind in ways.items():
        assert attention_way(settings, way, positions, positions) == kind


def test_different_products_are_counted() -> None:
    config = TRANSFORMERS["paper"]
    assert config.activations(SHORT, Way(2, kernels=True)).products == 27
    assert config.activations(SHORT, Way(2, kernels=False)).products == 45
    assert TRANSFORMERS["small keys"].activations(SHORT, Way(2, kernels=True)).products == 30
    rnn = RnnConfig(preset="tiny").activations(SHORT, Way(2, kernels=True))
    assert isinstance(rnn, Activations)
    assert rnn.products == 0
