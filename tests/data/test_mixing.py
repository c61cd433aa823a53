"""Mixing: how often each pair is seen in an epoch."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.data.mixing import CorpusRange, Mixture, corpus_ranges, seen, temperature_weights


def pairs(corpora: list[CorpusRange], epoch: int = 0, seed: int = 1) -> list[int]:
    mixture = Mixture(corpora, seed=seed, epoch=epoch)
    return mixture.pairs(0, len(mixture)).tolist()


@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from([0.1, 0.5, 0.75, 1.0, 1.5, 2.0, 3.2])), min_size=1),
    st.integers(0, 9),
)
def test_each_pair_comes_as_often_as_its_weight_says(sizes: list[tuple[int, float]], epoch: int) -> None:
    corpora = corpus_ranges([size for size, _ in sizes], [weight for _, weight in sizes], None)
    counts = Counter(pairs(corpora, epoch))
    for corpus in corpora:
        size = corpus.stop - corpus.start
        times = [counts.pop(pair, 0) for pair in range(corpus.start, corpus.stop)]
        assert set(times) <= {int(corpus.weight), int(corpus.weight) + 1}
        assert sum(times) == seen(corpus) == pytest.approx(corpus.weight * size, abs=0.5)
    assert not counts


def test_a_half_is_drawn_anew_each_epoch_and_all_pairs_come_in_time() -> None:
    corpora = [CorpusRange(0, 30), CorpusRange(30, 130, 0.5)]
    draws = [frozenset(pair for pair in pairs(corpora, epoch) if pair >= 30) for epoch in range(12)]
    assert {len(draw) for draw in draws} == {50}
    assert len(set(draws)) == 12
    assert frozenset().union(*draws) == set(range(30, 130))
    assert pairs(corpora, 3) == pairs(corpora, 3)
    assert pairs(corpora, 3) != pairs(corpora, 3, seed=2)


def test_corpora_are_mixed() -> None:
    order = pairs([CorpusRange(0, 500), CorpusRange(500, 600, 5.0)])
    first = sum(pair < 500 for pair in order[:500])
    assert 200 < first < 300


def test_temperature() -> None:
    """Worked by hand: sizes 900 and 100, temperature 2: square roots 30 and 10, so three to one of what is seen."""
    large, small = temperature_weights([900, 100], 2.0)
    assert large == 1.0
    assert 900 * large / (100 * small) == pytest.approx(3)
    assert temperature_weights([900, 100], 1.0) == (1.0, 1.0)
    large, small = temperature_weights([900, 100], 1e9)
    assert 100 * small == pytest.approx(900)
    assert temperature_weights([0, 5], 5.0) == (1.0, 1.0)


def test_settings_become_ranges() -> None:
    assert corpus_ranges([10, 5], [None, 2.0], None) == [(0, 10, 1.0), (10, 15, 2.0)]
    assert corpus_ranges([400, 100], [None, None], 2.0) == [(0, 400, 1.0), (400, 500, 2.0)]
