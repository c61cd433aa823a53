"""The recurrent encoder-decoder against PyTorch's own cells, the papers' formulas in loops, and sentences alone."""

import math

import pytest
import torch
from torch import nn
from toy.models import VARIANTS, VOCABULARY, build, random_batch

from nmtkit.data.batch import Padded
from nmtkit.models.rnn.attention import AdditiveAttention, DotAttention
from nmtkit.models.rnn.cells import Gru, Lstm, gate_inputs, reversed_within
from nmtkit.models.rnn.network import EncoderLayer
from nmtkit.models.rnn.settings import RnnConfig
from nmtkit.section import all_conflicts

RNNS = {name: config for name, config in VARIANTS.items() if isinstance(config, RnnConfig)}
TORCH_LAYERS = {"gru": nn.GRU, "lstm": nn.LSTM}
LENGTHS = [(3, 5), (7, 2), (1, 1), (5, 6)]

every_cell = pytest.mark.parametrize("layer", [Gru, Lstm])


def drawn(module):
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.5)
    return module.eval()


def torch_cell(layer, feed=None):
    """Return PyTorch's cell with the weights of a layer; `feed` are more columns of the input weights."""
    weight = layer.weight_ih_l0 if feed is None else torch.cat((layer.weight_ih_l0, feed), dim=1)
    kind = nn.GRUCell if isinstance(layer, Gru) else nn.LSTMCell
    cell = kind(weight.size(1), layer.hidden_size)
    cell.load_state_dict(
        {
            "weight_ih": weight,
            "weight_hh": layer.weight_hh_l0,
            "bias_ih": layer.bias_ih_l0,
            "bias_hh": layer.bias_hh_l0,
        }
    )
    return cell


def torch_step(cell, x, state):
    """Return the state behind x as a tuple, for either cell."""
    return (cell(x, state[0]),) if isinstance(cell, nn.GRUCell) else cell(x, state)


def torch_encoder(model):
    """Return PyTorch's bidirectional layers with the weights of a model's encoder."""
    config = model.config
    layers = TORCH_LAYERS[config.cell](
        config.width, config.width // 2, config.encoder_layers, batch_first=True, bidirectional=True
    )
    weights = {}
    for number, layer in enumerate(model.encoder):
        for direction, ending in ((layer.forwards, ""), (layer.backwards, "_reverse")):
            for name, parameter in direction.named_parameters():
                weights[name.replace("_l0", f"_l{number}{ending}")] = parameter
    layers.load_state_dict(weights)
    return layers


def naive_additive(attention, query, keys):
    """One query, one source position, one dimension at a time; `keys` are what the encoder made."""
    asked = attention.query.weight @ query
    scores = []
    for encoded in keys:
        key = attention.key.weight @ encoded + attention.key.bias
        scores.append(
            sum(float(v) * math.tanh(q + k) for v, q, k in zip(attention.score.weight[0], asked, key, strict=True))
        )
    return scores


def naive_dot(attention, query, keys):
    return [
        sum(
            float(query[row]) * float(attention.key.weight[row, column]) * float(encoded[column])
            for row in range(len(query))
            for column in range(len(encoded))
        )
        for encoded in keys
    ]


def naive_attention(attention, query, encoded):
    """Return what one query, (D,), finds in (S, D)."""
    score = naive_additive if isinstance(attention, AdditiveAttention) else naive_dot
    weights = [math.exp(s) for s in score(attention, query, encoded)]
    return sum(weight / sum(weights) * value for weight, value in zip(weights, encoded, strict=True))


def naive_logits(model, source, target_input):
    """One sentence alone, one token after another: the scores of the token behind each of `target_input`, (T, V)."""
    decoder, width = model.decoder, model.config.width
    encoded = torch_encoder(model)(model.source_embedding.weight[source][None] * width**0.5)[0][0]
    states = (decoder.initial.weight @ encoded[0, width // 2 :] + decoder.initial.bias).tanh()
    per_layer = decoder.layers[0].states
    states = list(states[None].split(width, dim=-1))
    states = [tuple(states[n : n + per_layer]) for n in range(0, len(states), per_layer)]
    feeds = [decoder.feed.weight if decoder.feed else None] + [None] * (len(decoder.layers) - 1)
    cells = [torch_cell(layer, feed) for layer, feed in zip(decoder.layers, feeds, strict=True)]
    vector, scores = torch.zeros(1, width), []
    for token in target_input:
        x = model.target_embedding.weight[token][None] * width**0.5
        if decoder.feed:
            x = torch.cat((x, vector), dim=-1)
        for depth, cell in enumerate(cells):
            states[depth] = torch_step(cell, x, states[depth])
            x = states[depth][0]
        found = naive_attention(decoder.attention, x[0], encoded)
        vector = torch.cat((found, x[0])) @ decoder.combine.weight.T + decoder.combine.bias
        vector = vector.tanh()[None]
        scores.append(model.output_embedding.weight @ vector[0])
    return torch.stack(scores)


@pytest.mark.parametrize("variant", RNNS)
def test_the_network_equals_the_naive_one(variant):
    model, batch = build(RNNS[variant]), random_batch(LENGTHS)
    with torch.no_grad():
        found = model.logits(batch)
        for row, (source, target) in enumerate(zip(batch.source.lengths, batch.target.lengths, strict=True)):
            expected = naive_logits(model, batch.source.ids[row, :source], batch.decoder_input[row, :target])
            torch.testing.assert_close(found[row, :target], expected, rtol=1e-4, atol=1e-5)


# Cells


@every_cell
def test_a_step_equals_pytorchs_cell(layer):
    ours = drawn(layer(6, 5))
    x, state = torch.randn(3, 6), tuple(torch.randn(3, 5) for _ in range(layer.states))
    expected = torch_step(torch_cell(ours), x, state)
    found = ours.step(gate_inputs(ours, x), state)
    assert len(found) == layer.states
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@every_cell
@pytest.mark.parametrize("given", [True, False])
def test_a_sequence_is_its_steps(layer, given):
    ours = drawn(layer(6, 5))
    x = torch.randn(3, 4, 6)
    state = tuple(torch.randn(3, 5) if given else torch.zeros(3, 5) for _ in range(layer.states))
    found = ours.sequence(x, state if given else None)
    for position, inputs in enumerate(gate_inputs(ours, x).unbind(1)):
        state = ours.step(inputs, state)
        torch.testing.assert_close(found[:, position], state[0])


@every_cell
def test_each_gate_is_drawn_by_its_own_size(layer):
    """Inputs Xavier-uniform, recurrent weights orthogonal, biases zero but for the LSTM's forget gate."""
    torch.manual_seed(1)
    ours = layer(64, 32)
    bound = (6 / (64 + 32)) ** 0.5
    for block in ours.weight_ih_l0.chunk(layer.gates):
        assert 0.99 * bound < block.abs().max() <= bound
    for block in ours.weight_hh_l0.chunk(layer.gates):
        torch.testing.assert_close(block @ block.T, torch.eye(32), rtol=0, atol=1e-5)
    biases = torch.stack((ours.bias_ih_l0, ours.bias_hh_l0)).view(2, layer.gates, 32)
    expected = torch.zeros(2, layer.gates, 32)
    if layer is Lstm:
        expected[0, 1] = 1
    assert torch.equal(biases, expected)


def test_turned_round_within_its_length():
    x = torch.arange(8.0).view(2, 4, 1)
    turned = reversed_within(x, torch.tensor([4, 2]))
    assert turned[:, :, 0].tolist() == [[3, 2, 1, 0], [5, 4, 6, 7]]
    assert torch.equal(reversed_within(turned, torch.tensor([4, 2])), x)


# Encoder and attention


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_encoder_on_a_padded_batch_equals_each_sentence_alone(cell):
    layer = drawn(EncoderLayer(RnnConfig(cell=cell, width=8, preset="tiny")))
    x, lengths = torch.randn(4, 6, 8), torch.tensor([6, 1, 4, 2])
    together = layer(x, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = layer(x[row : row + 1, :length], lengths[row : row + 1])
        torch.testing.assert_close(together[row, :length], alone[0])


@pytest.mark.parametrize("kind", [AdditiveAttention, DotAttention])
def test_attention_equals_the_naive_one(kind):
    attention = drawn(kind(6)).requires_grad_(False)
    queries, encoded = torch.randn(2, 3, 6), torch.randn(2, 5, 6)
    lengths = [5, 2]
    bias = torch.zeros(2, 1, 5)
    bias[1, :, 2:] = -math.inf
    found = attention(queries, attention.keys(encoded), encoded, bias)
    for sentence, length in enumerate(lengths):
        for place in range(3):
            expected = naive_attention(attention, queries[sentence, place], encoded[sentence, :length])
            torch.testing.assert_close(found[sentence, place], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("variant", RNNS)
def test_memory_and_state_are_float32_under_autocast_too(variant):
    model, batch = build(RNNS[variant]), random_batch(LENGTHS)
    exact = model(batch).total.item()
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(batch)
        memory = model.encode(batch.source)
        scores, state = model.step(batch.decoder_input[:, 0], memory, model.start(memory))
    assert scores.dtype == torch.bfloat16
    assert {tensor.dtype for tensor in (*memory.values(), *state.values())} == {torch.float32}
    assert loss.total.item() == pytest.approx(exact, rel=0.01)


# Settings and sizes


def expected_parameters(config, source_vocabulary, target_vocabulary):
    """By part. Each direction of the encoder and each layer of the decoder has two biases, as in cuDNN."""
    width, half = config.width, config.width // 2
    gates, states = {"gru": (3, 1), "lstm": (4, 2)}[config.cell]
    embeddings = {"all": target_vocabulary, "none": source_vocabulary + 2 * target_vocabulary}[config.share_embeddings]
    direction = gates * (half * width + half * half + 2 * half)
    layer = gates * (2 * width * width + 2 * width)
    feed = gates * width * width if config.input_feeding else 0
    initial = config.decoder_layers * states * (half * width + width)
    scores = {"additive": 2 * width * width + 2 * width, "dot": width * width}[config.attention]
    return {
        "embeddings": embeddings * width,
        "encoder": config.encoder_layers * 2 * direction,
        "decoder": config.decoder_layers * layer + feed + initial + scores + 2 * width * width + width,
    }


@pytest.mark.parametrize("variant", RNNS)
def test_number_of_parameters(variant):
    config = RNNS[variant]
    model = config.build(VOCABULARY, VOCABULARY)
    expected = expected_parameters(config, VOCABULARY, VOCABULARY)
    for part in ("encoder", "decoder"):
        assert sum(p.numel() for p in getattr(model, part).parameters()) == expected[part]
    assert sum(p.numel() for p in model.parameters()) == sum(expected.values())


def test_dropout_never_stands_between_positions():
    model = RnnConfig(preset="tiny", width=8, dropout=0.25).build(11, 11)
    rates = {name: module.p for name, module in model.named_modules() if type(module).__name__ == "Dropout"}
    assert rates == {"dropout": 0.25, "decoder.dropout": 0.25}
    assert {module.dropout for module in model.modules() if isinstance(module, nn.RNNBase)} == {0.0}


@pytest.mark.parametrize("input_feeding", [True, False])
def test_dropout_stands_at_every_border_between_layers(input_feeding):
    """On embeddings, on what each layer of the encoder made, between those of the decoder, before the output."""
    config = RnnConfig(preset="tiny", encoder_layers=2, decoder_layers=3, width=8, input_feeding=input_feeding)
    model, seen = config.build(VOCABULARY, VOCABULARY).train(), []
    for dropout in (model.dropout, model.decoder.dropout):
        dropout.register_forward_hook(lambda module, args, output: seen.append(args[0].shape))
    model(random_batch([(4, 6), (3, 2)]))
    between = [(2, 8)] * 14 if input_feeding else [(2, 7, 8)] * 2
    assert seen == [(2, 5, 8)] * 3 + [(2, 7, 8), *between, (2, 7, 8)]


def test_one_matrix_serves_three_times():
    sizes = {"preset": "tiny", "width": 8}
    shared = RnnConfig(**sizes).build(11, 11)
    assert shared.source_embedding is shared.target_embedding is shared.output_embedding
    target = RnnConfig(**sizes, share_embeddings="target").build(11, 13)
    assert target.source_embedding is not target.target_embedding is target.output_embedding
    apart = build(RNNS["rnn-lstm-unshared"])
    assert len({id(m) for m in apart.modules() if type(m).__name__ == "Embedding"}) == 3


def test_the_source_is_read_from_both_ends():
    """What stands at the last position knows the first token, and the other way round."""
    model = build(RNNS["rnn"])
    ids = torch.tensor([[5, 6, 7, 8, 3]])
    before = model.encode(Padded(ids, torch.tensor([5])))["values"][0]
    for place, other in ((0, 4), (4, 0)):
        changed = ids.clone()
        changed[0, place] = 9
        after = model.encode(Padded(changed, torch.tensor([5])))["values"][0]
        assert not torch.allclose(before[other], after[other])


def test_input_feeding_feeds():
    """The second step depends on the attentional vector of the first, and only with input feeding."""
    for variant, fed in (("rnn", True), ("rnn-lstm-dot-unfed", False)):
        model, batch = build(RNNS[variant]), random_batch(LENGTHS)
        memory = model.encode(batch.source)
        state = model.start(memory)
        plain, _ = model.step(batch.decoder_input[:, 0], memory, state)
        other, _ = model.step(batch.decoder_input[:, 0], memory, {**state, "vector": state["vector"] + 1})
        assert torch.allclose(plain, other) != fed


def test_initial_scores_are_near_uniform():
    torch.manual_seed(1)
    model = RnnConfig(preset="tiny").build(500, 500).eval()
    loss = model(random_batch([(8, 9), (4, 7)], vocabulary=500))
    assert loss.nll.item() / loss.tokens < 7.0  # ln 500 = 6.2


def test_an_odd_width_is_refused():
    (conflict,) = all_conflicts(RnnConfig(preset="tiny", width=9))
    assert conflict.key == "width"
    assert "choose an even one" in conflict.message


def test_a_preset_fills_what_is_not_given():
    config = RnnConfig(preset="base", dropout=0.5)
    assert (config.encoder_layers, config.decoder_layers, config.width, config.dropout) == (4, 4, 1024, 0.5)
