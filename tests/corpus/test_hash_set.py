from hypothesis import given
from hypothesis import strategies as st

from nmtkit.corpus.hash_set import HashSet

KEYS = st.integers(1, (1 << 64) - 1)


@given(st.lists(KEYS | st.integers(1, 20), max_size=300))
def test_tells_new_from_known_like_a_set(keys: list[int]) -> None:
    ours, known = HashSet(bits=1), set()
    for key in keys:
        assert ours.add(key) == (key not in known)
        known.add(key)
        assert len(ours) == len(known)
    assert not any(ours.add(key) for key in keys)


def test_zero_is_a_hash_too() -> None:
    ours = HashSet()
    assert ours.add(0)
    assert not ours.add(0)
