"""What a metric promises: scores with name and signature, all from what each line adds to a sum."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from nmtkit.errors import DataError
from nmtkit.section import Section

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"  # a string: settings are read without numpy


class Score(NamedTuple):
    """A corpus score. `value` is on the metric's scale (BLEU, chrF: 0 to 100; TER: 0, perfect, upwards)."""

    name: str
    value: float
    signature: str
    higher_is_better: bool
    details: str = ""


class Metric(ABC):
    """A way to compare hypotheses with references, over a whole test set.

    Letters: **N** lines, **W** the numbers that a line adds. The score of any lines is that of the sum of their rows.
    """

    name: str
    higher_is_better: bool = True
    patience: int | None = None
    """Words of a line beyond which computing may take minutes, then hours; None: never."""
    needs_sources: bool = False
    notice: str = ""
    """What a person should know who has this metric of this language; mostly nothing."""

    def __call__(
        self, hypotheses: Sequence[str], *references: Sequence[str], sources: Sequence[str] | None = None
    ) -> Score:
        """Score the lines of a test set: hypothesis n answers line n of each reference, and blank lines count.

        Raises DataError, naming both counts, where they differ, and where there are no lines.
        """
        return self.score(self.measure(hypotheses, *references, sources=sources), len(references))

    def measure(
        self, hypotheses: Sequence[str], *references: Sequence[str], sources: Sequence[str] | None = None
    ) -> Array:
        """Return what each line adds, (N, W). Raises DataError as calling does."""
        assert references, "no references"
        for lines in references:
            _check_counts(len(hypotheses), len(lines), "references")
        if sources is not None:
            _check_counts(len(hypotheses), len(sources), "sources")
        return self.statistics(hypotheses, references, sources)

    @abstractmethod
    def statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str] | None
    ) -> Array:
        """Return what each line adds, (N, W), of at least one line and equally many of everything."""

    @abstractmethod
    def score(self, statistics: Array, references: int) -> Score:
        """Return the score of lines that add these numbers, (N, W), compared with so many references each."""

    @abstractmethod
    def values(self, sums: Array) -> Array:
        """Return the score of each of many sums: (…, W) → (…)."""

    def words(self, line: str) -> int:
        """Return how many words a line has for this metric."""
        return len(line.split())

    def sentence_values(self, statistics: Array) -> Array:
        """Return the score of each line by itself, (N, W) → (N,)."""
        return self.values(statistics)

    def sentence_signature(self, signature: str) -> str:
        """Return the signature of scores of lines by themselves, from that of the score of all of them."""
        return signature


class MetricSection(Section, ABC):
    """The settings of a metric."""

    @abstractmethod
    def build(self, target_language: str) -> Metric:
        """Return the metric. Raises ConfigError where it cannot be had for this language, or on this machine."""

    def unfit(self, target_language: str) -> str:  # noqa: ARG002  most metrics serve every language
        """Return why there is no such score for this language; empty where there is. A part of a sentence."""
        return ""


def _check_counts(hypotheses: int, others: int, what: str) -> None:
    """Raise DataError unless there are as many hypotheses as other lines, and at least one of each."""
    if hypotheses != others:
        raise DataError(
            f"{hypotheses:,} hypotheses but {others:,} {what}: line n of the one must answer line n "
            "of the other; nothing was scored"
        )
    if not hypotheses:
        raise DataError(f"no lines to score: hypotheses and {what} are empty")
