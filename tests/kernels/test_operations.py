"""Each fused operation equals PyTorch's operations one after another, forth and back."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from toy.kernels import kernels
from toy.models import random_batch

from nmtkit.kernels.library import using
from nmtkit.models import fused
from nmtkit.models.layers import Dropout
from nmtkit.models.loss import output_loss
from nmtkit.models.products import Projection, Rounded
from nmtkit.models.transformer.settings import TransformerConfig
from nmtkit.training.optimizers import AdamConfig

TOLERANCE = {"fp32": {"rtol": 2e-5, "atol": 2e-5}, "bf16": {"rtol": 2e-2, "atol": 3e-2}}
PRECISIONS = pytest.mark.parametrize("precision", TOLERANCE)
WIDTHS = pytest.mark.parametrize("width", [1, 7, 16, 130])


def number(precision: str) -> torch.dtype:
    return torch.float32 if precision == "fp32" else torch.bfloat16


def drawn(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape).to(dtype).requires_grad_()


def compare(precision: str, operation, *inputs: Tensor) -> None:
    """Run an operation with and without kernels and compare outputs and the gradients of every input."""
    found = []
    for used in (None, kernels()):
        copies = [x.detach().clone().requires_grad_(x.requires_grad) for x in inputs]
        # An operation may work in the place of its input, which must then not be a leaf.
        with using(used), torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            outputs = operation(*[x * 1 if x.requires_grad else x for x in copies])
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        weights = [torch.linspace(-1, 1.5, out.numel()).view(out.shape) for out in outputs]
        sum((out.float() * weight).sum() for out, weight in zip(outputs, weights, strict=True)).backward()
        found.append([*outputs, *[x.grad for x in copies if x.requires_grad]])
    for plain, fast in zip(*[[x.detach() for x in each] for each in found], strict=True):
        assert plain.dtype == fast.dtype
        scale = max(1.0, float(plain.abs().max()))
        torch.testing.assert_close(fast.float() / scale, plain.float() / scale, **TOLERANCE[precision])


def norm_of(width: int) -> nn.LayerNorm:
    norm = nn.LayerNorm(width)
    nn.init.normal_(norm.weight, 1)
    nn.init.normal_(norm.bias)
    return norm


@PRECISIONS
@WIDTHS
def test_sums_and_norms(precision: str, width: int) -> None:
    torch.manual_seed(width)
    norm, dropout = norm_of(width), Dropout(0.0)
    x, y, bias = drawn(3, 5, width), drawn(3, 5, width, dtype=number(precision)), drawn(width)
    compare(precision, lambda x, y, bias: fused.add_dropped(x, y, bias, dropout), x, y, bias)
    if width == 1:
        return  # its norm is its shift, whatever it is
    compare(precision, lambda x, gain, shift: fused.normed(x, _with(norm, gain, shift)), x, norm.weight, norm.bias)
    compare(
        precision,
        lambda x, y, bias, gain, shift: fused.add_dropped_normed(x, y, bias, dropout, _with(norm, gain, shift)),
        x, y, bias, norm.weight, norm.bias,
    )  # fmt: skip


def _with(norm: nn.LayerNorm, gain: Tensor, shift: Tensor) -> nn.LayerNorm:
    """Return a norm of these tensors, which need not be leaves."""
    other = nn.LayerNorm(len(gain), norm.eps)
    del other.weight, other.bias
    other.weight, other.bias = gain, shift
    return other


@PRECISIONS
@WIDTHS
def test_relu(precision: str, width: int) -> None:
    torch.manual_seed(width)
    inputs = drawn(4, 6, width, dtype=number(precision)), drawn(width)
    compare(precision, lambda x, bias: fused.relu_dropped(x, bias, Dropout(0.0)), *inputs)


@PRECISIONS
@pytest.mark.parametrize(
    ("heads", "keys", "values", "positions"),
    [(2, 8, 8, 5), (1, 3, 3, 17), (4, 32, 32, 15), (2, 64, 64, 33), (2, 5, 20, 7), (3, 34, 2, 18)],
)
@pytest.mark.parametrize("causal", [False, True])
def test_self_attention(precision: str, heads: int, keys: int, values: int, positions: int, causal: bool) -> None:
    torch.manual_seed(positions)
    lengths = None if causal else torch.tensor([positions, 1, positions - 2])
    width = heads * (2 * keys + values)
    compare(
        precision,
        lambda x, b: fused.self_attention(x, b, heads, lengths, Dropout(0.0), key_width=heads * keys),
        drawn(3, positions, width, dtype=number(precision)), drawn(width),
    )  # fmt: skip


@PRECISIONS
@pytest.mark.parametrize(("targets", "sources"), [(1, 1), (4, 9), (20, 3), (16, 16)])
@pytest.mark.parametrize(("keys", "values"), [(24, 24), (6, 30), (57, 9)])
def test_cross_attention(precision: str, targets: int, sources: int, keys: int, values: int) -> None:
    torch.manual_seed(targets)
    lengths = torch.tensor([sources, 1])
    query, memory = drawn(2, targets, keys, dtype=number(precision)), (2, sources, keys + values)
    compare(
        precision,
        lambda q, m, qb, mb: fused.cross_attention(q, m, (qb, mb), 3, lengths, Dropout(0.0)),
        query, drawn(*memory, dtype=number(precision)), drawn(keys), drawn(keys + values),
    )  # fmt: skip


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("way", ["torch", "kernels"])
@pytest.mark.parametrize("elements", [2**26, 100])
def test_the_loss_equals_torchs(smoothing: float, way: str, elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one chunk and in many; so do its gradients, whatever they are multiplied by."""
    torch.manual_seed(1)
    monkeypatch.setattr("nmtkit.models.loss.ELEMENTS", elements)
    monkeypatch.setattr("nmtkit.models.loss.SLICE", max(1, elements // 2))
    x, weight, targets = drawn(23, 12), drawn(37, 12), torch.randint(0, 37, (23,))
    with using(kernels() if way == "kernels" else None):
        loss = output_loss(x, weight, Rounded(), targets, smoothing)
    (loss.total / 7).backward()
    scores = F.linear(x.detach().requires_grad_(), weight.detach().requires_grad_())
    torch.testing.assert_close(loss.nll, F.cross_entropy(scores, targets, reduction="sum"))
    expected = F.cross_entropy(scores, targets, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(loss.total, expected)
    assert loss.tokens == 23
    other_x, other_weight = x.detach().clone().requires_grad_(), weight.detach().clone().requires_grad_()
    (
        F.cross_entropy(F.linear(other_x, other_weight), targets, label_smoothing=smoothing, reduction="sum") / 7
    ).backward()
    torch.testing.assert_close(x.grad, other_x.grad)
    torch.testing.assert_close(weight.grad, other_weight.grad)


def test_the_loss_in_bf16_is_near_that_in_float32() -> None:
    torch.manual_seed(1)
    x, weight, targets = drawn(300, 64), drawn(500, 64), torch.randint(0, 500, (300,))
    exact = F.cross_entropy(F.linear(x, weight), targets, label_smoothing=0.1, reduction="sum")
    expected = torch.autograd.grad(exact, (x, weight))
    for used in (None, kernels()):
        with using(used), torch.autocast("cpu", torch.bfloat16):
            loss = output_loss(x, weight, Rounded(), targets, 0.1)
        assert loss.total.item() == pytest.approx(exact.item(), rel=1e-3)
        for found, right in zip(torch.autograd.grad(loss.total, (x, weight)), expected, strict=True):
            assert float((found - right).norm() / right.norm()) < 0.02


def test_the_loss_without_gradients_needs_none() -> None:
    x, weight = torch.randn(5, 4), torch.randn(9, 4)
    with torch.no_grad():
        loss = output_loss(x, weight, Rounded(), torch.arange(5), 0.0)
    assert not loss.total.requires_grad
    torch.testing.assert_close(loss.total, loss.nll)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_a_number_stays_none(value: float) -> None:
    """A diverged model must show in its loss, whatever fast arithmetic does."""
    torch.manual_seed(1)
    used = kernels()
    for place in (0, 5, 36):
        x, weight = torch.ones(3, 4), torch.randn(37, 4)
        weight[place, 0] = value
        with using(used):
            loss = output_loss(x, weight, Rounded(), torch.tensor([1, 2, 3]), 0.1)
            assert not math.isfinite(loss.total.item())
            wrong = torch.full((2, 8), value).requires_grad_()
            assert not fused.normed(wrong, nn.LayerNorm(8)).isfinite().any()
            assert not fused.relu_dropped(wrong * 1, torch.zeros(8), Dropout(0.0)).isfinite().any()
            packed = torch.full((1, 2, 12), value)
            assert (
                not fused.self_attention(packed, torch.zeros(12), 1, None, Dropout(0.0), key_width=4).isfinite().any()
            )


@pytest.mark.parametrize("p", [0.1, 0.3, 0.9])
def test_dropout_drops_its_share_and_keeps_the_mean(p: float) -> None:
    dropout, bias = Dropout(p), torch.zeros(500)
    x, y = torch.zeros(400, 500), torch.ones(400, 500)
    torch.manual_seed(3)
    with using(kernels()):
        once = fused.add_dropped(x, y, bias, dropout)
        again = fused.add_dropped(x, y, bias, dropout)
        torch.manual_seed(3)
        same = fused.add_dropped(x, y, bias, dropout)
    assert torch.equal(once, same)
    assert not torch.equal(once, again)
    for found in (once, again):
        kept = found != 0
        assert found[kept].unique().tolist() == pytest.approx([1 / (1 - p)])
        deviation = math.sqrt(p * (1 - p) / kept.numel())
        assert abs(float(kept.float().mean()) - (1 - p)) < 5 * deviation
        # Neither rows nor columns nor neighbours know of each other.
        for of in (kept.float().mean(0), kept.float().mean(1)):
            expected = math.sqrt(p * (1 - p) / (kept.numel() / len(of)))
            assert float(of.std()) == pytest.approx(expected, rel=0.2)
        pairs = (kept[:, 1:] & kept[:, :-1]).float().mean()
        assert abs(float(pairs) - (1 - p) ** 2) < 8 * deviation
    both = ((once != 0) & (again != 0)).float().mean()
    assert abs(float(both) - (1 - p) ** 2) < 8 * math.sqrt(p * (1 - p) / once.numel())
    with using(kernels()):
        assert torch.equal(fused.add_dropped(x, y, bias, dropout.eval()), y)


def test_the_way_back_drops_what_the_way_forth_dropped() -> None:
    dropout, norm = Dropout(0.4), nn.LayerNorm(33)
    x, bias = torch.zeros(9, 33), torch.zeros(33)
    with using(kernels()):
        y = torch.ones(9, 33).requires_grad_()
        kept = fused.add_dropped(x, y, bias, dropout)
        (kept * 3).sum().backward()
        torch.testing.assert_close(y.grad, kept.detach() * 3)
        y = torch.rand(9, 33).requires_grad_()
        torch.manual_seed(5)
        summed = fused.add_dropped(x, y, bias, dropout).detach()
        torch.manual_seed(5)
        fused.add_dropped_normed(x, y, bias, dropout, norm)[0][:, 0].sum().backward()
        assert torch.equal(y.grad != 0, summed != 0)
        z = torch.rand(9, 33).requires_grad_()
        found = fused.relu_dropped(z * 1, bias, dropout)
        found.sum().backward()
        torch.testing.assert_close(z.grad, (found.detach() > 0) / 0.6)


def test_a_rounded_matrix_follows_the_one_it_was_made_of() -> None:
    layer = Projection(4, 3)
    x = torch.randn(2, 4)
    with torch.autocast("cpu", torch.bfloat16):
        before = layer.product(x)
        copy = layer.rounded.of(layer.weight)
        assert layer.rounded.of(layer.weight) is copy
        optimizer = AdamConfig().build(layer.parameters())
        optimizer.param_groups[0]["lr"] = 0.1
        layer.product(x).sum().backward()
        optimizer.step()
        assert not torch.equal(layer.product(x), before)
        torch.testing.assert_close(layer.rounded.of(layer.weight), layer.weight.detach().bfloat16())
        layer.load_state_dict({"weight": torch.ones(3, 4), "bias": torch.zeros(3)})
        assert torch.equal(layer.rounded.of(layer.weight), torch.ones(3, 4, dtype=torch.bfloat16))
    assert layer.product(x).dtype == torch.float32


@PRECISIONS
@pytest.mark.parametrize("placement", ["post", "pre"])
def test_a_whole_model_learns_the_same(precision: str, placement: str) -> None:
    config = TransformerConfig(encoder_layers=2, decoder_layers=2, width=32, feed_forward=40, heads=2, dropout=0.0)
    torch.manual_seed(2)
    model = config.model_copy(update={"norm": placement}).build(50, 50)
    batch = random_batch([(3, 9), (5, 9), (20, 2), (7, 18)], vocabulary=50)
    found = []
    for used in (None, kernels()):
        model.zero_grad()
        with using(used), torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = model(batch, 0.1)
        loss.total.backward()
        found.append((loss, {name: p.grad.clone() for name, p in model.named_parameters()}))
    (plain, expected), (fast, gradients) = found
    assert fast.total.item() == pytest.approx(plain.total.item(), rel=1e-6 if precision == "fp32" else 1e-3)
    assert fast.nll.item() == pytest.approx(plain.nll.item(), rel=1e-6 if precision == "fp32" else 1e-3)
    whole = math.sqrt(sum(float(g.norm() ** 2) for g in expected.values()))
    apart = math.sqrt(sum(float((gradients[name] - g).norm() ** 2) for name, g in expected.items()))
    assert apart < (1e-5 if precision == "fp32" else 5e-2) * whole
