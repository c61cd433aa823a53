"""Normalizers: text to text, the same in training and in translation. One class and one name in the union adds one."""

import unicodedata
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field

from nmtkit.section import Section

Normalizer = Callable[[str], str]
"""A pure function of one line; never adds a line break."""


class UnicodeConfig(Section):
    """Bring characters to one Unicode normal form."""

    kind: Literal["unicode"] = "unicode"
    form: Literal["NFC", "NFKC"] = Field(
        "NFC",
        description="NFC composes accents and changes nothing a reader sees; NFKC also rewrites ligatures, full-width "
        "letters and the like.",
    )

    def build(self, language: str) -> Normalizer:  # noqa: ARG002  every normalizer may depend on the language
        """Return the function."""
        return lambda line: unicodedata.normalize(self.form, line)


class WhitespaceConfig(Section):
    """Turn every run of Unicode white space into one space and strip both ends."""

    kind: Literal["whitespace"] = "whitespace"

    def build(self, language: str) -> Normalizer:  # noqa: ARG002
        """Return the function."""
        return lambda line: " ".join(line.split())


class MosesPunctuationConfig(Section):
    """Bring quotation marks, dashes and the spaces around them to one form, by Moses's rules for the language."""

    kind: Literal["moses_punctuation"] = "moses_punctuation"

    def build(self, language: str) -> Normalizer:
        """Return the function."""
        from sacremoses import MosesPunctNormalizer

        normalize: Normalizer = MosesPunctNormalizer(language).normalize
        return normalize


NormalizerConfig = Annotated[UnicodeConfig | WhitespaceConfig | MosesPunctuationConfig, Field(discriminator="kind")]


class CountingChain:
    """The normalizers one behind the other, counting how many lines each changed."""

    def __init__(self, configs: tuple[NormalizerConfig, ...], language: str) -> None:
        self._steps = [config.build(language) for config in configs]
        self.lines = 0
        self.changed = [0] * len(self._steps)

    def __call__(self, line: str) -> str:
        """Return the normalized line."""
        self.lines += 1
        for place, step in enumerate(self._steps):
            before, line = line, step(line)
            self.changed[place] += line != before
        return line
