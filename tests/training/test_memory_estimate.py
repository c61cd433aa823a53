"""The formula of memory against tensors that are really there, part by part."""

import math
from typing import Any

import pytest
import torch
from toy.kernels import kernels
from toy.memory import Living
from toy.models import VARIANTS, build, random_batch

from nmtkit.commands.train_plan import built, model_sizes
from nmtkit.kernels.library import using
from nmtkit.models.activations import Activations, Shape, Way
from nmtkit.models.loss import output_loss
from nmtkit.models.products import Rounded
from nmtkit.models.rnn.settings import RnnConfig
from nmtkit.models.settings import ModelConfig
from nmtkit.models.transformer.settings import TransformerConfig
from nmtkit.training.memory_estimate import (
    BASE,
    COMPILED,
    NEW,
    Memory,
    ModelSizes,
    Moment,
    Sharing,
    checkpoint_copy,
    compiled_memory,
    device_memory,
    gathered_memory,
    gradient_memory,
    loss_memory,
)
from nmtkit.training.optimizers import AdamConfig

SIZES = ModelSizes(parameters=1_000, trained=800, rounded=600, waiting=200, layer=100, rest=300)
MOMENT = Moment(Activations(kept=50_000, work=2_000, products=27), loss=9_000)
CPU, GPU = Way(2, kernels=True), Way(2, kernels=False, cuda=True)


def memory(sharing: Sharing = Sharing(), way: Way = CPU, **changes: Any) -> Memory:  # noqa: B008
    return device_memory(SIZES._replace(**changes), MOMENT, sharing, way, "cuda" if way.cuda else "mappings")


MODELS: dict[str, ModelConfig] = {
    **VARIANTS,
    "base": TransformerConfig(preset="base"),
    "big": TransformerConfig(preset="big"),
    "rnn base": RnnConfig(preset="base"),
}


@pytest.mark.parametrize("name", MODELS)
def test_parameters_are_exact_without_a_model_in_memory(name: str) -> None:
    config = MODELS[name]
    sizes = model_sizes(built(config, (90, 90)), config, 90)
    if name in VARIANTS:
        model = config.build(90, 90)
        assert sizes.parameters == sizes.trained == sum(parameter.numel() for parameter in model.parameters())
        layers = [*model.encoder, *(model.decoder if config.kind == "transformer" else model.decoder.layers)]
        of_layers = [sum(parameter.numel() for parameter in layer.parameters()) for layer in layers]
        assert (sizes.layer, sizes.rest) == (max(of_layers), sizes.parameters - sum(of_layers))
    assert sizes.waiting == (0 if config.share_embeddings == "none" else 90 * config.width)


def test_big_of_the_paper_has_the_parameters_that_were_counted_by_hand() -> None:
    config = TransformerConfig(preset="big")
    assert model_sizes(built(config, (37_000, 37_000)), config, 37_000).parameters == 214_245_376


@pytest.mark.parametrize("vocabulary", [60, 3_000])
@pytest.mark.parametrize("with_kernels", [True, False])
@pytest.mark.parametrize("number", [4, 2])
def test_the_loss_takes_what_is_said(number: int, with_kernels: bool, vocabulary: int) -> None:
    count, width = 900, 64
    inputs, weight = torch.randn(count, width, requires_grad=True), torch.randn(vocabulary, width, requires_grad=True)
    targets, copy = torch.randint(vocabulary, (count,)), Rounded()
    format_ = torch.float32 if number == 4 else torch.bfloat16

    def compute() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=number == 2), using(kernels() if with_kernels else None):
            # A tensor that only the loss holds, as what a decoder gives is.
            loss = output_loss(inputs.to(format_, copy=True), weight, copy, targets, 0.1)
        loss.total.backward()

    compute()
    with Living() as living:
        compute()
    assert loss_memory(count, vocabulary, width, Way(number, with_kernels)) == pytest.approx(living.most, rel=0.05)


@pytest.mark.parametrize("recompute", [True, False])
@pytest.mark.parametrize("number", [4, 2])
@pytest.mark.parametrize("name", ["wide", "deep", "rnn"])
def test_a_tensor_takes_what_is_said(name: str, number: int, recompute: bool) -> None:
    """Activations, loss and the way back together, of models of other shapes."""
    config: ModelConfig = {
        "wide": TransformerConfig(encoder_layers=1, decoder_layers=1, width=128, feed_forward=256, heads=2),
        "deep": TransformerConfig(encoder_layers=4, decoder_layers=2, width=32, feed_forward=64, heads=2, norm="pre"),
        "rnn": RnnConfig(encoder_layers=1, decoder_layers=2, width=64),
    }[name]
    vocabulary, shape, way = 800, Shape(20, 18, 15), Way(number, kernels=True, recompute=recompute)
    model, batch = build(config, vocabulary).train(), random_batch([(17, 14)] * 20, vocabulary=vocabulary)
    model.recompute = recompute

    def compute() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=number == 2), using(kernels()):
            loss = model(batch, 0.1)
        loss.total.backward()

    compute()
    with Living() as living:
        compute()
    moment = Moment(config.activations(shape, way), loss_memory(300, vocabulary, config.width, way))
    parts = device_memory(model_sizes(model, config, vocabulary), moment, Sharing(), way, "mappings").parts
    assert parts["activations"] + parts["loss and way back"] == pytest.approx(living.most, rel=0.08)


def test_weights_gradients_moments_and_copies_are_those_of_a_model_in_training() -> None:
    config = VARIANTS["transformer"]
    model = build(config, 60).train()
    optimizer = AdamConfig().build(model.parameters())
    with torch.autocast("cpu", torch.bfloat16):
        model(random_batch([(5, 6)] * 4), 0.1).total.backward()
    optimizer.step()
    sizes, way = model_sizes(model, config, 60), Way(2, kernels=False)
    parts = device_memory(sizes, MOMENT, Sharing(), way, "mappings").parts
    assert parts["weights"] == sum(4 * parameter.numel() for parameter in model.parameters())
    assert parts["gradients"] == sum(4 * parameter.grad.numel() for parameter in model.parameters())
    moments = [tensor for entry in optimizer.state.values() for tensor in entry.values() if tensor.dim()]
    assert parts["optimizer"] == sum(4 * tensor.numel() for tensor in moments)
    assert parts["rounded weights"] == 2 * config.rounded(60)


def test_parts_on_a_processor() -> None:
    found = memory(Sharing(tensors=3)).parts
    assert found == {
        "weights": 4_000,
        "rounded weights": 1_200,
        "gradients": 3_200,
        "optimizer": 6_400,
        "activations": 50_000,
        "loss and way back": 9_000,
        "allocator": round(0.02 * (50_000 + 9_000 + 3_200)),
        "base": BASE["cpu"],
        "copy of a checkpoint": 4_000 + 6_400,
        "compiled products": round(NEW * 3 * 30 * COMPILED),
    }
    assert memory(Sharing(tensors=3)).together == sum(found.values())
    assert "compiled products" not in memory(way=CPU._replace(number=4)).parts
    assert "rounded weights" not in memory(way=CPU._replace(number=4)).parts


def test_the_gradient_of_the_output_may_wait_behind_a_small_loss() -> None:
    assert memory(waiting=2_000).parts["loss and way back"] == 2_000 + 4 * 2_000


def test_an_update_of_one_tensor_has_gradients_or_activations() -> None:
    parts = memory(Sharing(several=False)).parts
    assert parts["not at the same time"] == -3_200
    assert memory(Sharing(several=False), trained=100_000, parameters=100_000).parts["not at the same time"] == -59_000
    # Processes hold buffers for gradients all the time.
    assert "not at the same time" not in memory(Sharing(2, several=False)).parts


def test_parts_on_gpus() -> None:
    parts = memory(Sharing(8), GPU).parts
    assert (parts["base"], parts["allocator"]) == (BASE["cuda"], round(0.1 * 59_000))
    assert parts["weights"] == 4_000
    assert "copy of a checkpoint" not in parts


def test_shards_share_what_lasts_and_gather_what_is_computed_with() -> None:
    sharded = Sharing(4, sharded=True)
    parts = memory(sharded, GPU).parts
    assert (parts["weights"], parts["optimizer"]) == (1_000, 1_600)
    assert parts["gathered layers"] == gathered_memory(SIZES) == 4 * (300 + 2 * 100)
    assert gradient_memory(SIZES, sharded) == 800 + 3_200
    assert gradient_memory(SIZES, sharded._replace(several=False)) == 800 + 4 * 400
    assert checkpoint_copy(SIZES, sharded) == 2 * checkpoint_copy(SIZES, Sharing(4))


def test_compiled_products_have_an_end() -> None:
    assert compiled_memory(30, 3) == round(NEW * 90 * COMPILED)
    assert compiled_memory(30, math.inf) == compiled_memory(3, 1e9) == 96 * COMPILED
    assert compiled_memory(0, 5) == 0


def test_a_gpu_holds_logarithms_of_a_whole_chunk() -> None:
    """Scores in bf16, the same in float32 and their logarithms, beside both gradients."""
    vocabulary, width = 1_000, 64
    found = loss_memory(500, vocabulary, width, GPU)
    assert found == 2 * 2 * 500 * width + (2 + 4 + 4) * 500 * vocabulary + 4 * vocabulary * width
