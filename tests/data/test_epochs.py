"""Epochs: all pairs, in a mixed order, from any position on, whatever changes on the way."""

import json
from collections import Counter
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.data.batching import deal, padded_sizes
from nmtkit.data.epochs import Batches
from nmtkit.data.mixing import CorpusRange, Mixture, corpus_ranges
from nmtkit.data.position import Position, PositionError
from nmtkit.data.settings import BatchConfig
from nmtkit.errors import DataError

GENERATOR = np.random.default_rng(7)
SOURCE = np.clip(GENERATOR.lognormal(2.6, 0.5, 3_000), 1, 90).astype(np.int32)
TARGET = np.clip(SOURCE * GENERATOR.uniform(0.6, 1.5, 3_000), 1, 90).astype(np.int32)
CONFIG = BatchConfig(tokens_per_update=1_000, tokens_per_tensor=300, window=700)
WHOLE = [CorpusRange(0, 3_000)]


def batches(config=CONFIG, seed=1, corpora=WHOLE, source=SOURCE, target=TARGET):
    return Batches(source, target, corpora, config, seed=seed)


def epoch_of(batches, epoch=0):
    steps = []
    for step in batches.steps(Position(epoch)):
        steps.append(step)
        if step.behind.epoch > epoch:
            return steps
    raise AssertionError


def flat(steps):
    return [pair for step in steps for tensor in step.update.tensors for pair in tensor.tolist()]


@pytest.mark.parametrize("window", [13, 700, 100_000])
def test_every_pair_once(window):
    steps = epoch_of(batches(CONFIG.model_copy(update={"window": window})))
    assert sorted(flat(steps)) == list(range(3_000))
    assert steps[-1].behind == Position(1)


def test_same_seed_and_epoch_same_order_and_others_differ():
    first = flat(epoch_of(batches()))
    assert flat(epoch_of(batches())) == first
    assert flat(epoch_of(batches(), 1)) != first
    assert flat(epoch_of(batches(seed=2))) != first
    assert flat(epoch_of(batches(seed=1), 2)) != flat(epoch_of(batches(seed=2), 1))


@pytest.mark.parametrize("window", [700, 3_000])
def test_each_epoch_puts_other_pairs_together(window):
    made = batches(CONFIG.model_copy(update={"window": window}))
    first, second = (
        {frozenset(tensor.tolist()) for step in epoch_of(made, epoch) for tensor in step.update.tensors}
        for epoch in (0, 1)
    )
    assert len(first & second) < 0.5 * len(first)


def test_windows_are_of_equal_size():
    """700 pairs at most: five windows of 600, not four of 700 and one of 200."""
    begins = [step.behind.begin for step in epoch_of(batches())]
    assert sorted(set(begins)) == [0, 600, 1_200, 1_800, 2_400]


def test_to_begin_anywhere_costs_one_window():
    made = batches()
    steps = epoch_of(made)
    late = steps[-3].behind
    planned = []
    plan = Mixture.pairs

    def watch(mixture, begin, end):
        planned.append((begin, end))
        return plan(mixture, begin, end)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Mixture, "pairs", watch)
        assert flat([next(made.steps(late))]) == flat(steps[-2:-1])
    assert planned == [(2_400, 3_000)]


def test_going_on_is_as_not_having_stopped():
    straight = epoch_of(batches())
    for place in range(0, len(straight) - 1, 5):
        position = Position.from_json(json.loads(json.dumps(straight[place].behind.to_json())))
        assert position == straight[place].behind
        resumed = [step for step, _ in zip(batches().steps(position), straight[place + 1 :], strict=False)]
        assert flat(resumed) == flat(straight[place + 1 :])
        assert [step.behind for step in resumed] == [step.behind for step in straight[place + 1 :]]


def test_epochs_follow_each_other():
    steps = []
    for step in batches().steps(Position()):
        steps.append(step)
        if step.behind.epoch == 2:
            break
    assert flat(steps) == flat(epoch_of(batches())) + flat(epoch_of(batches(), 1))
    epochs = [step.progress.epochs for step in steps]
    assert epochs == sorted(epochs)
    assert epochs[-1] == 2.0
    assert steps[0].progress.updates_per_epoch == pytest.approx(len(steps) / 2, rel=0.1)


changes = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 60), st.integers(1, 120), st.integers(1, 400)), min_size=1, max_size=5
)
corpora = st.lists(st.tuples(st.integers(1, 120), st.sampled_from([0.4, 0.5, 1.0, 1.7, 2.0])), min_size=1, max_size=3)


@given(corpora, changes, st.integers(0, 3), st.integers(0, 10**6))
@settings(max_examples=40)
def test_whatever_changes_on_the_way_each_pair_comes_as_often_as_the_epoch_has_it(sizes, changes, epoch, seed):
    """Budgets, window, number of processes and weights, several times within an epoch; positions go through JSON."""
    ranges = corpus_ranges([size for size, _ in sizes], [weight for _, weight in sizes], None)
    generator = np.random.default_rng(seed)
    source, target = generator.integers(0, 40, (2, ranges[-1].stop))
    mixture = Mixture(ranges, seed=seed, epoch=epoch)
    if not len(mixture):
        return
    expected = Counter(mixture.pairs(0, len(mixture)).tolist())
    came: Counter[int] = Counter()
    position = Position(epoch)
    for number, (updates, tokens_per_tensor, more, window) in enumerate([*changes, (10**6, 30, 30, 50)]):
        config = BatchConfig(
            tokens_per_tensor=tokens_per_tensor, tokens_per_update=tokens_per_tensor + more, window=window
        )
        # Weights that are changed in the middle of an epoch wait for the next one.
        later = [corpus._replace(weight=3.0) for corpus in ranges] if position.seen else ranges
        made = Batches(source, target, later, config, seed=seed)
        for step in islice(made.steps(position), updates):
            for rank in range(number % 3 + 1):
                tensors = step.update.tensors
                for share in deal(tensors, source, target, rank=rank, ranks=number % 3 + 1):
                    came.update(tensors[share.tensor][share.begin : share.end].tolist())
            position = Position.from_json(json.loads(json.dumps(step.behind.to_json())))
            if position.epoch > epoch:
                break
        if position.epoch > epoch:
            break
    assert came == expected
    assert position == Position(epoch + 1)


def test_other_budgets_hold_for_what_is_left_of_the_window():
    steps = batches().steps(Position())
    position = [next(steps) for _ in range(4)][-1].behind
    small = CONFIG.model_copy(update={"tokens_per_update": 200, "tokens_per_tensor": 100})
    made = batches(small)
    step = next(made.steps(position))
    assert padded_sizes(step.update.tensors, SOURCE, TARGET).sum(0).max() <= 200
    assert [leg.updates for leg in step.behind.legs] == [4, 1]
    back = next(batches().steps(step.behind))
    assert [leg.updates for leg in back.behind.legs] == [4, 1, 1]


def test_a_summary_is_that_of_the_epoch():
    made = batches()
    steps = epoch_of(made, 1)
    cost = made.summary(1)
    assert (cost.pairs, cost.updates) == (3_000, len(steps))
    assert cost.source_tokens == SOURCE.sum() + 3_000
    assert made.summary(windows=2).pairs == 1_200
    assert made.summary(windows=99) == made.summary()
    assert batches(corpora=[CorpusRange(0, 3_000, 1.5)]).pairs_per_epoch() == 4_500


def test_the_largest_tensors_are_known_at_the_start():
    made = batches(CONFIG.model_copy(update={"window": 10_000}))
    sizes = [padded_sizes(step.update.tensors, SOURCE, TARGET).sum(1).max() for step in epoch_of(made)]
    largest, longest = made.largest(Position())
    assert padded_sizes([largest], SOURCE, TARGET).sum() == max(sizes)
    assert (SOURCE + TARGET).argmax() in longest


@pytest.mark.parametrize(
    "wrong",
    [
        {"begin": 3_000},
        {"begin": 2_999, "size": 5},
        {"used": 10},
        {"checksum": 5},
        {"size": 4},
        {"weights": (1.0, 1.0)},
    ],
)
def test_a_position_of_other_data_is_refused(wrong):
    steps = batches().steps(Position())
    position = [next(steps) for _ in range(2)][-1].behind
    assert vars(position) | wrong != vars(position)
    with pytest.raises(PositionError):
        next(batches().steps(Position(**{**vars(position), **wrong})))


def test_a_position_over_other_lengths_is_refused():
    steps = batches().steps(Position())
    position = [next(steps) for _ in range(2)][-1].behind
    with pytest.raises(PositionError, match="the pairs behind the position are not those that are planned now"):
        next(batches(source=SOURCE[::-1]).steps(position))


@pytest.mark.parametrize(
    "wrong", [{"epoch": "1"}, {"begin": -1}, {"used": True}, {"weights": [1]}, {"weights": [-1.0]}, {"legs": [{}]}]
)
def test_json_that_is_no_position_is_refused(wrong):
    with pytest.raises((TypeError, KeyError)):
        Position.from_json({**Position().to_json(), **wrong})


def test_an_epoch_without_pairs_is_refused():
    made = batches(corpora=[CorpusRange(0, 3, 0.1)])
    with pytest.raises(DataError, match=r"corpus\.train: with these weights an epoch has no pair; raise the weight"):
        next(made.steps(Position()))
