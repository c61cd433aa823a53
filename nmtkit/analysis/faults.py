"""Faults: what is wrong with a translation whoever wrote it, seen beside its source and references."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nmtkit.analysis.items import CHANGES, unbalanced
from nmtkit.analysis.repeats import repeated
from nmtkit.analysis.texts import Line, Texts
from nmtkit.corpus.filters.scripts import scripts_of
from nmtkit.corpus.profile import is_ended, script_of

SHORT, LONG = 0.5, 2.0
"""Lengths, as shares of the reference's, beyond which something was left out or put in."""
CLEARLY = 10
"""Characters by which lengths must differ as well: short sentences vary."""
COPIED = 0.6
"""The share of words that are the source's and not the reference's from which on a sentence was not translated."""
COPIED_WORDS = 3
SAME_FOR = 3
"""Different sources that get one translation, from which on it is no coincidence."""
SAME_WORDS = 4
COMMON_LETTERS = 0.001
"""The share of the references' letters from which on a script belongs to them."""
UNKNOWN = ("\u2047", "<unk>", "\ufffd")


class Kind(NamedTuple):
    """A kind of fault."""

    key: str
    title: str
    meaning: str


KINDS = (
    Kind("blank", "Blank", "nothing, where the reference says something"),
    Kind("short", "Much too short", "fewer than half as many characters as the reference, and at least ten fewer"),
    Kind("long", "Much too long", "more than twice as many characters as the reference, and at least ten more"),
    Kind("unended", "Breaks off", "no full stop or the like at the end, where source and references have one"),
    Kind("repeats", "Repeats itself", "a phrase twice at once, or four words twice anywhere, unlike the source"),
    Kind("copied", "Not translated", "three words and more, most of the line, are the source's, not the reference's"),
    Kind("same", "One for many", "the very translation that at least two other, different sources have too"),
    Kind("numbers", "Numbers", "one is missing that source and references have, or is in none of them"),
    Kind("URLs", "Web addresses", "one is missing that source and references have, or is in none of them"),
    Kind("mails", "E-mail addresses", "one is missing that source and references have, or is in none of them"),
    Kind("placeholders", "Placeholders, tags", "one is missing that source and references have, or is in none of them"),
    Kind("unbalanced", "Brackets and quotes", "one half is missing, but not in source or reference"),
    Kind("script", "Another script", "letters of a script that is not the target's and not in the reference"),
    Kind("unknown", "Unknown", "a mark that stands for an unknown word or a broken character"),
)  # fmt: skip


class Fault(NamedTuple):
    """A fault of a line: the key of its kind, and what exactly, which may be empty."""

    kind: str
    detail: str


def faults(texts: Texts, system: int) -> list[list[Fault]]:
    """Return the faults of each line of a system, in the order of KINDS."""
    scripts = _scripts(texts)
    shared = _said_for_many(texts, system)
    order = {kind.key: place for place, kind in enumerate(KINDS)}
    found = []
    for line in range(len(texts)):
        some = list(_of_line(texts, system, line, scripts))
        if line in shared:
            some.append(Fault("same", f"for {shared[line]:,} different sources"))
        found.append(sorted(some, key=lambda fault: order[fault.kind]))
    return found


def _of_line(texts: Texts, system: int, line: int, scripts: frozenset[str]) -> Iterator[Fault]:
    ours, source, references = texts.systems[system][line], texts.source_of(line), texts.references_of(line)
    if ours.blank:
        if not any(reference.blank for reference in references):
            yield Fault("blank", "")
        return
    yield from _of_length(ours, references)
    if source and (detail := _copied(ours, source, references)):
        yield Fault("copied", detail)
    if strange := _strange(ours, references, scripts):
        yield Fault("script", strange)
    told = None if source is None else source.text
    for kind, changes in CHANGES.items():
        if difference := changes(told, [reference.text for reference in references], ours.text):
            yield Fault(kind, str(difference))
    yield from _unlike_others(ours, [*references, *([source] if source else [])])


def _unlike_others(ours: Line, others: Sequence[Line]) -> Iterator[Fault]:
    """Yield the faults that are none where the source or a reference has them too."""
    if all(is_ended(other.text) for other in others) and not is_ended(ours.text):
        yield Fault("unended", f"ends with {ours.tokens[-1]}")
    if (phrase := repeated(ours.tokens)) and not any(repeated(other.tokens) for other in others):
        yield Fault("repeats", phrase)
    if (lone := unbalanced(ours.text)) and not any(unbalanced(other.text) for other in others):
        yield Fault("unbalanced", f"lone {lone}")
    if unknown := [mark for mark in UNKNOWN if mark in ours.text and not any(mark in other.text for other in others)]:
        yield Fault("unknown", " ".join(unknown))


def ratio(ours: Line, references: Sequence[Line]) -> float:
    """Return the length of a hypothesis as a share of that of the reference that it is nearest to, in characters.

    White space does not count. It is infinite where that reference is blank and the hypothesis is not.
    """
    size, sizes = ours.size, [reference.size for reference in references]
    nearest = min(sizes, key=lambda other: (abs(other - size), other))
    return size / nearest if nearest else float("inf" if size else 1)


def _of_length(ours: Line, references: Sequence[Line]) -> Iterator[Fault]:
    share = ratio(ours, references)
    apart = min(abs(reference.size - ours.size) for reference in references)
    if apart >= CLEARLY and (share < SHORT or share > LONG):
        told = f"{share:.2f} times as long as the reference" if share < float("inf") else "the reference is blank"
        yield Fault("short" if share < SHORT else "long", told)


def _copied(ours: Line, source: Line, references: Sequence[Line]) -> str:
    translated = {word for reference in references for word in reference.words}
    origin = set(source.words) - translated
    said = [word for word in ours.words if not word.isdecimal()]
    copied = sum(word in origin for word in said)
    return f"{copied} of {len(said)} words" if copied >= COPIED_WORDS and copied >= COPIED * len(said) else ""


def _said_for_many(texts: Texts, system: int) -> dict[int, int]:
    """Return the lines whose translation others have too, with the number of their sources, where these are known."""
    if not texts.sources:
        return {}
    lines: dict[str, list[int]] = {}
    for line, ours in enumerate(texts.systems[system]):
        right = any(ours.text == reference.text for reference in texts.references_of(line))
        if len(ours.words) >= SAME_WORDS and not right:
            lines.setdefault(ours.text.casefold(), []).append(line)
    counts = {}
    for some in lines.values():
        origins = {" ".join(texts.sources[line].words) for line in some}
        if len(origins) >= SAME_FOR:
            counts.update(dict.fromkeys(some, len(origins)))
    return counts


def _scripts(texts: Texts) -> frozenset[str]:
    """Return the scripts of the target language, and those that the references are written in."""
    letters = Counter[str]()
    for reference in texts.references:
        for line in reference:
            letters.update(line.text)
    counts = Counter[str]()
    for character, count in letters.items():
        if script := script_of(character):
            counts[script] += count
    used = {script for script, count in counts.items() if count >= COMMON_LETTERS * counts.total()}
    return frozenset({*scripts_of(texts.target_language), *used})


def _strange(ours: Line, references: Sequence[Line], scripts: frozenset[str]) -> str:
    """Return the scripts of letters that have no place in a line, with some of these letters."""
    found: dict[str, list[str]] = {}
    for character in dict.fromkeys(ours.text):
        script = script_of(character)
        if script and script not in scripts:
            found.setdefault(script, []).append(character)
    for reference in references if found else []:
        for character in reference.text:
            found.pop(script_of(character), None)
    return ", ".join(f"{script} {''.join(letters[:5])}" for script, letters in found.items())
