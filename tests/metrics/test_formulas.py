"""The formulas over many sums, beside sacreBLEU's for one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER

from nmtkit.metrics import formulas


@st.composite
def counted(draw, orders: int = 4) -> list[int]:
    """Numbers as BLEU counts them: lengths, then matches, none of them above its n-grams, then n-grams."""
    length = draw(st.integers(0, 12))
    ngrams = [max(0, length - n) for n in range(orders)]
    return [length, draw(st.integers(0, 12)), *(draw(st.integers(0, most)) for most in ngrams), *ngrams]


@pytest.mark.parametrize("smoothing", ["exp", "floor", "add-k", "none"])
@pytest.mark.parametrize("effective", [False, True])
def test_bleu(smoothing, effective):
    @given(st.lists(counted(), min_size=1, max_size=3))
    def check(rows):
        peer = BLEU(smooth_method=smoothing, effective_order=effective)
        expected = [peer._compute_score_from_stats(list(row)).score for row in rows]
        found = formulas.bleu(np.array(rows, dtype=float), smoothing=smoothing, effective=effective)
        assert found == pytest.approx(expected, abs=1e-9)

    check()


@pytest.mark.parametrize("beta", [1, 2])
def test_chrf(beta):
    triple = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)).map(
        lambda drawn: (drawn[0], drawn[1], min(drawn))
    )
    row = st.lists(triple, min_size=6, max_size=6).map(lambda triples: [each for drawn in triples for each in drawn])

    @given(st.lists(row, min_size=1, max_size=3))
    def check(rows):
        expected = [CHRF(beta=beta)._compute_score_from_stats(row).score for row in rows]
        assert formulas.chrf(np.array(rows, dtype=float), beta=beta) == pytest.approx(expected, abs=1e-9)

    check()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_ter(rows):
    expected = [TER()._compute_score_from_stats(list(row)).score for row in rows]
    assert formulas.ter(np.array(rows, dtype=float)) == pytest.approx(expected)


def test_any_shape_of_sums():
    rows = np.array([[4, 4, 4, 3, 2, 1, 4, 3, 2, 1], [4, 8, 2, 1, 0, 0, 4, 3, 2, 1]], dtype=float)
    found = formulas.bleu(rows, smoothing="none")
    assert formulas.bleu(rows[0], smoothing="none") == found[0] == 100
    assert found[1] == 0
    assert (formulas.bleu(rows[None], smoothing="none") == found).all()
