"""Batches: within the budget, mixed, nearly full; every process its part."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.data import batching
from nmtkit.data.batching import (
    NEAR,
    NOTHING,
    Budget,
    Share,
    deal,
    longest_tensor,
    padded_sizes,
    plan_in_order,
    plan_updates,
    summarize,
)
from nmtkit.data.tensors import Indexes

GENERATOR = np.random.default_rng(7)
SOURCE = np.clip(GENERATOR.lognormal(2.6, 0.5, 3_000), 1, 90).astype(np.int32)
TARGET = np.clip(SOURCE * GENERATOR.uniform(0.6, 1.5, 3_000), 1, 90).astype(np.int32)
EVERYTHING = np.arange(3_000)
BUDGET = Budget(tokens_per_update=1_000, tokens_per_tensor=300)


def plan(budget=BUDGET, words=(1,), pairs=EVERYTHING):
    return plan_updates(pairs, SOURCE, TARGET, budget, words).updates


def flat(updates):
    return [pair for update in updates for tensor in update.tensors for pair in tensor.tolist()]


def test_every_pair_as_often_as_it_is_given():
    pairs = np.array([5, 5, 9, 2_000, 5, 11])
    assert sorted(flat(plan(pairs=pairs))) == [5, 5, 5, 9, 11, 2_000]
    assert sorted(flat(plan())) == list(range(3_000))
    assert sum(update.pairs for update in plan()) == 3_000


def test_budgets_hold_with_padding_and_end_marks():
    for update in plan():
        sizes = padded_sizes(update.tensors, SOURCE, TARGET)
        assert sizes.max() <= 300
        assert sizes.sum(0).max() <= 1_000


def test_padded_sizes_count_positions():
    tensors = [np.array([0, 1, 2]), np.array([1])]
    assert padded_sizes(tensors, np.array([3, 1, 2]), np.array([1, 5, 1])).tolist() == [[12, 18], [2, 6]]
    assert padded_sizes([], SOURCE, TARGET).shape == (0, 2)


def test_the_words_alone_decide_the_order():
    assert flat(plan()) == flat(plan())
    assert flat(plan(words=(2,))) != flat(plan())


def test_updates_are_nearly_full_the_last_one_too():
    updates = plan(Budget(3_000, 300))
    cost = summarize(updates, SOURCE, TARGET)
    assert cost.padding < 0.1
    assert cost.pairs == 3_000
    assert cost.source_tokens == SOURCE.sum() + 3_000
    assert cost.target_tokens == TARGET.sum() + 3_000
    assert cost.updates == len(updates) < (max(cost.source_tokens, cost.target_tokens) / 3_000) * 1.15
    fullest = [padded_sizes(update.tensors, SOURCE, TARGET).sum(0).max() for update in updates]
    assert min(fullest) > 0.5 * 3_000


def test_costs_add_up():
    updates = plan()
    cost, parts = summarize(updates, SOURCE, TARGET), NOTHING
    for update in updates:
        parts = parts.plus(summarize([update], SOURCE, TARGET))
    assert parts == cost == plan_updates(EVERYTHING, SOURCE, TARGET, BUDGET, (1,)).cost
    assert cost.positions == cost.source_positions + cost.target_positions
    assert cost.padding == 1 - (cost.source_tokens + cost.target_tokens) / cost.positions
    assert summarize([], SOURCE, TARGET) == NOTHING
    assert NOTHING.padding == 0.0


def test_a_pair_over_the_budget_stands_alone():
    source, target = np.array([2, 5_000, 2]), np.array([2, 3, 2])
    updates = plan_updates(np.arange(3), source, target, BUDGET, (1,)).updates
    assert [[1]] in [[tensor.tolist() for tensor in update.tensors] for update in updates]
    assert len(updates) == 2


def test_lengths_within_a_tensor_are_alike_but_an_update_is_mixed():
    updates = plan()
    spread = [np.ptp(TARGET[tensor]) for update in updates for tensor in update.tensors]
    assert np.mean(spread) < 3
    means = [[TARGET[tensor].mean() for tensor in update.tensors] for update in updates]
    assert np.mean([np.ptp(lengths) for lengths in means if len(lengths) > 1]) > 5


def test_evaluation_takes_all_pairs_shortest_first():
    tensors = plan_in_order(SOURCE, TARGET, 300)
    assert sorted(np.concatenate(tensors).tolist()) == list(range(3_000))
    longest = [TARGET[tensor].max() for tensor in tensors]
    assert longest == sorted(longest)


def test_no_pairs_no_updates():
    empty = np.array([], np.int32)
    assert plan_updates(np.array([], np.int64), SOURCE, TARGET, BUDGET, (1,)) == ([], NOTHING)
    assert plan_in_order(empty, empty, 300) == []


def test_the_longest_pairs_fill_a_tensor(monkeypatch):
    tensor = longest_tensor(SOURCE, TARGET, 1_000)
    both = SOURCE + TARGET
    assert both[tensor].min() >= np.delete(both, tensor).max()
    assert padded_sizes([tensor], SOURCE, TARGET).max() <= 1_000
    assert len(tensor) == 1_000 // (max(SOURCE.max(), TARGET.max()) + 1)
    with monkeypatch.context() as patched:
        patched.setattr(batching, "AT_ONCE", 7)
        assert longest_tensor(SOURCE, TARGET, 1_000).tolist() == tensor.tolist()
    assert len(longest_tensor(SOURCE, TARGET, 1)) == 1
    assert len(longest_tensor(SOURCE[:5], TARGET[:5], 10**6)) == 5


def dealt(tensors: list[Indexes], ranks: int) -> list[list[Indexes]]:
    return [
        [tensors[n][begin:end] for n, begin, end in deal(tensors, SOURCE, TARGET, rank=rank, ranks=ranks)]
        for rank in range(ranks)
    ]


@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 10**6))
def test_processes_share_an_update_without_loss(pairs: int, ranks: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    chosen = generator.choice(3_000, pairs, replace=False)
    parts = np.split(chosen, np.sort(generator.integers(1, pairs, min(4, pairs - 1)))) if pairs > 1 else [chosen]
    tensors = [tensor for tensor in parts if len(tensor)]
    came = [pair for own in dealt(tensors, ranks) for part in own for pair in part.tolist()]
    assert came == np.concatenate(tensors).tolist(), "each pair once, in the order of the update"


def test_processes_get_parts_of_like_size():
    for update in plan(Budget(10_000, 300)):
        tensors = list(update.tensors)
        loads = [int(padded_sizes(part, SOURCE, TARGET).sum()) for part in dealt(tensors, 4)]
        whole, pair = int(padded_sizes(tensors, SOURCE, TARGET).sum()), int((SOURCE + TARGET).max()) + 2
        assert max(loads) <= whole / 4 * (1 + 2 * NEAR) + pair


def test_one_process_gets_all_tensors_whole():
    tensors = [np.arange(7), np.arange(7, 9)]
    assert deal(tensors, SOURCE, TARGET, rank=0, ranks=1) == [Share(0, 0, 7), Share(1, 0, 2)]


def test_a_cut_falls_between_tensors_where_that_is_near():
    source = np.full(100, 9)
    tensors = [np.arange(49), np.arange(49, 100)]
    assert deal(tensors, source, source, rank=0, ranks=2) == [Share(0, 0, 49)]
    tensors = [np.arange(40), np.arange(40, 100)]
    assert deal(tensors, source, source, rank=0, ranks=2) == [Share(0, 0, 40), Share(1, 0, 10)]
    assert deal(tensors, source, source, rank=1, ranks=2) == [Share(1, 10, 60)]


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_one_tensor_is_divided_among_processes(ranks):
    sizes = [sum(map(len, part)) for part in dealt([np.arange(100)], ranks)]
    assert sum(sizes) == 100
    assert min(sizes) >= 100 // (2 * ranks)
