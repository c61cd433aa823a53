"""The table of cases: every property has its row, and the full tier is as large as it claims."""

import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fuzz.cases import CASES, LEAST_IN_FULL, Cases, try_cases


def test_the_full_tier_has_as_many_cases_as_it_claims() -> None:
    assert sum(cases.full for cases in CASES.values()) >= LEAST_IN_FULL
    assert all(cases.fast < cases.ci < cases.full for cases in CASES.values())


def test_every_property_has_its_row() -> None:
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py")]
    properties = [name for text in texts for name in re.findall(r"^def (test_\w+)\(tier: str", text, re.MULTILINE)]
    assert sorted(properties) == sorted(CASES)
    assert sum(text.count("    try_cases(check, tier)\n") for text in texts) == len(CASES)


def test_cases_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CASES, "test_cases_are_counted", Cases(30, 31, 32))
    tried = []

    @given(number=st.integers())
    def check(number: int) -> None:
        assume(number % 2)
        tried.append(number)

    try_cases(check, "fast")
    assert len(tried) == 30


def test_too_few_cases_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CASES, "test_too_few_cases_are_a_failure", Cases(30, 31, 32))

    @given(number=st.integers(1, 3))
    def check(number: int) -> None:
        assert number

    with pytest.raises(AssertionError, match="3 of 30 cases were tried"):
        try_cases(check, "fast")
