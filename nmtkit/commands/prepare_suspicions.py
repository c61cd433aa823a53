"""What in a prepared corpus looks like a mistake: each suspicion names its corpus, what was measured and what to do."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from nmtkit.corpus.filters.scripts import scripts_of
from nmtkit.corpus.tags import untagged

SIDES = ("source", "target")
ENOUGH, ENOUGH_NUMBERS = 20, 100
"""Lines, and pairs with numbers, below which a share says nothing."""
MOST_DROPPED = 0.5
CAPITAL_SHARE = 0.01
"""Text that people wrote has capitals in nearly every line; where fewer lines have one, it was put in lower case."""
HARDLY_ENDED, USUALLY_ENDED, WELL_ENDED = 0.05, 0.5, 0.85
"""Shares of lines that end as sentences do: where none do, where all should, and where enough do."""
ENDED_APART = 0.25
OWN_SCRIPT = 0.8
NUMBERS_APART = 0.3
LENGTH_SHARE, LENGTH_PEAK = 0.2, 4
"""A number of words that more than a fifth of the lines have, and so many times as many as its neighbours."""
UNKNOWN_SHARE = 0.005
LOST_SHARE = 0.01

_ENDLESS = frozenset(("Thai", "Lao"))
"""Scripts that end no sentence with a mark."""


class Suspicion(NamedTuple):
    """What looks wrong. `kind` is for programs; `corpus` and `side` are empty where it is about all."""

    kind: str
    corpus: str
    side: str
    message: str


def percent(share: float) -> str:
    """Return a share as people read it; what is not zero does not look like it, nor does what is not all."""
    if 0 < share < 0.0001:
        return "<0.01%"
    if 0.9999 < share < 1:
        return ">99.99%"
    return f"{share:.2%}"


def suspicions(content: Mapping[str, Any]) -> Iterator[Suspicion]:
    """Yield what looks wrong in the content of a report."""
    for corpus in content["corpora"]:
        name, profile = corpus["name"], corpus.get("profile")
        dropped = 1 - share(corpus["kept"], corpus["read"])
        if dropped > MOST_DROPPED:
            message = f"{percent(dropped)} of the pairs of {name} were dropped; see the table"
            yield Suspicion("dropped", name, "", message)
        if profile:
            looked_at = profile["looked_at"]
            for side in SIDES:
                for kind, message in _of_side(profile[side], looked_at, side, content["languages"][side]):
                    yield Suspicion(kind, name, side, f"{name}, {side}: {message}")
            for kind, message in _of_pairs(profile, content["languages"]):
                yield Suspicion(kind, name, "", f"{name}: {message}")
    yield from _of_pieces(content)
    if "dev" in content:
        wrong = untagged(content["dev"]["tag"], [corpus["tag"] for corpus in content["corpora"]])
        if wrong:
            yield Suspicion("tag", "", "", f"corpus.dev {wrong} (corpus.dev.tag)")


def _of_side(side: Mapping[str, Any], looked_at: int, name: str, language: str) -> Iterator[tuple[str, str]]:
    if side["cased"] >= ENOUGH and side["capital"] < CAPITAL_SHARE * side["cased"]:
        yield (
            "capitals",
            f"{side['capital']:,} of {side['cased']:,} lines have a capital letter, so the model will not know "
            "capitals; give text as people write it, not in lower case",
        )
    if looked_at < ENOUGH:
        return
    expected = scripts_of(language)
    letters, own = sum(side["scripts"].values()), sum(side["scripts"].get(script, 0) for script in expected)
    if expected and letters and own < OWN_SCRIPT * letters:
        most = sorted(side["scripts"], key=lambda script: -side["scripts"][script])[:3]
        found = ", ".join(f"{script} {percent(side['scripts'][script] / letters)}" for script in most)
        yield (
            "script",
            f"{percent(own / letters)} of letters are {' or '.join(expected)}, as languages.{name} = {language} is "
            f'written (found: {found}); check the file, or use the filter "script"',
        )
    ended = share(side["ended"], looked_at)
    if ended < HARDLY_ENDED and not _ENDLESS & set(expected):
        yield "endings", f"{percent(ended)} of lines end with a full stop or the like; the model will not end with one"
    elif USUALLY_ENDED <= ended < WELL_ENDED:
        yield "endings", f"{percent(1 - ended)} of lines lack a full stop or the like at their end, though most have it"
    if (peak := _peak(side["words"])) is not None:
        yield (
            "length",
            f"{percent(share(side['words'][peak], sum(side['words'])))} of lines have exactly {peak} words, far more "
            "than have a word less or more; are they made by a template?",
        )


def _of_pairs(profile: Mapping[str, Any], languages: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    looked_at = profile["looked_at"]
    if looked_at >= ENOUGH:
        ended = [share(profile[side]["ended"], looked_at) for side in SIDES]
        endless = any(_ENDLESS & set(scripts_of(languages[side])) for side in SIDES)
        if abs(ended[0] - ended[1]) > ENDED_APART and not endless:
            yield (
                "endings",
                f"{percent(ended[0])} of source but {percent(ended[1])} of target lines end with a full stop or the "
                "like; the model will add or lose it",
            )
    differ = share(profile["numbers_differ"], profile["with_numbers"])
    if profile["with_numbers"] >= ENOUGH_NUMBERS and differ > NUMBERS_APART:
        yield (
            "numbers",
            f"of pairs with numbers, {percent(differ)} do not have the same on both sides; are digits lost, or lines "
            'out of step? The filter "numbers" drops such pairs',
        )


def _of_pieces(content: Mapping[str, Any]) -> Iterator[Suspicion]:
    train = content.get("train")
    if not train:
        return
    for side in SIDES:
        unknown = share(train[side]["unknown"], train[side]["pieces"])
        if unknown > UNKNOWN_SHARE:
            message = f"train, {side}: {percent(unknown)} of pieces are unknown; set prepare.segmenter.byte_fallback"
            yield Suspicion("unknown", "", side, message)
    for corpus in content["corpora"]:
        for side in SIDES:
            profile = corpus.get("profile")
            lost = share(profile[side]["lost"], profile["looked_at"]) if profile else 0.0
            if lost > LOST_SHARE:
                message = f"{corpus['name']}, {side}: {percent(lost)} of lines do not survive segmenting"
                yield Suspicion("round_trip", corpus["name"], side, message)


def _peak(words: Sequence[int]) -> int | None:
    """Return a number of words that far too many lines have."""
    if sum(words) < ENOUGH:
        return None
    most = max(range(len(words)), key=words.__getitem__)
    around = [words[most - 1] if most else 0, words[most + 1] if most + 1 < len(words) else 0]
    if most > 2 and words[most] > LENGTH_SHARE * sum(words) and words[most] > LENGTH_PEAK * sum(around) / 2:
        return most
    return None


def share(part: int, whole: int) -> float:
    """Return a share, 0 of nothing."""
    return part / whole if whole else 0.0
