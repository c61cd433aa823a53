"""The plan of batches: every pair once, within the budget, a pure function of (seed, epoch)."""

import numpy as np
import pytest

from nmtkit.data.batching import padded_size, plan_epoch, plan_in_order, summarize
from nmtkit.data.settings import BatchConfig

GENERATOR = np.random.default_rng(7)
SOURCE = np.clip(GENERATOR.lognormal(2.6, 0.5, 3_000), 1, 90).astype(np.int32)
TARGET = np.clip(SOURCE * GENERATOR.uniform(0.6, 1.5, 3_000), 1, 90).astype(np.int32)
CONFIG = BatchConfig(tokens_per_update=1_000, tokens_per_tensor=300, window=700)


def plan(config=CONFIG, seed=1, epoch=0):
    return plan_epoch(SOURCE, TARGET, config, seed=seed, epoch=epoch)


def flat(updates):
    return np.concatenate([tensor for update in updates for tensor in update.tensors]).tolist()


@pytest.mark.parametrize("window", [1, 7, 700, 100_000])
def test_every_pair_once(window):
    updates = plan(BatchConfig(tokens_per_update=1_000, tokens_per_tensor=300, window=window))
    assert sorted(flat(updates)) == list(range(3_000))
    assert sum(update.pairs for update in updates) == 3_000


def test_budgets_hold_with_padding_and_end_marks():
    for update in plan():
        sizes = [padded_size(tensor, SOURCE, TARGET) for tensor in update.tensors]
        assert max(max(size) for size in sizes) <= 300
        assert sum(size[0] for size in sizes) <= 1_000
        assert sum(size[1] for size in sizes) <= 1_000


def test_padded_size_counts_positions():
    tensor = np.array([0, 1, 2])
    assert padded_size(tensor, np.array([3, 1, 2]), np.array([1, 5, 1])) == (12, 18)


def test_same_seed_and_epoch_same_plan_and_others_differ():
    assert flat(plan()) == flat(plan())
    assert flat(plan()) != flat(plan(epoch=1))
    assert flat(plan()) != flat(plan(seed=2))


@pytest.mark.parametrize("window", [700, 3_000])
def test_each_epoch_puts_other_pairs_together(window):
    config = CONFIG.model_copy(update={"window": window})
    first, second = (
        {frozenset(tensor.tolist()) for update in plan(config, epoch=epoch) for tensor in update.tensors}
        for epoch in (0, 1)
    )
    assert len(first & second) < 0.5 * len(first)


def test_seed_and_epoch_do_not_stand_in_for_each_other():
    assert flat(plan(seed=1, epoch=2)) != flat(plan(seed=2, epoch=1))


def test_updates_are_nearly_full():
    updates = plan(BatchConfig(tokens_per_update=3_000, tokens_per_tensor=300, window=3_000))
    summary = summarize(updates, SOURCE, TARGET)
    assert summary.padding < 0.12
    assert summary.source_tokens == SOURCE.sum() + 3_000
    assert summary.target_tokens == TARGET.sum() + 3_000
    assert summary.updates == len(updates) < (max(summary.source_tokens, summary.target_tokens) / 3_000) * 1.25


def test_a_pair_over_the_budget_stands_alone():
    source, target = np.array([2, 500, 2]), np.array([2, 3, 2])
    updates = plan_epoch(source, target, CONFIG, seed=1, epoch=0)
    assert [1] in [tensor.tolist() for update in updates for tensor in update.tensors]


def test_lengths_within_a_tensor_are_alike_but_an_update_is_mixed():
    updates = plan(BatchConfig(tokens_per_update=1_000, tokens_per_tensor=300, window=3_000))
    spread = [np.ptp(TARGET[tensor]) for update in updates for tensor in update.tensors]
    assert np.mean(spread) < 2
    means = [[TARGET[tensor].mean() for tensor in update.tensors] for update in updates]
    assert np.mean([np.ptp(lengths) for lengths in means if len(lengths) > 1]) > 5


def test_evaluation_takes_all_pairs_shortest_first():
    tensors = plan_in_order(SOURCE, TARGET, 300)
    assert sorted(np.concatenate(tensors).tolist()) == list(range(3_000))
    longest = [TARGET[tensor].max() for tensor in tensors]
    assert longest == sorted(longest)


def test_no_pairs_no_updates():
    empty = np.array([], np.int32)
    assert plan_epoch(empty, empty, CONFIG, seed=1, epoch=0) == []
    assert summarize([], empty, empty).padding == 0.0
