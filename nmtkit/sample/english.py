"""English morphology: plurals, verb forms, degrees, articles."""

import re

_VOWELS = "aeiou"
_AN = re.compile(r"(?!uni|use)[aeiou]|hour|honest|8|11\b|18\b", re.IGNORECASE)


def plural(noun: str) -> str:
    """Return the regular plural of a noun."""
    return _with_s(noun)


def article(following: str) -> str:
    """Return "a" or "an" before the words that follow."""
    return "an" if _AN.match(following) else "a"


def third_person(base: str) -> str:
    """Return the third person singular of the present; "be" and "have" as well."""
    return {"be": "is", "have": "has", "do": "does", "go": "goes"}.get(base) or _with_s(base)


def past(base: str) -> str:
    """Return the regular past, which is the participle too."""
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ied"
    return _doubled(base) + "ed"


def gerund(base: str) -> str:
    """Return the form in -ing."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "be")):
        return base[:-1] + "ing"
    return _doubled(base) + "ing"


def degrees(adjective: str) -> tuple[str, str]:
    """Return the regular comparative and superlative."""
    if adjective.endswith("y") and adjective[-2] not in _VOWELS:
        return adjective[:-1] + "ier", adjective[:-1] + "iest"
    if _syllables(adjective) == 1:
        stem = adjective[:-1] if adjective.endswith("e") else _doubled(adjective)
        return stem + "er", stem + "est"
    return f"more {adjective}", f"most {adjective}"


def _with_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def _syllables(word: str) -> int:
    return len(re.findall(r"[aeiouy]+", word[:-1] if word.endswith("e") else word))


def _doubled(word: str) -> str:
    """Double the last consonant where a stressed short vowel stands before it, as in stop and forget."""
    short = re.search(r"[^aeiou][aeiou][^aeiouwxy]$", word) is not None
    stressed = _syllables(word) == 1 or word in {"begin", "forget", "cancel", "travel"}
    return word + word[-1] if short and stressed else word
