"""The filter of languages: text in another language than its side's, as an identifier of languages sees it."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from nmtkit.corpus.filters.base import Filter, FilterContext, both_sides
from nmtkit.corpus.pair import SentencePair
from nmtkit.errors import ConfigError
from nmtkit.section import Section

UNDETERMINED = "und"


class LanguageConfig(Section):
    """Drop pairs of which a side is in another language than its own; needs the extra `nmtkit[language]` (ELD).

    60 languages are told apart. Text without letters stays.
    """

    kind: Literal["language"] = "language"
    source: str = Field(
        "", description="Language of the source, or several with spaces between; empty: languages.source."
    )
    target: str = Field("", description="Language of the target, likewise.")
    strict: bool = Field(
        False, description="Drop also where the identifier is not sure of another language, as with most short texts."
    )

    def build(self, context: FilterContext) -> Filter:
        """Return the filter. Raises ConfigError without the extra, and for a language that is not told apart."""
        try:
            import eldc
        except ImportError:
            raise ConfigError(
                'prepare.filters: kind = "language" needs a library that is not installed; '
                'run pip install "nmtkit[language]", or remove the filter'
            ) from None
        eldc.init()
        named = (("source", self.source, context.source_language), ("target", self.target, context.target_language))
        return Language(eldc.instance(), [_languages(*side, eldc.LANGUAGES) for side in named], self.strict)


class Language(Filter):
    """Drops sides in another language; `identifier` is ELD's."""

    def __init__(self, identifier: Any, languages: Sequence[Sequence[str]], strict: bool) -> None:
        self._identifier, self._strict = identifier, strict
        self._names = [" or ".join(codes) for codes in languages]
        self._expected = [frozenset([*codes, UNDETERMINED]) for codes in languages]

    def objection(self, pair: SentencePair) -> str:
        """Return the language that was found, with its score, and that of the expected one."""
        for (side, text), names, expected in zip(both_sides(pair), self._names, self._expected, strict=True):
            found = self._identifier.detect_details(text)
            if found.language not in expected and (self._strict or found.reliable):
                scores = ", ".join(f"{language} {score:.2f}" for language, score in found.scores.items())
                return f"the {side} looks like {found.language}, not {names} (scores: {scores})"
        return ""

    def dropped(self, sources: Sequence[str], targets: Sequence[str]) -> list[int]:
        """Return the places of sides in another language."""
        detect = self._identifier.detect  # faster than with details
        in_source, in_target = self._expected
        pairs = enumerate(zip(sources, targets, strict=True))
        suspects = [i for i, (s, t) in pairs if detect(s) not in in_source or detect(t) not in in_target]
        return [i for i in suspects if not self(SentencePair(sources[i], targets[i]))]


def _languages(side: str, given: str, language: str, known: Sequence[str]) -> list[str]:
    """Return the codes of the languages that a side may be in."""
    codes = given.split() or [language.replace("_", "-").partition("-")[0].lower()]
    for code in codes:
        if code not in known:
            what = f'{side} = "{given}"' if given else f'languages.{side} = "{language}"'
            raise ConfigError(
                f'prepare.filters: kind = "language": {what} is not a language that is told apart; give as {side} '
                f"one or more of {', '.join(known)}, or remove the filter"
            )
    return codes
