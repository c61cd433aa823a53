"""The bridge to sacreBLEU (Post 2018), which does the arithmetic and writes the signatures."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from nmtkit.metrics.base import Array, Metric, Score


class Formula(NamedTuple):
    """How numbers that lines add become scores, over many sums at once, and how a score is explained."""

    values: Callable[[Array], Array]
    sentences: Callable[[Array], Array] | None = None
    """Of lines by themselves, where that is computed in another way."""
    sentences_signed: Mapping[str, str] = {}
    """Parts of the signature that are others for lines by themselves."""
    describe: Callable[[Any], str] | None = None


class Reading(NamedTuple):
    """What becomes of lines before sacreBLEU compares them, and how the signature tells so."""

    read: Callable[[str], str]
    signed: Mapping[str, str]


class SacrebleuMetric(Metric):
    """A corpus metric of sacreBLEU; `metric` is an instance of a class of `sacrebleu.metrics`."""

    def __init__(
        self,
        metric: Any,
        formula: Formula,
        *,
        name: str,
        higher_is_better: bool = True,
        reading: Reading | None = None,
    ) -> None:
        self._metric, self._formula, self._reading = metric, formula, reading
        self.name, self.higher_is_better = name, higher_is_better

    def statistics(
        self,
        hypotheses: Sequence[str],
        references: Sequence[Sequence[str]],
        sources: Sequence[str] | None,  # noqa: ARG002  text is compared with text
    ) -> Array:
        """Return what sacreBLEU counts in each line, (N, W)."""
        import numpy as np

        if self._reading is not None:
            hypotheses = [self._reading.read(line) for line in hypotheses]
            references = [[self._reading.read(line) for line in lines] for lines in references]
        # Not public, but there since version 2.0, and what its own significance tests stand on.
        return np.asarray(self._metric._extract_corpus_statistics(hypotheses, references), dtype=np.float64)

    def score(self, statistics: Array, references: int) -> Score:
        """Return sacreBLEU's own score and signature."""
        score = self._metric._compute_score_from_stats(statistics.sum(axis=0).tolist())
        self._metric.num_refs = references
        signature = self._metric.get_signature()
        for part, value in self._reading.signed.items() if self._reading else ():
            signature.update(part, value)
        return Score(
            name=self.name,
            value=float(score.score),
            signature=str(signature),
            higher_is_better=self.higher_is_better,
            details=self._formula.describe(score) if self._formula.describe else "",
        )

    def values(self, sums: Array) -> Array:
        """Return the score of each of many sums: (…, W) → (…)."""
        return self._formula.values(sums)

    def words(self, line: str) -> int:
        """Return how many words sacreBLEU makes of a line."""
        return len(self._metric._preprocess_segment(line).split())

    def sentence_values(self, statistics: Array) -> Array:
        """Return the score of each line by itself, (N, W) → (N,)."""
        return (self._formula.sentences or self._formula.values)(statistics)

    def sentence_signature(self, signature: str) -> str:
        """Return the signature of scores of lines by themselves."""
        parts = dict(part.split(":", 1) for part in signature.split("|"))
        return "|".join(f"{name}:{value}" for name, value in {**parts, **self._formula.sentences_signed}.items())
