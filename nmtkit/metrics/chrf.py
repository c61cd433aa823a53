"""chrF (Popović 2015) and chrF++ (Popović 2017) by sacreBLEU."""

from functools import partial
from typing import Literal

from pydantic import Field

from nmtkit.metrics.base import MetricSection
from nmtkit.metrics.sacre import Formula, SacrebleuMetric


class ChrfConfig(MetricSection):
    """chrF as sacreBLEU computes it: an F-score over character n-grams, white space left out."""

    kind: Literal["chrf"] = "chrf"
    character_order: int = Field(6, ge=1, description="Longest character n-gram.")
    word_order: int = Field(0, ge=0, description="Longest word n-gram; 0: chrF, 2: chrF++.")
    beta: int = Field(2, ge=1, description="How many times recall weighs as much as precision.")
    lowercase: bool = Field(False, description="Ignore case.")

    def build(self, target_language: str) -> SacrebleuMetric:  # noqa: ARG002  every metric may depend on the language
        """Return the metric."""
        from sacrebleu.metrics.chrf import CHRF

        from nmtkit.metrics import formulas

        metric = CHRF(
            char_order=self.character_order,
            word_order=self.word_order,
            beta=self.beta,
            lowercase=self.lowercase,
        )
        formula = Formula(values=partial(formulas.chrf, beta=self.beta))
        return SacrebleuMetric(metric, formula, name=f"chrF{self.beta}{'+' * self.word_order}")
