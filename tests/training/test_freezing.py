"""Frozen parts: they stay as they are to the bit and cost nothing, and the rest learns what it would have learned."""

from pathlib import Path

import pytest
import torch
from toy.kernels import kernels
from toy.models import VARIANTS, VOCABULARY, build, random_batch
from toy.training import ORIGIN, WIDTH_16, train_config

from nmtkit.data.batch import Part
from nmtkit.errors import ConfigError
from nmtkit.kernels.library import using
from nmtkit.models.base import AutoregressiveModel
from nmtkit.models.products import Projection
from nmtkit.training.checkpoints import load_optimizer, load_weights, save_checkpoint, training_tensors
from nmtkit.training.engine import Engine
from nmtkit.training.freezing import freeze, frozen_in_words
from nmtkit.training.parallel import Whole
from nmtkit.training.state import TrainingState
from nmtkit.training.tensor_folder import OPTIMIZER, WEIGHTS, read_tensors

CPU = torch.device("cpu")
BATCH = random_batch([(3, 5), (7, 2), (1, 1), (5, 6)])


def frozen(model: AutoregressiveModel) -> set[str]:
    return {name for name, parameter in model.named_parameters() if not parameter.requires_grad}


def names_of(model: AutoregressiveModel, *beginnings: str) -> set[str]:
    return {name for name, _ in model.named_parameters() if name.startswith(beginnings)}


@pytest.mark.parametrize(
    ("variant", "names", "beginnings"),
    [
        ("transformer", ("embeddings",), ("target_embedding",)),
        ("transformer-unshared", ("embeddings",), ("target_embedding", "source_embedding", "output_embedding")),
        ("transformer-unshared", ("source_embedding.*",), ("source_embedding",)),
        ("transformer", ("source_embedding.weight",), ("target_embedding",)),
        ("transformer", ("encoder",), ("encoder.",)),
        ("transformer-pre-norm", ("encoder",), ("encoder.", "encoder_norm")),
        ("transformer", ("decoder cross-attention",), ("decoder.0.cross_attention.", "decoder.1.cross_attention.")),
        ("transformer", ("encoder.0.*", "decoder.1.feed_forward.inner.weight"),
         ("encoder.0.", "decoder.1.feed_forward.inner.weight")),
        ("rnn", ("decoder attention", "encoder"), ("decoder.attention", "encoder.")),
        ("rnn", ("decoder layers",), ("decoder.layers.",)),
        ("rnn", (), ()),
    ],
)  # fmt: skip
def test_names_mean_parts_and_parameters(variant: str, names: tuple[str, ...], beginnings: tuple[str, ...]) -> None:
    model = VARIANTS[variant].build(VOCABULARY, VOCABULARY)
    freeze(model, names)
    assert frozen(model) == (names_of(model, *beginnings) if beginnings else set())


def test_norms_go_by_the_name_they_have_in_a_profile() -> None:
    model = VARIANTS["transformer-pre-norm"].build(VOCABULARY, VOCABULARY)
    freeze(model, ["norms, residuals, dropout"])
    assert frozen(model) == {name for name, _ in model.named_parameters() if "norm" in name}


def test_names_of_nothing_are_told_with_those_there_are() -> None:
    model = VARIANTS["transformer"].build(VOCABULARY, VOCABULARY)
    with pytest.raises(ConfigError) as caught:
        freeze(model, ["enkoder", "encoder", "encoder.9.*"])
    assert caught.value.problems[0] == (
        'train.freeze: "enkoder" names no part of the model and no parameter; did you mean "encoder"? there are '
        '"embeddings", "encoder", "decoder", "encoder self-attention", "norms, residuals, dropout", '
        '"encoder feed-forward", "decoder self-attention", "decoder cross-attention" or "decoder feed-forward", and '
        'parameters such as "decoder.1.feed_forward_residual.norm.bias", in whose names * stands for any characters'
    )
    assert len(caught.value.problems) == 2
    assert '"encoder.9.*" names no part' in caught.value.problems[1]


def test_something_must_be_left_to_train() -> None:
    model = VARIANTS["rnn"].build(VOCABULARY, VOCABULARY)
    with pytest.raises(ConfigError, match=r'^train\.freeze: "\*" or "encoder": nothing is left to train; take some'):
        freeze(model, ["*", "encoder"])


def test_the_summary_counts_what_is_trained_and_says_what_is_shared() -> None:
    model = WIDTH_16.build(VOCABULARY, VOCABULARY)
    assert list(frozen_in_words(model)) == []
    freeze(model, ["embeddings", "decoder.0.feed_forward.*"])
    whole, fed = sum(p.numel() for p in model.parameters()), 2 * 16 * 24 + 16 + 24
    assert list(frozen_in_words(model)) == [
        f"trained: {whole - VOCABULARY * 16 - fed:,} of {whole:,} parameters; frozen (train.freeze): embeddings, "
        f"{fed} of decoder",
        "frozen: target_embedding.weight is one matrix with source_embedding.weight and output_embedding.weight, "
        "which stand still with it",
    ]


def gradients(model: AutoregressiveModel, precision: str, way: str) -> dict[str, torch.Tensor]:
    model.train().zero_grad(set_to_none=True)
    torch.manual_seed(3)
    with using(kernels() if way == "kernels" else None):
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = model(BATCH, 0.1)
        loss.total.backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("way", ["torch", "kernels"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize(
    "names", [("embeddings",), ("encoder", "embeddings"), ("decoder",), ("*.weight",), ("*.bias",)]
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_rest_gets_the_gradients_it_would_have_got(
    variant: str, names: tuple[str, ...], precision: str, way: str
) -> None:
    model = build(VARIANTS[variant])
    if names == ("*.bias",) and variant.startswith("rnn"):
        names = ("*bias*",)
    expected = gradients(model, precision, way)
    freeze(model, names)
    found = gradients(model, precision, way)
    assert found.keys() == expected.keys() - frozen(model)
    assert found.keys() < expected.keys()
    for name, gradient in found.items():
        assert torch.equal(gradient, expected[name]), name


def test_a_product_keeps_and_computes_nothing_for_a_frozen_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its input nor the product that its gradient would be."""
    layer, products = Projection(6, 4), []
    layer.weight.requires_grad_(False)
    real = torch.Tensor.__matmul__
    monkeypatch.setattr(torch.Tensor, "__matmul__", lambda x, y: products.append(x.shape) or real(x, y))
    x, kept = torch.randn(2, 3, 6, requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: kept.append(saved.shape) or saved, lambda saved: saved):
        y = layer.product(x)
    y.sum().backward()
    assert kept == [(4, 6)]
    assert products == [(2, 3, 6), (2, 3, 4)]
    torch.testing.assert_close(x.grad, layer.weight.sum(0).expand_as(x))
    assert layer.weight.grad is None


class Bench:
    """A model in training, some parts of which are frozen."""

    def __init__(self, precision: str, way: str, *names: str) -> None:
        torch.manual_seed(1)
        self.model = VARIANTS["transformer"].build(VOCABULARY, VOCABULARY).train()
        freeze(self.model, names)
        config, parallel = train_config(), Whole(self.model)
        self.optimizer = config.optimizer.build(parallel.parameters().values())
        used = kernels() if way == "kernels" else None
        self.engine = Engine(parallel, self.optimizer, config, precision, CPU, used)

    def update(self, number: int) -> float:
        return self.engine.update([Part(BATCH, 0, 0)], number, 18, 0.01).read()[0]

    def weights(self) -> dict[str, torch.Tensor]:
        return {name: parameter.detach().clone() for name, parameter in self.model.named_parameters()}


@pytest.mark.parametrize("way", ["torch", "kernels"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_frozen_weights_stay_to_the_bit_and_the_rest_learns(precision: str, way: str) -> None:
    bench = Bench(precision, way, "embeddings", "encoder.0.*", "decoder feed-forward")
    before = bench.weights()
    losses = [bench.update(number) for number in range(1, 31)]
    assert losses[-1] < 0.8 * losses[0]
    for name, weight in bench.weights().items():
        assert torch.equal(weight, before[name]) == (name in frozen(bench.model)), name


def test_a_frozen_parameter_has_no_tensors_in_the_optimizer_and_a_resume_is_exact(tmp_path: Path) -> None:
    names = ("embeddings", "decoder cross-attention")
    straight = Bench("fp32", "torch", *names)
    for number in (1, 2):
        straight.update(number)
    tensors = training_tensors(straight.engine.parallel, straight.optimizer)
    folder = save_checkpoint(tmp_path, tensors, TrainingState(update=2), ORIGIN, regular=True)
    trained = {key.partition(":")[2] for key in read_tensors(folder / OPTIMIZER)}
    assert trained == straight.weights().keys() - frozen(straight.model)
    assert read_tensors(folder / WEIGHTS).keys() == straight.weights().keys()
    resumed = Bench("fp32", "torch", *names)
    load_weights(resumed.model, folder / WEIGHTS)
    load_optimizer(resumed.optimizer, resumed.engine.parallel, folder / OPTIMIZER)
    for bench in (straight, resumed):
        bench.update(3)
    for name, weight in resumed.weights().items():
        assert torch.equal(weight, straight.weights()[name]), name
