"""What looks wrong with the text that is scored: mistakes of its preparation that change scores without a word."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property
from itertools import chain

from nmtkit.analysis.tokens import UNSPACED_SCRIPTS
from nmtkit.commands.score_material import Material
from nmtkit.corpus.filters.scripts import SCRIPTS, scripts_of
from nmtkit.corpus.profile import script_of
from nmtkit.errors import ConfigError
from nmtkit.metrics.base import Metric
from nmtkit.metrics.languages import UNKNOWN, UNSPACED, primary_language

TOKENIZED_SHARE = 0.3
"""Text in which this share of the lines has a space before a full stop or comma is taken for tokenized."""
SEGMENTED_SHARE = 0.05
ESCAPED_SHARE = 0.005
BLANK_SHARE = 0.01
MOSTLY, SELDOM = 0.5, 0.1
"""Shares of marks with a space at one side: the one in a text where that is the rule, the other where it is not."""
FEW_CAPITALS, MANY_CAPITALS = 0.1, 0.3
"""Shares of lines with a capital, of those with letters that have one: in lower-cased text and in other text."""
UNSPACED_SHARE = 0.3
"""The share of letters from which on a text counts as one without spaces: each of them says as much as a word."""
ENOUGH = 5
"""Lines or marks below which a share says nothing."""

_TOKENIZED = re.compile(r"(?<=\S) (?:[.,](?=\s|$)|@-@)")
_ESCAPED = re.compile(r"&(?:amp|quot|apos|lt|gt|#124|#91|#93);")
_SEGMENTED = re.compile(r"▁|@@(?: |$)")
_SPACES = {
    "before ? ! : ;": (re.compile(r"\s[?!:;]"), re.compile(r"[?!:;]")),
    "behind apostrophes": (re.compile(r"\w['’]\s\w"), re.compile(r"\w['’]\s?\w")),
}
"""Where languages differ in spaces: what to count, and of what."""


class Text:
    """The lines of a system or a reference, and what can be seen in them."""

    def __init__(self, name: str, lines: Sequence[str]) -> None:
        self.name, self.lines = name, lines

    def with_(self, pattern: re.Pattern[str]) -> int:
        """How many lines hold a pattern."""
        return sum(pattern.search(line) is not None for line in self.lines)

    @cached_property
    def capitals(self) -> int:
        """How many lines have a capital letter."""
        return sum(line != line.lower() for line in self.lines)

    @cached_property
    def cased(self) -> int:
        """How many lines have a letter that can be a capital."""
        return sum(line != line.lower() or line != line.upper() for line in self.lines)

    @cached_property
    def tokenized(self) -> int:
        """How many lines have a space before a full stop or a comma, or a mark of split hyphens."""
        return self.with_(_TOKENIZED)

    @property
    def looks_tokenized(self) -> bool:
        """True where that is the rule."""
        return self.tokenized > TOKENIZED_SHARE * len(self.lines)

    def share(self, place: str) -> float | None:
        """Return the share of marks with a space at the place named; None where there are too few marks."""
        spaced, all_ = _SPACES[place]
        marks = sum(len(all_.findall(line)) for line in self.lines)
        return sum(len(spaced.findall(line)) for line in self.lines) / marks if marks >= ENOUGH else None


def check_scripts(material: Material, target_language: str) -> list[str]:
    """Return a warning for each text most letters of which are of no script of the target language; mostly none.

    Raises ConfigError where no language was named and references write no spaces: nothing says what a word is there.
    """
    language = primary_language(target_language)
    if language == UNKNOWN:
        if script := _main(_letters(material.references[0]), set(UNSPACED_SCRIPTS), UNSPACED_SHARE):
            raise ConfigError(
                f"{material.name}: the references are written in {script}, without spaces between words, and no target "
                "language is named, so nothing says what a word is; give it, as in --set languages.target=zh"
            )
        return []
    own = set(scripts_of(target_language) or scripts_of(language))
    known = own and own <= SCRIPTS
    unspaced = set() if language in UNSPACED else set(UNSPACED_SCRIPTS) - own
    warnings = []
    for text in chain.from_iterable(_texts(material)):
        letters = _letters(text.lines)
        script = _main(letters, unspaced, UNSPACED_SHARE)
        if script or (known and (script := _main(letters, letters.keys() - own, MOSTLY))):
            warnings.append(
                f"{material.name}: the {text.name} are written in {script}, but the target language is "
                f'"{target_language}", whose tokens are not theirs; check the files and languages.target'
            )
    return warnings


def _letters(lines: Iterable[str]) -> Counter[str]:
    """Count the letters of each script."""
    letters: Counter[str] = Counter()
    for character, count in Counter("".join(lines)).items():
        letters[script_of(character)] += count
    del letters[""]
    return letters


def _main(letters: Counter[str], scripts: Set[str], share: float) -> str:
    """Return the most frequent of these scripts where more than a share of the letters are of them, else nothing."""
    found = {script: letters[script] for script in scripts}
    return max(found, key=lambda each: found[each]) if sum(found.values()) > share * letters.total() else ""


def suspicions(material: Material, metrics: Sequence[Metric]) -> Iterator[str]:
    """Yield what a person should know of a test set: a sentence for each text and trait."""
    yield from (f"{material.name}: {problem}" for problem in _problems(material, metrics))


def _problems(material: Material, metrics: Sequence[Metric]) -> Iterator[str]:
    systems, references = _texts(material)
    for text in (*systems, *references):
        yield from _of_text(text)
    for text in systems:
        yield from _of_pair(text, references[0])
    for text in references:
        yield from _of_references(text, systems[0])
    yield from _of_systems(material)
    for metric in metrics:
        if metric.patience is not None:
            longest = max(metric.words(line) for text in (*systems, *references) for line in text.lines)
            if longest > metric.patience:
                yield (
                    f"a line has {longest:,} words, for which {metric.name} may take minutes to hours; leave it out "
                    "with --set \"score.metrics=[{kind='bleu'}, {kind='chrf'}]\", or put one sentence on a line"
                )


def _texts(material: Material) -> tuple[list[Text], list[Text]]:
    """Return the texts of systems and references, called by name and number where there are several."""
    several, more = len(material.systems) > 1, len(material.references) > 1
    systems = [
        Text(f"hypotheses of {system.name}" if several else "hypotheses", system.hypotheses)
        for system in material.systems
    ]
    references = [
        Text(f"references {number}" if more else "references", lines)
        for number, lines in enumerate(material.references, start=1)
    ]
    return systems, references


def _of_text(text: Text) -> Iterator[str]:
    lines = len(text.lines)
    if text.looks_tokenized:
        yield (
            f"{text.tokenized:,} of {lines:,} {text.name} have a space before a full stop or comma, so they "
            "look tokenized; scores of tokenized text compare with nobody's: detokenize first"
        )
    segmented = text.with_(_SEGMENTED)
    if segmented > SEGMENTED_SHARE * lines:
        yield (
            f"{segmented:,} of {lines:,} {text.name} hold ▁ or @@, so they look like pieces of a vocabulary; "
            "join the pieces to words first"
        )
    escaped = text.with_(_ESCAPED)
    if escaped > ESCAPED_SHARE * lines:
        yield (
            f"{escaped:,} of {lines:,} {text.name} hold escapes such as &quot; or &apos;, which are compared as they "
            "stand; write the characters they mean"
        )


def _of_pair(hypotheses: Text, references: Text) -> Iterator[str]:
    for fewer, more in ((hypotheses, references), (references, hypotheses)):
        lowered = fewer.cased >= ENOUGH and fewer.capitals <= FEW_CAPITALS * fewer.cased
        if lowered and more.capitals >= max(ENOUGH, MANY_CAPITALS * more.cased):
            yield (
                f"{fewer.capitals:,} of {len(fewer.lines):,} {fewer.name} have a capital letter, but "
                f"{more.capitals:,} {more.name}; if case was taken away, bring it back, or set lowercase = true for "
                "metrics, which their signatures will say"
            )
    if hypotheses.looks_tokenized or references.looks_tokenized:
        return
    for place in _SPACES:
        ours, theirs = hypotheses.share(place), references.share(place)
        if ours is not None and theirs is not None and min(ours, theirs) <= SELDOM and max(ours, theirs) >= MOSTLY:
            yield (
                f"spaces {place}: {ours:.0%} in the {hypotheses.name}, {theirs:.0%} in the {references.name}; one of "
                "them was detokenized by the rules of another language"
            )


def _of_references(references: Text, hypotheses: Text) -> Iterator[str]:
    if missing := _blank(references.lines, hypotheses.lines):
        yield (
            f"{len(missing):,} of {len(references.lines):,} {references.name} are blank (first line {missing[0]:,}), "
            "though translated; they count, as references in which nothing is said"
        )


def _of_systems(material: Material) -> Iterator[str]:
    seen: dict[tuple[str, ...], str] = {}
    for system in material.systems:
        if missing := _blank(system.hypotheses, material.references[0]):
            yield (
                f"{len(missing):,} of {len(material):,} lines of {system.name} are blank (first line "
                f"{missing[0]:,}); they count, as translations in which everything is missing"
            )
        first = seen.setdefault(tuple(system.hypotheses), system.name)
        if first != system.name:
            yield f"{first} and {system.name} are the same text"


def _blank(lines: Sequence[str], others: Sequence[str]) -> list[int]:
    """Return the numbers of lines that are blank, but not on the other side; none where they are few."""
    both = enumerate(zip(lines, others, strict=True), start=1)
    found = [number for number, (line, other) in both if not line.strip() and other.strip()]
    return found if len(found) >= BLANK_SHARE * len(lines) else []
