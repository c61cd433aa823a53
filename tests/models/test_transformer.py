"""The Transformer against the paper: sub-layers written out naively, and the exact number of parameters."""

import pytest
import torch
from torch.nn import functional as F
from toy.models import VARIANTS, build, random_batch

from nmtkit.models.layers import sinusoids
from nmtkit.models.transformer.network import DecoderLayer, EncoderLayer, Stream
from nmtkit.models.transformer.settings import TransformerConfig

SIZES = {"encoder_layers": 2, "decoder_layers": 2, "width": 16, "feed_forward": 24, "heads": 2}


def naive_heads(x, context, query, key, value, output, heads, hidden):
    """Multi-head attention, one head after the other; `hidden` is true where a key must not be seen."""
    found = []
    size = x.size(-1) // heads
    for head in range(heads):
        rows = slice(head * size, (head + 1) * size)
        q = x @ query[0][rows].T + query[1][rows]
        k = context @ key[0][rows].T + key[1][rows]
        v = context @ value[0][rows].T + value[1][rows]
        scores = (q @ k.mT / size**0.5).masked_fill(hidden, float("-inf"))
        found.append(scores.softmax(-1) @ v)
    return torch.cat(found, -1) @ output[0].T + output[1]


def thirds(linear, parts):
    return list(zip(linear.weight.chunk(parts), linear.bias.chunk(parts), strict=True))


def pair(linear):
    return linear.weight, linear.bias


def norm(residual, x):
    return F.layer_norm(x, x.shape[-1:], residual.norm.weight, residual.norm.bias)


def drawn(layer):
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    return layer.eval()


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_encoder_layer_equals_the_naive_one(placement):
    layer = drawn(EncoderLayer(TransformerConfig(**SIZES, norm=placement)))
    x, mask = torch.randn(3, 5, 16), torch.arange(5) < torch.tensor([[5], [2], [4]])

    def attend(y):
        attention = layer.self_attention
        q, k, v = thirds(attention.query_key_value, 3)
        return naive_heads(y, y, q, k, v, pair(attention.output), 2, ~mask[:, None, :])

    def feed(y):
        inner, outer = layer.feed_forward.inner, layer.feed_forward.output
        return (y @ inner.weight.T + inner.bias).clamp(min=0) @ outer.weight.T + outer.bias

    expected = x
    for sublayer, residual in [
        (attend, layer.self_attention_residual),
        (feed, layer.feed_forward_residual),
    ]:
        if placement == "post":
            expected = norm(residual, expected + sublayer(expected))
        else:
            expected = expected + sublayer(norm(residual, expected))
    torch.testing.assert_close(layer(Stream(x, x), mask.sum(1)).sum, expected)


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_decoder_layer_equals_the_naive_one(placement):
    layer = drawn(DecoderLayer(TransformerConfig(**SIZES, norm=placement)))
    x, encoded = torch.randn(3, 4, 16), torch.randn(3, 5, 16)
    mask = torch.arange(5) < torch.tensor([[5], [2], [4]])
    later = torch.ones(4, 4).triu(1).bool()

    def attend(y):
        attention = layer.self_attention
        q, k, v = thirds(attention.query_key_value, 3)
        return naive_heads(y, y, q, k, v, pair(attention.output), 2, later)

    def cross(y):
        attention = layer.cross_attention
        k, v = thirds(attention.key_value, 2)
        return naive_heads(y, encoded, pair(attention.query), k, v, pair(attention.output), 2, ~mask[:, None, :])

    def feed(y):
        inner, outer = layer.feed_forward.inner, layer.feed_forward.output
        return (y @ inner.weight.T + inner.bias).clamp(min=0) @ outer.weight.T + outer.bias

    expected = x
    for sublayer, residual in [
        (attend, layer.self_attention_residual),
        (cross, layer.cross_attention_residual),
        (feed, layer.feed_forward_residual),
    ]:
        if placement == "post":
            expected = norm(residual, expected + sublayer(expected))
        else:
            expected = expected + sublayer(norm(residual, expected))
    torch.testing.assert_close(layer(Stream(x, x), encoded, mask.sum(1)).sum, expected)


def test_embeddings_are_scaled_and_positions_added():
    model = build(VARIANTS["transformer"])
    ids = torch.tensor([[5, 9, 3]])
    embedded = model._embed(model.source_embedding, ids, torch.arange(3))
    torch.testing.assert_close(embedded.sum, model.source_embedding.weight[ids] * 4 + sinusoids(torch.arange(3), 16))


def test_dropout_stands_where_the_paper_has_it():
    """On embeddings + positions and on each sub-layer's output, and nowhere else unless asked for."""
    model = TransformerConfig(**SIZES, dropout=0.25).build(11, 11)
    rates = {name: module.p for name, module in model.named_modules() if type(module).__name__ == "Dropout"}
    on = {name for name, p in rates.items() if p}
    assert {rates[name] for name in on} == {0.25}
    assert "dropout" in on
    assert len(on) == 1 + 2 * 2 + 2 * 3
    assert all(name == "dropout" or name.endswith("_residual.dropout") for name in on)


def test_one_matrix_serves_three_times():
    shared = TransformerConfig(**SIZES).build(11, 11)
    assert shared.source_embedding is shared.target_embedding is shared.output_embedding
    target = TransformerConfig(**SIZES, share_embeddings="target").build(11, 13)
    assert target.source_embedding is not target.target_embedding is target.output_embedding
    assert (
        len({id(m) for m in build(VARIANTS["transformer-unshared"]).modules() if type(m).__name__ == "Embedding"}) == 3
    )


PARTS = {
    # 37,000 × D; per encoder layer 4 (D² + D) attention, 2·D·F + F + D feed-forward, 2 norms of 2 D; per decoder layer
    # 8 (D² + D), the same feed-forward, 3 norms. Biases everywhere but in the output layer, whose matrix is shared.
    "base": {"embeddings": 18_944_000, "encoder": 18_914_304, "decoder": 25_224_192, "total": 63_082_496},
    "big": {"embeddings": 37_888_000, "encoder": 75_577_344, "decoder": 100_780_032, "total": 214_245_376},
}


@pytest.mark.parametrize("preset", PARTS)
def test_number_of_parameters_with_37000_shared_pieces(preset):
    with torch.device("meta"):
        model = TransformerConfig(preset=preset).build(37_000, 37_000)
    counts = {
        "embeddings": model.target_embedding.weight.numel(),
        "encoder": sum(p.numel() for p in model.encoder.parameters()),
        "decoder": sum(p.numel() for p in model.decoder.parameters()),
        "total": sum(p.numel() for p in model.parameters()),
    }
    assert counts == PARTS[preset]


@pytest.mark.parametrize(
    ("preset", "sizes"),
    [
        ("tiny", (4, 4, 128, 256, 4)),
        ("base", (6, 6, 512, 2048, 8)),
        ("big", (6, 6, 1024, 4096, 16)),
    ],
)
def test_presets_have_the_papers_sizes(preset, sizes):
    config = TransformerConfig(preset=preset)
    assert (
        config.encoder_layers,
        config.decoder_layers,
        config.width,
        config.feed_forward,
        config.heads,
    ) == sizes


def test_a_key_beside_a_preset_wins():
    config = TransformerConfig(preset="big", dropout=0.1)
    assert (config.width, config.dropout) == (1024, 0.1)


def test_initial_scores_are_near_uniform():
    torch.manual_seed(1)
    model = TransformerConfig(preset="tiny").build(500, 500).eval()
    loss = model(random_batch([(8, 9), (4, 7)], vocabulary=500))
    assert loss.nll.item() / loss.tokens < 8.0  # ln 500 = 6.2


def test_each_matrix_is_drawn_by_its_own_size():
    """Xavier-uniform of its own inputs and outputs, biases zero, embeddings of variance 1 / D."""
    torch.manual_seed(1)
    model = TransformerConfig(preset="tiny").build(500, 500)
    square, feed = (6 / (128 + 128)) ** 0.5, (6 / (128 + 256)) ** 0.5
    layer = model.decoder[0]
    bounds = [
        (layer.self_attention.query_key_value, 3, square),
        (layer.cross_attention.query, 1, square),
        (layer.cross_attention.key_value, 2, square),
        (layer.cross_attention.output, 1, square),
        (layer.feed_forward.inner, 1, feed),
        (layer.feed_forward.output, 1, feed),
    ]
    for linear, blocks, bound in bounds:
        assert not linear.bias.any()
        for block in linear.weight.chunk(blocks):
            assert 0.99 * bound < block.abs().max() <= bound
    assert model.target_embedding.weight.std().item() == pytest.approx(128**-0.5, rel=0.02)
