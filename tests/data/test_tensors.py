"""Tensors: every pair once, within the budget, little padding on either side."""

from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.data import tensors as module
from nmtkit.data.tensors import cut

lengths = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=100)
lengths_of_few = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=60)


def sides(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(pairs, np.int32).reshape(-1, 2)
    return both[:, 0], both[:, 1]


@given(lengths, st.integers(1, 300))
def test_every_pair_once_and_within_the_budget(pairs: list[tuple[int, int]], tokens: int) -> None:
    source, target = sides(pairs)
    tensors = cut(source, target, tokens)
    assert sorted(place for tensor in tensors for place in tensor.tolist()) == list(range(len(pairs)))
    for tensor in tensors:
        longest = max(source[tensor].max(), target[tensor].max()) + 1
        assert len(tensor) * longest <= tokens or len(tensor) == 1


@given(lengths_of_few, st.integers(20, 200), st.sampled_from([(), (1, 2)]))
@settings(max_examples=30)
def test_cuts_are_those_of_looking_at_every_cut(
    pairs: list[tuple[int, int]], tokens: int, words: tuple[int, ...]
) -> None:
    """The search for a cut, done at once for all of them, finds what counting each one's halves finds."""
    source, target = sides(pairs)

    def cheapest(plane, counts, by_row, across, along, surcharge):
        best = 0, np.inf
        for place in range(1, len(across)):
            cost = surcharge[place]
            for rows in (slice(0, place), slice(place, None)):
                half = counts[rows]
                number = half.sum()
                longest = along[half.sum(0).nonzero()[0][-1]], across[rows][-1]
                cost += number * sum(longest) + module.OVERHEAD * tokens * np.ceil(number * max(longest) / tokens)
            if cost < best[1]:
                best = place, cost
        return best

    expected = [tensor.tolist() for tensor in cut(source, target, tokens, words)]
    with patch("nmtkit.data.tensors._Plane._cheapest", cheapest):
        assert [tensor.tolist() for tensor in cut(source, target, tokens, words)] == expected


def test_what_differs_on_either_side_is_parted() -> None:
    pairs = [(5, 20)] * 50 + [(20, 5)] * 50 + [(20, 20)] * 50
    source, target = sides(pairs)
    for tensor in cut(source, target, 300):
        assert np.ptp(source[tensor]) == np.ptp(target[tensor]) == 0


def test_other_words_put_other_pairs_together() -> None:
    """Although a tensor here holds all pairs of its lengths, so that their order would change nothing."""
    generator = np.random.default_rng(7)
    source = np.clip(generator.lognormal(2.6, 0.5, 3_000), 1, 90).astype(np.int32)
    target = np.clip(source * generator.uniform(0.6, 1.5, 3_000), 1, 90).astype(np.int32)
    tensors = [{frozenset(tensor.tolist()) for tensor in cut(source, target, 3_000, (word,))} for word in range(4)]
    assert all(len(one & other) < 0.6 * len(one) for one, other in pairwise(tensors))
    assert cut(source, target, 3_000, (1,))[0].tolist() == cut(source, target, 3_000, (1,))[0].tolist()


def test_a_little_padding_is_no_reason_for_a_tensor() -> None:
    source, target = sides([(10, 10)] * 30 + [(11, 10)] * 5)
    assert len(cut(source, target, 12 * 60)) == 1


def test_like_pairs_keep_their_order() -> None:
    source, target = sides([(3, 4)] * 20)
    assert np.concatenate(cut(source, target, 25)).tolist() == list(range(20))


@pytest.mark.parametrize(("tokens", "share"), [(4_096, 0.96), (25_000, 0.93)])
def test_little_is_padding(tokens: int, share: float) -> None:
    generator = np.random.default_rng(7)
    source = np.clip(generator.lognormal(2.6, 0.5, 60_000), 1, 90).astype(np.int32)
    target = np.clip(source * generator.lognormal(0, 0.15, 60_000), 1, 90).astype(np.int32)
    tensors = cut(source, target, tokens)
    for side in (source, target):
        positions = sum(len(tensor) * (int(side[tensor].max()) + 1) for tensor in tensors)
        assert (side.sum() + len(side)) / positions > share


def test_very_long_sentences_need_no_table_of_all_lengths() -> None:
    source, target = sides([(100_000, 3), (2, 900_000), (5, 5)])
    assert sorted(tensor.tolist() for tensor in cut(source, target, 4_096)) == [[0], [1], [2]]
