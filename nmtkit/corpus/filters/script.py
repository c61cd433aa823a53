"""The filter of scripts: letters that the language of their side is not written with."""

import re
from collections.abc import Iterator, Sequence
from string import ascii_letters
from typing import Any, Literal

from pydantic import Field

from nmtkit.corpus.characters import Lines
from nmtkit.corpus.filters.base import Filter, FilterContext, both_sides
from nmtkit.corpus.filters.scripts import scripts_of
from nmtkit.corpus.pair import SentencePair
from nmtkit.errors import ConfigError
from nmtkit.section import Conflict, Section

_SHARED = r"\p{Script=Common}\p{Script=Inherited}"


class ScriptConfig(Section):
    """Drop pairs of which a side has too few of its letters in the script of its language; text without letters stays.

    Letters that several scripts share do not count. Scripts go by their names in Unicode (Latin, Cyrillic, Han …).
    """

    kind: Literal["script"] = "script"
    minimum: float = Field(0.5, gt=0, le=1, description="Smallest share of letters in the script, on each side.")
    source: str = Field(
        "", description="Script of the source, or several with spaces between; empty: that of languages.source."
    )
    target: str = Field("", description="Script of the target, likewise.")

    def conflicts(self) -> Iterator[Conflict]:
        """Report scripts that Unicode does not have."""
        for key, scripts in (("source", self.source), ("target", self.target)):
            for script in scripts.split():
                if not _exists(script):
                    yield Conflict(key, f"Unicode has no script {script!r}; give names like Latin, Cyrillic or Han")

    def build(self, context: FilterContext) -> Filter:
        """Return the filter. Raises ConfigError where a script is not given and its language's is not known."""
        named = (("source", self.source, context.source_language), ("target", self.target, context.target_language))
        return Script([_scripts(*side) for side in named], self.minimum)


class Script(Filter):
    """Drops sides in other scripts."""

    def __init__(self, scripts: Sequence[Sequence[str]], minimum: float) -> None:
        self._minimum = minimum
        self._names = [" or ".join(names) for names in scripts]
        self._letter = _pattern(rf"[\p{{L}}--[{_SHARED}]]")
        own = ["".join(rf"\p{{Script={name}}}" for name in names) for names in scripts]
        self._foreign = [_pattern(rf"[\p{{L}}--[{_SHARED}{names}]]") for names in own]
        self._foreign_ascii = [
            {letter for letter in ascii_letters if pattern.match(letter)} for pattern in self._foreign
        ]

    def objection(self, pair: SentencePair) -> str:
        """Return the share of letters in the script."""
        for (side, text), names, foreign in zip(both_sides(pair), self._names, self._foreign, strict=True):
            letters = len(self._letter.findall(text))
            own = letters - len(foreign.findall(text))
            if own < self._minimum * letters:
                share = f"{own} of {letters} letters of the {side} are {names}"
                return f"{share}, a share of {own / letters:.2f}, less than minimum = {self._minimum:g}"
        return ""

    def dropped(self, sources: Sequence[str], targets: Sequence[str]) -> list[int]:
        """Return the places of sides in other scripts."""
        suspects = {
            place for side, lines in enumerate((list(sources), list(targets))) for place in self._suspects(side, lines)
        }
        return [place for place in sorted(suspects) if not self(SentencePair(sources[place], targets[place]))]

    def _suspects(self, side: int, lines: list[str]) -> list[int]:
        """Return the places of lines that have a foreign letter at all."""
        matches = self._foreign[side].match
        foreign = {character for character in Lines(lines).unusual if matches(character)}
        foreign |= self._foreign_ascii[side]
        if not foreign:
            return []
        find = re.compile(f"[{re.escape(''.join(sorted(foreign)))}]").search
        return [place for place, line in enumerate(lines) if find(line)]


def _pattern(pattern: str) -> Any:
    import regex

    return regex.compile(pattern, regex.V1)  # V1 has differences of sets


def _exists(script: str) -> bool:
    import regex

    try:
        return bool(_pattern(rf"\p{{Script={script}}}")) and script.replace("_", "").isalpha()
    except regex.error:
        return False


def _scripts(side: str, given: str, language: str) -> list[str]:
    """Return the scripts of a side."""
    scripts = given.split() or scripts_of(language)
    if not scripts or not all(map(_exists, scripts)):
        raise ConfigError(
            f'prepare.filters: kind = "script": the script of languages.{side} = "{language}" is not known; '
            f'say which letters it is written with: {side} = "Latin" (or another name of Unicode\'s)'
        )
    return scripts
