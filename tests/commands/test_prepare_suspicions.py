from copy import deepcopy
from typing import Any

import pytest

from nmtkit.commands.prepare_suspicions import percent, suspicions

NORMAL: dict[str, Any] = {
    "words": [0, 10, 20, 30, 20, 15, 5],
    "cased": 90,
    "capital": 80,
    "ended": 95,
    "lost": 0,
    "scripts": {"Latin": 4_000},
}
CONTENT: dict[str, Any] = {
    "languages": {"source": "en", "target": "de"},
    "corpora": [
        {
            "name": "news",
            "read": 110,
            "kept": 100,
            "profile": {
                "pairs": 100,
                "looked_at": 100,
                "with_numbers": 300,
                "numbers_differ": 30,
                "source": NORMAL,
                "target": dict(NORMAL),
            },
        }
    ],
    "train": {"source": {"pieces": 1000, "unknown": 1}, "target": {"pieces": 1000, "unknown": 0}},
}


def found(*changes: tuple[str, Any]) -> list[tuple[str, str, str]]:
    """Return kind, side and message of what is suspicious once keys of the content are changed."""
    content = deepcopy(CONTENT)
    for path, value in changes:
        *keys, last = [int(key) if key.isdecimal() else key for key in path.split(".")]
        part: Any = content
        for key in keys:
            part = part[key]
        part[last] = value
    return [(each.kind, each.side, each.message) for each in suspicions(content)]


def side(name: str, **values: Any) -> list[tuple[str, Any]]:
    return [(f"corpora.0.profile.{name}.{key}", value) for key, value in values.items()]


def test_normal_text_is_not_suspicious() -> None:
    assert found() == []


CASES: dict[str, tuple[list[tuple[str, Any]], str, str, str]] = {
    "dropped": ([("corpora.0.kept", 40)], "dropped", "", "63.64% of the pairs of news were dropped; see the table"),
    "capitals": (
        side("target", capital=0),
        "capitals",
        "target",
        "news, target: 0 of 90 lines have a capital letter, so the model will not know capitals; give text as people "
        "write it, not in lower case",
    ),
    "script": (
        side("source", scripts={"Cyrillic": 300, "Latin": 100}),
        "script",
        "source",
        "news, source: 25.00% of letters are Latin, as languages.source = en is written (found: Cyrillic 75.00%, "
        'Latin 25.00%); check the file, or use the filter "script"',
    ),
    "some lack the end": (
        [*side("source", ended=70), *side("target", ended=90)],
        "endings",
        "source",
        "news, source: 30.00% of lines lack a full stop or the like at their end, though most have it",
    ),
    "ends on one side": (
        side("target", ended=40),
        "endings",
        "",
        "news: 95.00% of source but 40.00% of target lines end with a full stop or the like; the model will add or "
        "lose it",
    ),
    "one length": (
        side("target", words=[0, 10, 10, 10, 90, 10]),
        "length",
        "target",
        "news, target: 69.23% of lines have exactly 4 words, far more than have a word less or more; are they made by "
        "a template?",
    ),
    "numbers": (
        [("corpora.0.profile.numbers_differ", 150)],
        "numbers",
        "",
        "news: of pairs with numbers, 50.00% do not have the same on both sides; are digits lost, or lines out of "
        'step? The filter "numbers" drops such pairs',
    ),
    "unknown": (
        [("train.target.unknown", 10)],
        "unknown",
        "target",
        "train, target: 1.00% of pieces are unknown; set prepare.segmenter.byte_fallback",
    ),
    "round trip": (
        side("source", lost=5),
        "round_trip",
        "source",
        "news, source: 5.00% of lines do not survive segmenting",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_looks_wrong_is_named(name: str) -> None:
    changes, kind, where, message = CASES[name]
    assert found(*changes) == [(kind, where, message)]


def test_no_line_ends() -> None:
    both = [*side("source", ended=1), *side("target", ended=0)]
    assert [(kind, where) for kind, where, _ in found(*both)] == [("endings", "source"), ("endings", "target")]


def test_thai_ends_no_sentence_with_a_mark() -> None:
    thai = [("languages.target", "th"), *side("target", ended=0, scripts={"Thai": 900}, cased=0, capital=0)]
    assert found(*thai) == []


def test_a_few_lines_say_nothing() -> None:
    few = [("corpora.0.profile.looked_at", 10), ("corpora.0.profile.with_numbers", 2)]
    few += [("corpora.0.profile.numbers_differ", 2), *side("source", ended=1, scripts={"Greek": 5})]
    few += side("source", words=[0, 0, 0, 0, 10])
    assert found(*few) == []


@pytest.mark.parametrize(
    ("share", "shown"), [(0, "0.00%"), (1e-5, "<0.01%"), (0.1234, "12.34%"), (0.99999, ">99.99%"), (1, "100.00%")]
)
def test_what_is_not_all_or_nothing_does_not_look_like_it(share: float, shown: str) -> None:
    assert percent(share) == shown
