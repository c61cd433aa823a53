"""Layers against naive references written out here."""

import math

import pytest
import torch
from torch.nn import functional as F

from nmtkit.models.layers import Dropout, attention, causal_bias, padding_bias, sinusoids


def naive_attention(query, key, value, seen):
    """One query at a time, one key at a time."""
    out = torch.zeros(query.shape[:-1] + value.shape[-1:])
    for b in range(query.size(0)):
        for h in range(query.size(1)):
            for t in range(query.size(2)):
                keys = [position for position in range(key.size(2)) if seen(b, t, position)]
                scores = [float(query[b, h, t] @ key[b, h, k]) / math.sqrt(query.size(-1)) for k in keys]
                weights = [math.exp(score) for score in scores]
                for k, weight in zip(keys, weights, strict=True):
                    out[b, h, t] += weight / sum(weights) * value[b, h, k]
    return out


def tensors(*shapes):
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def test_attention_under_padding_equals_the_naive_one():
    query, key, value = tensors((2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 8))
    lengths = [5, 2]
    mask = torch.arange(5) < torch.tensor(lengths)[:, None]
    found = attention(query, key, value, padding_bias(mask), Dropout(0.0))
    torch.testing.assert_close(found, naive_attention(query, key, value, lambda b, t, k: k < lengths[b]))


def test_causal_attention_equals_the_naive_one():
    query, key, value = tensors((2, 2, 5, 4), (2, 2, 5, 4), (2, 2, 5, 4))
    found = attention(query, key, value, causal_bias(5, query.device), Dropout(0.0))
    torch.testing.assert_close(found, naive_attention(query, key, value, lambda b, t, k: k <= t))


def test_attention_equals_the_fused_kernel():
    query, key, value = tensors((2, 2, 5, 4), (2, 2, 5, 4), (2, 2, 5, 4))
    torch.testing.assert_close(
        attention(query, key, value, None, Dropout(0.0)), F.scaled_dot_product_attention(query, key, value)
    )


@pytest.mark.parametrize("position", [0, 1, 7, 511])
def test_sinusoids_equal_the_papers_formula(position):
    width = 16
    expected = [
        (math.sin if dimension % 2 == 0 else math.cos)(position / 10_000 ** (2 * (dimension // 2) / width))
        for dimension in range(width)
    ]
    assert sinusoids(torch.tensor([position]), width)[0].tolist() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_dropout_drops_the_share_and_keeps_the_mean(p):
    torch.manual_seed(1)
    dropped = Dropout(p).train()(torch.ones(1_000_003))
    assert (dropped == 0).float().mean().item() == pytest.approx(p, abs=0.002)
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / (1 - p)])
    assert dropped.mean().item() == pytest.approx(1, abs=0.003)


def test_dropout_is_drawn_for_each_element_by_itself():
    """Neighbours that share a random word, and equal places of two draws, must not agree more often than chance."""
    torch.manual_seed(1)
    layer = Dropout(0.5).train()
    first, second = (layer(torch.ones(400_000)) > 0 for _ in range(2))
    for one, other in [
        (first[:-1], first[1:]),
        (first[:-2], first[2:]),
        (first[:-4], first[4:]),
        (first, second),
    ]:
        assert (one == other).float().mean().item() == pytest.approx(0.5, abs=0.005)


def test_dropout_gradient_is_its_mask():
    torch.manual_seed(1)
    x = torch.ones(5, 7, requires_grad=True)
    dropped = Dropout(0.4).train()(x)
    dropped.sum().backward()
    assert torch.equal(x.grad, dropped.detach())
