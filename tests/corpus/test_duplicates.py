import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.corpus import duplicates
from nmtkit.corpus.duplicates import first_only


@given(
    pairs=st.lists(st.tuples(st.sampled_from([0, 1, 2, 7, 2**63, 2**64 - 1]), st.booleans()), max_size=60),
    at_once=st.integers(1, 70),
    step=st.integers(1, 70),
)
def test_the_first_of_equal_ones_stays(pairs, at_once, step):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "KEYS_AT_ONCE", at_once)
        patch.setattr(duplicates, "STEP", step)
        keys = np.array([key for key, _ in pairs], np.uint64)
        kept = np.array([keep for _, keep in pairs], np.bool_)
        dropped = first_only(keys, kept)
    seen, expected = set(), []
    for key, keep in pairs:
        expected.append(keep and key not in seen)
        seen |= {key} if keep else set()
    assert kept.tolist() == expected
    assert dropped.tolist() == [place for place, (_, keep) in enumerate(pairs) if keep and not expected[place]]
