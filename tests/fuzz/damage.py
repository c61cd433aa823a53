"""What happens to files: bytes flipped, lost, doubled and added; values of JSON replaced by others."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from fuzz.text import strings

Damage = Callable[[bytes], bytes]


def damages() -> st.SearchStrategy[Damage]:
    """Return functions that damage the content of a file in one to three places, mostly near its beginning or end."""
    return st.lists(_edits(), min_size=1, max_size=3).map(_all_of)


def _edits() -> st.SearchStrategy[Damage]:
    place = st.one_of(st.integers(0, 100), st.integers(-100, -1), st.floats(0, 1))
    bits = st.sampled_from([1 << bit for bit in range(8)])
    return st.one_of(
        st.builds(_cut_off, place),
        st.builds(_flip, place, bits),
        st.builds(_flip, place, bits),
        st.builds(_remove, place, st.integers(1, 40)),
        st.builds(_insert, place, st.one_of(st.binary(min_size=1, max_size=8), st.just(bytes(64)))),
        st.builds(_double, place, st.integers(1, 200)),
    )


def _all_of(edits: list[Damage]) -> Damage:
    def damage(content: bytes) -> bytes:
        for edit in edits:
            content = edit(content)
        return content

    return damage


def _at(place: float, content: bytes) -> int:
    """Return a place in the content: a share of its length, or counted from its begin or end."""
    found = int(place * len(content)) if isinstance(place, float) else place % (len(content) + 1)
    return min(found, len(content))


def _cut_off(place: float) -> Damage:
    return lambda content: content[: _at(place, content)]


def _flip(place: float, bit: int) -> Damage:
    def damage(content: bytes) -> bytes:
        changed = bytearray(content)
        if changed:
            changed[_at(place, content) % len(content)] ^= bit
        return bytes(changed)

    return damage


def _remove(place: float, count: int) -> Damage:
    return lambda content: content[: _at(place, content)] + content[_at(place, content) + count :]


def _insert(place: float, more: bytes) -> Damage:
    return lambda content: content[: _at(place, content)] + more + content[_at(place, content) :]


def _double(place: float, count: int) -> Damage:
    return lambda content: content[: _at(place, content) + count] + content[_at(place, content) :]


def values() -> st.SearchStrategy[Any]:
    """Return what JSON and TOML can say."""
    return st.recursive(
        scalars(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys(), inner, max_size=3)
    )


def scalars() -> st.SearchStrategy[Any]:
    """Return single values, those at the edges of their types among them."""
    edges = [None, True, False, 0, -1, 1, 2**63, -(2**63) - 1, 10**400, 1.5, -0.0, 1e308, float("nan"), float("inf")]
    return st.one_of(st.sampled_from(edges), st.integers(-10, 10_000), st.floats(), strings())


def keys() -> st.SearchStrategy[str]:
    """Return names of keys."""
    return st.one_of(st.sampled_from(["kind", "update", "train", "files", "key", "score"]), strings())


@st.composite
def altered(draw: st.DrawFn, whole: Any) -> Any:
    """Return copies of nested tables and lists in which one to three values are replaced, removed or added."""
    root = {"": deepcopy(whole)}
    for _ in range(draw(st.integers(1, 3))):
        owner, key = draw(st.sampled_from(list(_places(root))))
        what = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
        if what == "replace" or (owner is root and what == "remove"):
            owner[key] = draw(values())
        elif what == "remove":
            del owner[key]
        elif isinstance(owner, dict) and owner is not root:
            owner[draw(keys())] = draw(values())
        elif isinstance(owner, list):
            owner.insert(key, draw(values()))
    return root[""]


def _places(value: Any) -> Any:
    """Yield each place in nested values, with the table or list that it belongs to."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def altered_json(whole: Any) -> st.SearchStrategy[bytes]:
    """Return JSON files of altered values, some nested beyond what Python's reader can do."""
    text = altered(whole).map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    deep = st.integers(1, 60).map(lambda hundreds: b"[" * (100 * hundreds) + b"]" * (100 * hundreds))
    return st.one_of(text, text, text, text, text, text, text, deep)
