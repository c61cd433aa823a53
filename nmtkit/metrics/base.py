"""What a metric promises: corpus score, name and signature. A score never travels without its signature."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from nmtkit.errors import DataError

TWO_LETTERS = {"zho": "zh", "chi": "zh", "cmn": "zh", "yue": "zh", "jpn": "ja", "kor": "ko"}


class Score(NamedTuple):
    """A corpus score. `value` is on the metric's scale (BLEU, chrF: 0 to 100; TER: 0, perfect, upwards)."""

    name: str
    value: float
    signature: str
    higher_is_better: bool
    details: str = ""


class Metric(ABC):
    """A way to compare hypotheses with references, over a whole test set."""

    patience: int | None = None
    """Words of a line beyond which computing may take hours; None: never."""

    def __call__(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        """Score the lines of a test set: hypothesis n answers reference n, and blank lines count.

        Raises DataError, naming both counts, where they differ, and where there are no lines.
        """
        check_counts(len(hypotheses), len(references))
        return self.compute(hypotheses, references)

    @abstractmethod
    def compute(self, hypotheses: Sequence[str], references: Sequence[str]) -> Score:
        """Return the score of at least one line and equally many of both."""


def check_counts(hypotheses: int, references: int) -> None:
    """Raise DataError unless there are as many hypotheses as references, and at least one of each."""
    if hypotheses != references:
        raise DataError(
            f"{hypotheses:,} hypotheses but {references:,} references: line n of the one must answer line n "
            "of the other; nothing was scored"
        )
    if not hypotheses:
        raise DataError("no lines to score: hypotheses and references are empty")


def primary_language(code: str) -> str:
    """Return a language code without script and region; Chinese, Japanese, Korean always as zh, ja, ko."""
    primary = code.lower().replace("_", "-").split("-")[0]
    return TWO_LETTERS.get(primary, primary)
