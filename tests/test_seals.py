"""Seals: JSON that is known again."""

import json

import pytest

from nmtkit.seals import digest, seal, unseal

CONTENT = {"a": 1, "b": [None, "ü", {"c": 0.5}]}


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [None, "ü"]}) == digest({"b": [None, "ü"], "a": 1})
    assert digest({"a": 1}) != digest({"a": "1"})


@pytest.mark.parametrize("layout", [{}, {"indent": 2, "ensure_ascii": False}, {"sort_keys": True}])
def test_what_was_sealed_is_read_back_however_it_is_set_out(layout: dict[str, bool | int]) -> None:
    assert unseal(json.dumps(seal(CONTENT), **layout).encode()) == CONTENT


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(seal(CONTENT)).replace("0.5", "0.6").encode(),
        json.dumps(CONTENT).encode(),
        json.dumps(seal(CONTENT))[:-1].encode(),
        b"",
        b"[1]",
        b"null",
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        unseal(data)
