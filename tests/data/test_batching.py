"""Batches: within the budget, mixed, nearly full; every process its part."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.data.batching import (
    NOTHING,
    Budget,
    Update,
    deal,
    longest_tensor,
    padded_sizes,
    plan_in_order,
    plan_updates,
    summarize,
)

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


def test_the_longest_pairs_fill_a_tensor():
    tensor = longest_tensor(SOURCE, TARGET, 1_000)
    both = SOURCE + TARGET
    assert both[tensor].min() >= np.delete(both, tensor).max()
    assert padded_sizes([tensor], SOURCE, TARGET).max() <= 1_000
    assert len(tensor) == 1_000 // (max(SOURCE.max(), TARGET.max()) + 1)
    assert len(longest_tensor(SOURCE, TARGET, 1)) == 1
    assert len(longest_tensor(SOURCE[:5], TARGET[:5], 10**6)) == 5


@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 10**6))
def test_processes_share_an_update_without_loss(pairs: int, ranks: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    chosen = generator.choice(3_000, pairs, replace=False)
    update = Update(
        np.split(chosen, np.sort(generator.integers(1, pairs, min(4, pairs - 1)))) if pairs > 1 else [chosen]
    )
    update = Update([tensor for tensor in update.tensors if len(tensor)])
    parts = [deal(update, SOURCE, TARGET, rank=rank, ranks=ranks) for rank in range(ranks)]
    assert sorted(pair for part in parts for tensor in part for pair in tensor.tolist()) == sorted(chosen.tolist())
    assert sum(1 for part in parts if part) == min(ranks, pairs) or len(update.tensors) >= ranks
    assert all(len(tensor) for part in parts for tensor in part)


def test_processes_get_parts_of_like_size():
    for update in plan(Budget(10_000, 300)):
        parts = [deal(update, SOURCE, TARGET, rank=rank, ranks=4) for rank in range(4)]
        loads = [int(padded_sizes(part, SOURCE, TARGET).sum()) for part in parts]
        assert max(loads) - min(loads) <= 600


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_one_tensor_is_divided_among_processes(ranks):
    update = Update([np.arange(100)])
    parts = [deal(update, SOURCE, TARGET, rank=rank, ranks=ranks) for rank in range(ranks)]
    sizes = [sum(map(len, part)) for part in parts]
    assert sum(sizes) == 100
    assert min(sizes) >= 100 // (2 * ranks)
