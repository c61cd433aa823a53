"""Texts: the lines of a test set, with their tokens, which all that looks at translations shares."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from nmtkit.analysis.tokens import Unit, is_word, tokens, unit_of


class Line:
    """A sentence and its tokens."""

    __slots__ = ("_tokens", "_words", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens: list[str] | None = None
        self._words: list[str] | None = None

    @property
    def tokens(self) -> list[str]:
        """The tokens, without white space."""
        if self._tokens is None:
            self._tokens = [token for token in tokens(self.text) if not token.isspace()]
        return self._tokens

    @property
    def words(self) -> list[str]:
        """The words, or the characters where no spaces are written, in lower case."""
        if self._words is None:
            self._words = [token.casefold() for token in self.tokens if is_word(token)]
        return self._words

    @property
    def blank(self) -> bool:
        """True where there is nothing to read."""
        return not self.text.strip()

    @property
    def size(self) -> int:
        """Characters that are no white space."""
        return sum(map(len, self.tokens))


class Texts:
    """The sources, references and hypotheses of a test set; line n of all of them belongs together.

    `references` are one sequence of lines for each reference, `systems` one for each system. Where sources are not at
    hand, `sources` is empty.
    """

    def __init__(
        self,
        sources: Sequence[str],
        references: Sequence[Sequence[str]],
        systems: Sequence[Sequence[str]],
        *,
        source_language: str = "und",
        target_language: str = "und",
    ) -> None:
        assert references
        assert all(
            len(lines) == len(references[0]) for lines in (*references, *systems, *([sources] if sources else []))
        )
        self.sources = [Line(text) for text in sources]
        self.references = [[Line(text) for text in lines] for lines in references]
        self.systems = [[Line(text) for text in lines] for lines in systems]
        self.source_language, self.target_language = source_language, target_language

    def __len__(self) -> int:
        return len(self.references[0])

    def references_of(self, line: int) -> list[Line]:
        """Return the references of a line."""
        return [reference[line] for reference in self.references]

    def source_of(self, line: int) -> Line | None:
        """Return the source of a line, where it is known."""
        return self.sources[line] if self.sources else None

    @property
    def measured(self) -> list[Line]:
        """What lengths are measured on: the sources, else the first reference."""
        return self.sources or self.references[0]

    @cached_property
    def measured_unit(self) -> Unit:
        """What `measured` is counted in."""
        return unit_of(line.text for line in self.measured)

    @cached_property
    def target_unit(self) -> Unit:
        """What references and hypotheses are counted in."""
        return unit_of(line.text for line in self.references[0])

    def closest(self, system: int, line: int) -> int:
        """Return the place of the reference that a hypothesis equals, else of that which shares most words with it."""
        if len(self.references) == 1:
            return 0
        ours = self.systems[system][line]

        def likeness(place: int) -> tuple[bool, float]:
            theirs = self.references[place][line]
            return ours.text == theirs.text, _shared(ours.words, theirs.words)

        return max(range(len(self.references)), key=likeness)


def _shared(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """Return how much of both is the same: the F-score of their words, in any order."""
    common = (Counter(ours) & Counter(theirs)).total()
    return 2 * common / (len(ours) + len(theirs)) if common else float(not ours and not theirs)
