"""Numbers, times of day, dates and prices, as each language writes them."""

from nmtkit.sample.entries import Adjective, Compared, Twin

_ENGLISH = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_GERMAN = (
    *("null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"),
    *("dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"),
)
_ENGLISH_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_GERMAN_TENS = ("zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")
_ORDINALS = (
    *(("first", "erst"), ("second", "zweit"), ("third", "dritt"), ("fourth", "viert"), ("fifth", "fünft")),
    *(("sixth", "sechst"), ("seventh", "siebt"), ("eighth", "acht"), ("ninth", "neunt"), ("tenth", "zehnt")),
)


def cardinal(number: int) -> Twin:
    """Return a number from 0 to 99 in words; German says the units first: twenty-one, einundzwanzig."""
    if number < 20:
        return Twin(_ENGLISH[number], _GERMAN[number])
    tens, units = divmod(number, 10)
    if units == 0:
        return Twin(_ENGLISH_TENS[tens - 2], _GERMAN_TENS[tens - 2])
    first = "ein" if units == 1 else _GERMAN[units]
    return Twin(f"{_ENGLISH_TENS[tens - 2]}-{_ENGLISH[units]}", f"{first}und{_GERMAN_TENS[tens - 2]}")


def ordinal(number: int) -> Adjective:
    """Return first to tenth; they inflect as adjectives."""
    english, german = _ORDINALS[number - 1]
    return Adjective(Compared(english, "", ""), Compared(german, "", ""), german, frozenset())


def spoken_time(hour: int, minute: int) -> Twin:
    """Return a time of the 12-hour clock in words, minutes in fives: half past seven is halb acht."""
    following = hour % 12 + 1
    if minute == 0:
        return Twin(f"{_ENGLISH[hour]} o'clock", f"{'ein' if hour == 1 else _GERMAN[hour]} Uhr")
    if minute == 30:
        return Twin(f"half past {_ENGLISH[hour]}", f"halb {_GERMAN[following]}")
    before = minute > 30
    distance = 60 - minute if before else minute
    english, german = ("a quarter", "Viertel") if distance == 15 else cardinal(distance)
    reference = following if before else hour
    link = Twin("to", "vor") if before else Twin("past", "nach")
    return Twin(f"{english} {link.english} {_ENGLISH[reference]}", f"{german} {link.german} {_GERMAN[reference]}")


def written_time(hour: int, minute: int) -> Twin:
    """Return a time of the 24-hour clock in figures: 7:30 pm is 19.30 Uhr."""
    half = "am" if hour < 12 else "pm"
    return Twin(f"{(hour - 1) % 12 + 1}:{minute:02} {half}", f"{hour}.{minute:02} Uhr")


def date(day: int, month: Twin, year: int | None = None) -> Twin:
    """Return a date: 3 May 2019, 3. Mai 2019."""
    ending = f" {year}" if year else ""
    return Twin(f"{day} {month.english}{ending}", f"{day}. {month.german}{ending}")


def decimal(number: int, places: int) -> Twin:
    """Return number / 10 ** places in figures: 1,250.50 is 1.250,50 in German."""
    english = f"{number / 10**places:,.{places}f}"
    return Twin(english, english.translate(str.maketrans(",.", ".,")))


def price(cents: int, sign: bool = False) -> Twin:
    """Return a price in euros, whole ones without decimals: €12.50 is 12,50 €."""
    amount = decimal(cents // 100, 0) if cents % 100 == 0 else decimal(cents, 2)
    if sign:
        return Twin(f"€{amount.english}", f"{amount.german} €")
    return Twin(f"{amount.english} euros", f"{amount.german} Euro")
