"""The shuffle: a true order of any size, the same for the same words, without a pattern."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.data.shuffle import Shuffle


@given(st.integers(1, 3_000), st.integers(0, 2**40), st.integers(0, 100))
def test_every_number_once(size: int, seed: int, epoch: int) -> None:
    order = Shuffle(size, seed, epoch)(np.arange(size))
    assert sorted(order.tolist()) == list(range(size))


@given(st.integers(1, 2_000), st.data())
def test_a_place_is_the_same_looked_at_alone(size: int, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, size - 1))
    end = data.draw(st.integers(begin, size))
    shuffle = Shuffle(size, 5, 6)
    assert shuffle(np.arange(begin, end)).tolist() == shuffle(np.arange(size))[begin:end].tolist()


def test_no_size_is_too_large_to_look_into() -> None:
    size = 10**12
    middle = Shuffle(size, 1)(np.arange(size // 2, size // 2 + 1_000))
    assert len(set(middle.tolist())) == 1_000
    assert 0 <= middle.min() < middle.max() < size


def test_the_order_never_changes() -> None:
    """Runs that were begun with an earlier version go on in the same order."""
    assert Shuffle(10, 1, 2)(np.arange(10)).tolist() == GOLDEN
    assert Shuffle(36_000_000, 1, 2)(np.arange(4)).tolist() == GOLDEN_LARGE


GOLDEN = [9, 4, 3, 7, 6, 0, 5, 2, 1, 8]
GOLDEN_LARGE = [29574300, 6867702, 31870789, 12396305]


def test_other_words_other_orders() -> None:
    orders = {tuple(Shuffle(50, *words)(np.arange(50)).tolist()) for words in [(1, 0), (1, 1), (2, 1), (1, 2), (0, 1)]}
    assert len(orders) == 5


@pytest.mark.parametrize("size", [40, 1_000, 5_000])
def test_each_number_stands_everywhere_equally_often(size: int) -> None:
    """Chi-square over tenths of the order and tenths of the numbers; and neighbours are no neighbours any more."""
    cells = np.zeros((10, 10))
    neighbours = 0
    epochs = 60_000 // size
    for epoch in range(epochs):
        order = Shuffle(size, 3, epoch)(np.arange(size))
        np.add.at(cells, (np.arange(size) * 10 // size, order * 10 // size), 1)
        neighbours += int((np.abs(np.diff(order)) == 1).sum())
    expected = epochs * size / 100
    chi_square = ((cells - expected) ** 2 / expected).sum()
    assert chi_square < 150  # 81 degrees of freedom: more once in 100,000 draws
    assert neighbours == pytest.approx(2 * epochs, rel=0.5)


def test_small_sizes_reach_all_orders() -> None:
    orders = {tuple(Shuffle(4, 9, epoch)(np.arange(4)).tolist()) for epoch in range(400)}
    assert len(orders) == 24
