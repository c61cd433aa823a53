"""Normalizers: text to text, the same in training and in translation. One class and one name in the union adds one."""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from nmtkit.corpus.characters import WHITE, Lines, replace_all
from nmtkit.corpus.drops import Drops
from nmtkit.section import Section

_HANGUL_PARTS = ("\u1160", "\u11ff")


class Normalizer(ABC):
    """A pure function of one line; never adds a line break."""

    @abstractmethod
    def __call__(self, line: str) -> str:
        """Return the normalised line."""

    def changes(self, lines: Lines) -> list[tuple[int, str]]:
        """Return the lines that change, with their places: what calling for each would give, but faster."""
        return self._changes(lines, range(len(lines.lines)))

    def _changes(self, lines: Lines, places: Iterable[int]) -> list[tuple[int, str]]:
        """Return those of some lines that change."""
        return [(place, new) for place in places if (new := self(old := lines.lines[place])) != old]


class UnicodeConfig(Section):
    """Bring characters to one Unicode normal form."""

    kind: Literal["unicode"] = "unicode"
    form: Literal["NFC", "NFKC", "none"] = Field(
        "NFC",
        description="NFC composes accents and changes nothing a reader sees; NFKC also rewrites ligatures, full-width "
        "letters and the like; none leaves all as it is.",
    )

    def build(self, language: str) -> Normalizer:  # noqa: ARG002  every normalizer may depend on the language
        """Return the function."""
        return Identity() if self.form == "none" else NormalForm(self.form)


class Identity(Normalizer):
    """Changes nothing."""

    def __call__(self, line: str) -> str:
        """Return the line."""
        return line

    def changes(self, lines: Lines) -> list[tuple[int, str]]:  # noqa: ARG002
        """Return nothing."""
        return []


class NormalForm(Normalizer):
    """A Unicode normal form."""

    def __init__(self, form: Literal["NFC", "NFKC"]) -> None:
        self._form = form
        self._inert: set[str] = set()

    def __call__(self, line: str) -> str:
        """Return the line in the normal form."""
        return unicodedata.normalize(self._form, line)

    def changes(self, lines: Lines) -> list[tuple[int, str]]:
        """Return the lines that change; a line feed never takes part in it, so they can be looked at as one."""
        if not lines.unusual - self._inert:
            return []
        self._inert |= {character for character in lines.unusual if self._is_inert(character)}
        if not lines.unusual - self._inert:
            return []
        news = unicodedata.normalize(self._form, lines.text)
        if news == lines.text:
            return []
        olds_and_news = enumerate(zip(lines.lines, news.split("\n"), strict=True))
        return [(place, new) for place, (old, new) in olds_and_news if new != old]

    def _is_inert(self, character: str) -> bool:
        """Return whether neither a character nor what it stands beside changes in this form (tested over all)."""
        joins = unicodedata.category(character)[0] == "M" or _HANGUL_PARTS[0] <= character <= _HANGUL_PARTS[1]
        return not joins and character < "\U00010000" and unicodedata.is_normalized(self._form, character)


class InvisibleConfig(Section):
    """Remove characters that show nothing. Best before `unicode`: what stood apart may now compose."""

    kind: Literal["invisible"] = "invisible"
    controls: bool = Field(True, description="DEL and the C1 control characters; others are gone once text is read.")
    zero_width: bool = Field(
        True,
        description="Zero-width spaces, word joiners, byte order marks, invisible operators. Thai, Lao, Khmer "
        "and Burmese may write word boundaries with zero-width spaces.",
    )
    soft_hyphens: bool = Field(True, description="Places where a word may be broken at the end of a line.")
    directions: bool = Field(
        True, description="Marks that order the letters of right-to-left text among others; display only."
    )
    joiners: bool = Field(
        False,
        description="Zero-width joiners and non-joiners: they spell words in Persian and languages of India "
        "and hold many emoji together.",
    )

    def build(self, language: str) -> Normalizer:  # noqa: ARG002
        """Return the function."""
        characters = ""
        if self.controls:
            characters += "".join(map(chr, [0x7F, *range(0x80, 0x85), *range(0x86, 0xA0)]))  # NEL became a space
        if self.zero_width:
            characters += "\u200b\u2060\u2061\u2062\u2063\u2064\ufeff"
        if self.soft_hyphens:
            characters += "\xad"
        if self.directions:
            characters += "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
        if self.joiners:
            characters += "\u200c\u200d"
        return Replacing(characters, "")


class SpacesConfig(Section):
    """Turn unusual spaces into ordinary ones, one for one (`whitespace` does so too, and merges them)."""

    kind: Literal["spaces"] = "spaces"
    no_break: bool = Field(True, description="No-break spaces too, which French sets before ! ? : ; and inside « ».")
    ideographic: bool = Field(True, description="The wide space of Chinese and Japanese too.")

    def build(self, language: str) -> Normalizer:  # noqa: ARG002
        """Return the function."""
        kept = ("" if self.no_break else "\xa0\u202f") + ("" if self.ideographic else "\u3000")
        return Replacing("".join(sorted(WHITE - set(kept))), " ")


class Replacing(Normalizer):
    """Puts the same in the place of any of some characters."""

    def __init__(self, characters: str, by: str) -> None:
        self._characters = frozenset(characters)
        self._by = by

    def __call__(self, line: str) -> str:
        """Return the line with the characters replaced."""
        return replace_all(line, self._characters & set(line), self._by)

    def changes(self, lines: Lines) -> list[tuple[int, str]]:
        """Return the lines that hold such characters."""
        return self._changes(lines, lines.with_any(self._characters))


class WhitespaceConfig(Section):
    """Turn every run of Unicode white space into one space and strip both ends."""

    kind: Literal["whitespace"] = "whitespace"

    def build(self, language: str) -> Normalizer:  # noqa: ARG002
        """Return the function."""
        return SingleSpaces()


class SingleSpaces(Normalizer):
    """Words with one space between them."""

    def __call__(self, line: str) -> str:
        """Return the words of the line."""
        return " ".join(line.split())

    def changes(self, lines: Lines) -> list[tuple[int, str]]:
        """Return the lines that hold unusual or loose spaces."""
        return self._changes(lines, {*lines.with_any(WHITE), *lines.with_loose_spaces()})


class MosesPunctuationConfig(Section):
    """Bring quotation marks, dashes and the spaces around them to one form, by Moses's rules for the language."""

    kind: Literal["moses_punctuation"] = "moses_punctuation"

    def build(self, language: str) -> Normalizer:
        """Return the function."""
        from nmtkit.corpus.moses import Punctuation

        return Punctuation(language)


class MosesTokensConfig(Section):
    """Set words and punctuation apart by Moses's rules for the language; translations are put together again.

    Only to repeat a published setting: the segmenters need no words. Put it last. Moses's rules (`restore = "moses"`)
    give back 99.4 to 99.9 % of captions and everyday sentences as they were and 95 to 96 % of news: spaces around
    quotation marks, apostrophes, slashes, currencies, dots and colons between digits are guessed. With
    `restore = "marks"` a mark ￭ stands wherever a space was put in, and every line comes back as it was. Either way,
    runs of white space become one space.
    """

    kind: Literal["moses_tokens"] = "moses_tokens"
    aggressive_hyphens: bool = Field(False, description="Split words at hyphens too, which then read `@-@`.")
    escape: bool = Field(False, description="Write `& | < > ' \" [ ]` as Moses escapes them (`&amp; &#124;` …).")
    restore: Literal["moses", "marks"] = Field(
        "moses", description="How translations get their spaces back: by Moses's rules, or by marks in the text."
    )
    language: str = Field(
        "",
        description="Language whose abbreviations and apostrophes are used on both sides; empty: each side's own, "
        "which Moses must know.",
    )

    def build(self, language: str) -> Normalizer:
        """Return the function. Raises ConfigError where Moses does not know the language."""
        from nmtkit.corpus.moses import Tokens

        return Tokens(self, language)

    def restorer(self, language: str) -> Callable[[str], str]:
        """Return the way back."""
        from nmtkit.corpus.moses import MarkedRestorer, MosesRestorer

        return MarkedRestorer(self) if self.restore == "marks" else MosesRestorer(self, language)


NormalizerConfig = Annotated[
    UnicodeConfig | InvisibleConfig | SpacesConfig | WhitespaceConfig | MosesPunctuationConfig | MosesTokensConfig,
    Field(discriminator="kind"),
]


def build_restorer(configs: Sequence[NormalizerConfig], language: str) -> Callable[[str], str]:
    """Return what turns normalised text of a language into text for people: tokens are put together again."""
    ways = [config.restorer(language) for config in reversed(configs) if isinstance(config, MosesTokensConfig)]

    def restore(text: str) -> str:
        for way in ways:
            text = way(text)
        return text

    return restore


class CountingChain:
    """The normalizers one behind the other, counting the lines that each changed."""

    def __init__(self, configs: Sequence[NormalizerConfig], language: str) -> None:
        self.kinds = [config.kind for config in configs]
        self._steps = [config.build(language) for config in configs]
        self.seen = 0
        self.changed = [Drops() for _ in self._steps]

    def __call__(self, line: str) -> str:
        """Return the normalised line."""
        self.seen += 1
        for step, changed in zip(self._steps, self.changed, strict=True):
            before, line = line, step(line)
            if line != before:
                changed.add(self.seen)
        return line

    def lines(self, lines: list[str] | Lines, numbers: Sequence[int] | None = None) -> list[str]:
        """Return the lines normalised: what calling for each would give, but faster. None holds a line feed.

        `numbers` are those of the lines, by which changed ones are counted; where not given, they are numbered on.
        """
        looked_at = lines if isinstance(lines, Lines) else Lines(lines)
        count = len(looked_at.lines)
        numbers = numbers if numbers is not None else range(self.seen + 1, self.seen + 1 + count)
        self.seen += count
        for step, changed in zip(self._steps, self.changed, strict=True):
            if changes := sorted(step.changes(looked_at)):
                changed.extend([numbers[place] for place, _ in changes])
                news = list(looked_at.lines)
                for place, new in changes:
                    news[place] = new
                looked_at = Lines(news)
        return looked_at.lines

    def take(self) -> list[Drops]:
        """Return the lines that each normalizer changed, and count anew."""
        changed, self.changed = self.changed, [Drops() for _ in self._steps]
        return changed

    def forms(self, line: str) -> list[tuple[str, str]]:
        """Return the line after each normalizer, with the normalizer's kind; counts nothing."""
        forms: list[tuple[str, str]] = []
        for kind, step in zip(self.kinds, self._steps, strict=True):
            line = step(line)
            forms.append((kind, line))
        return forms
