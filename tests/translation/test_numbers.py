import pytest

from nmtkit.translation.numbers import NumberCounts


@pytest.mark.parametrize(
    ("line", "translation"),
    [
        ("no number", "keine Zahl"),
        ("1,000.50 euros on 3 May", "am 3. Mai 1.000,50 Euro"),
        ("room 007", "Zimmer 007"),
        ("\u0663 dogs", "3 Hunde"),
    ],
)
def test_the_same_numbers(line, translation):
    counts = NumberCounts()
    counts.add(line, translation)
    assert counts == NumberCounts(lines=1)


@pytest.mark.parametrize(
    ("line", "translation"), [("12 dogs", "21 Hunde"), ("12", "1 2"), ("7", ""), ("", "7"), ("3", "3 3"), ("07", "7")]
)
def test_other_numbers(line, translation):
    counts = NumberCounts()
    counts.add("1", "1")
    counts.add(line, translation)
    counts.add(line, translation)
    assert counts == NumberCounts(lines=3, differing=2, first=2)
