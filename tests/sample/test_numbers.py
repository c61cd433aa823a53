import pytest

from nmtkit.sample import numbers
from nmtkit.sample.entries import Twin

MAY = Twin("May", "Mai")


@pytest.mark.parametrize(
    ("number", "english", "german"),
    [
        (0, "zero", "null"),
        (1, "one", "eins"),
        (12, "twelve", "zwölf"),
        (16, "sixteen", "sechzehn"),
        (17, "seventeen", "siebzehn"),
        (21, "twenty-one", "einundzwanzig"),
        (30, "thirty", "dreißig"),
        (47, "forty-seven", "siebenundvierzig"),
        (66, "sixty-six", "sechsundsechzig"),
        (99, "ninety-nine", "neunundneunzig"),
    ],
)
def test_cardinals(number, english, german):
    assert numbers.cardinal(number) == (english, german)


def test_a_hundred_numbers_are_different_in_both_languages():
    both = [numbers.cardinal(number) for number in range(100)]
    assert len({pair.english for pair in both}) == len({pair.german for pair in both}) == 100


@pytest.mark.parametrize(
    ("hour", "minute", "english", "german"),
    [
        (7, 0, "seven o'clock", "sieben Uhr"),
        (1, 0, "one o'clock", "ein Uhr"),
        (7, 30, "half past seven", "halb acht"),
        (12, 30, "half past twelve", "halb eins"),
        (9, 15, "a quarter past nine", "Viertel nach neun"),
        (9, 45, "a quarter to ten", "Viertel vor zehn"),
        (12, 55, "five to one", "fünf vor eins"),
        (5, 20, "twenty past five", "zwanzig nach fünf"),
    ],
)
def test_spoken_times(hour, minute, english, german):
    assert numbers.spoken_time(hour, minute) == (english, german)


@pytest.mark.parametrize(
    ("hour", "minute", "english", "german"),
    [
        (7, 30, "7:30 am", "7.30 Uhr"),
        (19, 5, "7:05 pm", "19.05 Uhr"),
        (12, 15, "12:15 pm", "12.15 Uhr"),
        (0, 45, "12:45 am", "0.45 Uhr"),
        (23, 59, "11:59 pm", "23.59 Uhr"),
    ],
)
def test_written_times(hour, minute, english, german):
    assert numbers.written_time(hour, minute) == (english, german)


def test_dates():
    assert numbers.date(3, MAY, 2019) == ("3 May 2019", "3. Mai 2019")
    assert numbers.date(28, MAY) == ("28 May", "28. Mai")


@pytest.mark.parametrize(
    ("cents", "sign", "english", "german"),
    [
        (1250, False, "12.50 euros", "12,50 Euro"),
        (1250, True, "€12.50", "12,50 €"),
        (500, False, "5 euros", "5 Euro"),
        (125_000, False, "1,250 euros", "1.250 Euro"),
        (125_050, True, "€1,250.50", "1.250,50 €"),
    ],
)
def test_prices(cents, sign, english, german):
    assert numbers.price(cents, sign) == (english, german)


def test_decimals():
    assert numbers.decimal(35, 1) == ("3.5", "3,5")


def test_ordinals_inflect():
    assert [numbers.ordinal(number).stem for number in (1, 3, 7, 8)] == ["erst", "dritt", "siebt", "acht"]
