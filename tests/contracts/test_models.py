"""What every model promises, over every variation of every architecture of the union."""

import math

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional as F
from toy.models import VARIANTS, VOCABULARY, build, random_batch
from toy.union import members

from nmtkit.data.batch import Batch, Padded
from nmtkit.models.settings import ModelConfig

LENGTHS = [(3, 5), (7, 2), (1, 1), (5, 6)]

pytestmark = pytest.mark.parametrize("variant", VARIANTS)


def rows(batch: Batch, index: list[int]) -> Batch:
    """Return some pairs of a batch, cut to their own longest."""

    def take(side: Padded) -> Padded:
        lengths = side.lengths[index]
        return Padded(side.ids[index][:, : int(lengths.max())], lengths)

    return Batch(take(batch.source), take(batch.target))


def padded_further(side: Padded, columns: int) -> Padded:
    return Padded(F.pad(side.ids, (0, columns)), side.lengths)


def test_every_architecture_has_a_variant(variant: str) -> None:
    assert {type(config) for config in VARIANTS.values()} == set(members(ModelConfig))


def test_padding_changes_nothing(variant: str) -> None:
    model, batch = build(VARIANTS[variant]), random_batch(LENGTHS)
    wider = Batch(padded_further(batch.source, 3), padded_further(batch.target, 2))
    torch.testing.assert_close(model(wider).total, model(batch).total)
    torch.testing.assert_close(model.logits(wider)[:, : batch.target.ids.size(1)], model.logits(batch))


def test_what_padding_holds_changes_nothing(variant: str) -> None:
    model, batch = build(VARIANTS[variant]), random_batch(LENGTHS)
    other = Batch(*(Padded(side.ids.masked_fill(~side.mask, 7), side.lengths) for side in batch))
    torch.testing.assert_close(model(other).total, model(batch).total)


def test_order_in_a_batch_changes_nothing(variant: str) -> None:
    model, batch = build(VARIANTS[variant]), random_batch(LENGTHS)
    order = [2, 0, 3, 1]
    torch.testing.assert_close(model.logits(rows(batch, order)), model.logits(batch)[order])


def test_loss_of_a_batch_is_the_sum_of_its_sentences(variant: str) -> None:
    model, batch = build(VARIANTS[variant]), random_batch(LENGTHS)
    whole = model(batch, label_smoothing=0.1)
    alone = [model(rows(batch, [row]), label_smoothing=0.1) for row in range(len(LENGTHS))]
    torch.testing.assert_close(whole.total, sum(loss.total for loss in alone))
    torch.testing.assert_close(whole.nll, sum(loss.nll for loss in alone))
    assert whole.tokens == sum(loss.tokens for loss in alone) == sum(target + 1 for _, target in LENGTHS)


def test_loss_is_smoothed_cross_entropy_of_the_logits(variant: str) -> None:
    model, batch = build(VARIANTS[variant]), random_batch(LENGTHS)
    total = nll = 0.0
    for scores, ids, length in zip(model.logits(batch), batch.target.ids, batch.target.lengths, strict=True):
        for position in range(int(length)):
            exponents = [math.exp(score) for score in scores[position].tolist()]
            logs = [math.log(e / sum(exponents)) for e in exponents]
            nll -= logs[int(ids[position])]
            total -= 0.8 * logs[int(ids[position])] + sum(0.2 / VOCABULARY * log for log in logs)
    plain, smoothed = model(batch, label_smoothing=0.0), model(batch, label_smoothing=0.2)
    assert plain.total.item() == plain.nll.item() == pytest.approx(nll, rel=1e-5)
    assert smoothed.nll.item() == pytest.approx(nll, rel=1e-5)
    assert smoothed.total.item() == pytest.approx(total, rel=1e-5)


def test_every_parameter_gets_a_gradient(variant: str) -> None:
    model = build(VARIANTS[variant])
    model(random_batch(LENGTHS)).total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        gradient = parameter.grad
        # The softmax over keys takes no notice of a constant added to every key, so key biases stay where they are.
        if name.endswith("key_value.bias"):
            *queries, _, values = gradient.split(model.get_submodule(name.rsplit(".", 2)[0]).widths)
            gradient = torch.cat([*queries, values])
        # Where a ReLU is off for every token, its row gets nothing; more than half of a matrix would be a fault.
        assert gradient.abs().amax() > 0, name
        if not name.endswith("embedding.weight"):
            assert (gradient != 0).float().mean() >= 0.5, name


def test_saved_and_loaded_gives_the_same(variant: str, tmp_path) -> None:
    model, other = build(VARIANTS[variant]), build(VARIANTS[variant], seed=2)
    batch = random_batch(LENGTHS)
    assert not torch.equal(model.logits(batch), other.logits(batch))
    save_file(dict(model.named_parameters()), tmp_path / "weights.safetensors")
    _, unexpected = other.load_state_dict(load_file(tmp_path / "weights.safetensors"), strict=False)
    assert unexpected == []
    assert torch.equal(model.logits(batch), other.logits(batch))


def test_dropout_is_off_outside_training_and_repeatable_within(variant: str) -> None:
    model, batch = build(VARIANTS[variant]), random_batch(LENGTHS)
    assert torch.equal(model(batch).total, model(batch).total)
    model.train()
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(model(batch).total.item())
    assert losses[0] == losses[1] != losses[2]


def test_stepping_equals_teacher_forcing(variant: str) -> None:
    model, batch = build(VARIANTS[variant]), random_batch(LENGTHS)
    forced = model.logits(batch)
    memory = model.encode(batch.source)
    state = model.start(memory)
    for position, tokens in enumerate(batch.decoder_input.unbind(1)):
        stepped, state = model.step(tokens, memory, state)
        torch.testing.assert_close(stepped, forced[:, position])


def test_later_targets_do_not_change_earlier_scores(variant: str) -> None:
    model, batch = build(VARIANTS[variant]), random_batch([(4, 6)])
    changed = batch.target.ids.clone()
    changed[0, 3] = 4 + (changed[0, 3] - 3) % (VOCABULARY - 4)
    assert not torch.equal(changed, batch.target.ids)
    before = model.logits(batch)
    after = model.logits(Batch(batch.source, Padded(changed, batch.target.lengths)))
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_state_follows_its_row(variant: str) -> None:
    """Hypotheses of a sentence stand side by side; permuted, repeated or dropped, each goes on as if alone."""
    model, batch = build(VARIANTS[variant]), random_batch(LENGTHS)
    memory = model.encode(batch.source)
    first = torch.full((len(LENGTHS),), 2)
    _, state = model.step(first, memory, model.start(memory))
    expected = {}
    for token in (4, 5, 6):
        expected[token], _ = model.step(torch.full_like(first, token), memory, model.select(state, torch.arange(4)))
    kept = torch.tensor([3, 1])
    tokens = [[6, 4, 5], [5, 5, 6]]
    wide = model.select(state, kept.repeat_interleave(3))
    stepped, _ = model.step(torch.tensor(tokens).flatten(), model.select(memory, kept), wide)
    continued = [(sentence, token) for sentence, row in zip(kept.tolist(), tokens, strict=True) for token in row]
    for row, (sentence, token) in enumerate(continued):
        torch.testing.assert_close(stepped[row], expected[token][sentence])
