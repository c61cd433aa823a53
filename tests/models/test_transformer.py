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
    size, value_size = len(query[1]) // heads, len(value[1]) // heads
    for head in range(heads):
        rows = slice(head * size, (head + 1) * size)
        q = x @ query[0][rows].T + query[1][rows]
        k = context @ key[0][rows].T + key[1][rows]
        rows = slice(head * value_size, (head + 1) * value_size)
        v = context @ value[0][rows].T + value[1][rows]
        scores = (q @ k.mT / size**0.5).masked_fill(hidden, float("-inf"))
        found.append(scores.softmax(-1) @ v)
    return torch.cat(found, -1) @ output[0].T + output[1]


def parts(linear, widths):
    return list(zip(linear.weight.split(widths), linear.bias.split(widths), strict=True))


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


key_sizes = pytest.mark.parametrize(("key_size", "key"), [(None, 8), (3, 3), (11, 11)])
placements = pytest.mark.parametrize("placement", ["post", "pre"])


@key_sizes
@placements
def test_encoder_layer_equals_the_naive_one(placement, key_size, key):
    layer = drawn(EncoderLayer(TransformerConfig(**SIZES, norm=placement, key_size=key_size)))
    x, mask = torch.randn(3, 5, 16), torch.arange(5) < torch.tensor([[5], [2], [4]])

    def attend(y):
        attention = layer.self_attention
        q, k, v = parts(attention.query_key_value, [2 * key, 2 * key, 16])
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


@key_sizes
@placements
def test_decoder_layer_equals_the_naive_one(placement, key_size, key):
    layer = drawn(DecoderLayer(TransformerConfig(**SIZES, norm=placement, key_size=key_size)))
    x, encoded = torch.randn(3, 4, 16), torch.randn(3, 5, 16)
    mask = torch.arange(5) < torch.tensor([[5], [2], [4]])
    later = torch.ones(4, 4).triu(1).bool()

    def attend(y):
        attention = layer.self_attention
        q, k, v = parts(attention.query_key_value, [2 * key, 2 * key, 16])
        return naive_heads(y, y, q, k, v, pair(attention.output), 2, later)

    def cross(y):
        attention = layer.cross_attention
        k, v = parts(attention.key_value, [2 * key, 16])
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
    embedded = model._embed(ids, torch.arange(3), "source")
    torch.testing.assert_close(embedded.sum, model.source_embedding.weight[ids] * 4 + sinusoids(torch.arange(3), 16))


def test_learned_positions_are_rows_of_two_matrices_and_the_last_serves_all_beyond():
    model = build(VARIANTS["transformer-learned-positions"])
    ids, rows = torch.tensor([[5, 9, 3, 4]]), [0, 14, 15, 15]
    for side in ("source", "target"):
        tokens = getattr(model, f"{side}_embedding").weight[ids]
        places = getattr(model, f"{side}_position_embedding").weight
        embedded = model._embed(ids, torch.tensor([0, 14, 15, 21]), side)
        torch.testing.assert_close(embedded.sum, (tokens + places[rows]) * 4)
    assert model.source_position_embedding is not model.target_position_embedding


def test_learned_positions_are_drawn_as_tokens_are():
    torch.manual_seed(1)
    model = TransformerConfig(preset="tiny", positions="learned").build(9, 9)
    for matrix in (model.source_position_embedding.weight, model.target_position_embedding.weight):
        assert matrix.shape == (512, 128)
        assert matrix.std().item() == pytest.approx(128**-0.5, rel=0.02)


def test_with_learned_positions_a_width_may_be_odd():
    odd = {"width": 9, "heads": 3}
    assert [c.key for c in TransformerConfig(**odd).conflicts()] == ["width"]
    assert list(TransformerConfig(**odd, positions="learned").conflicts()) == []


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


@pytest.mark.parametrize(("key_size", "fewer"), [(16, 18 * 2 * 8 * 48 * 513), (32, 18 * 2 * 8 * 32 * 513)])
def test_smaller_keys_take_fewer_parameters(key_size, fewer):
    """In each of the 18 attentions queries and keys of 8 heads lose rows of 512 and a bias."""
    with torch.device("meta"):
        model = TransformerConfig(preset="base", key_size=key_size).build(37_000, 37_000)
    assert sum(p.numel() for p in model.parameters()) == PARTS["base"]["total"] - fewer


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
