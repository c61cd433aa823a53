"""TER, the translation edit rate (Snover et al. 2006), by sacreBLEU."""

from typing import Any, Literal

from pydantic import Field

from nmtkit.metrics.base import Metric, primary_language
from nmtkit.metrics.sacre import SacrebleuMetric
from nmtkit.section import Section


class TerConfig(Section):
    """TER as sacreBLEU computes it: word edits and shifts per 100 words of reference; lower is better."""

    kind: Literal["ter"] = "ter"
    normalized: bool = Field(False, description="Separate punctuation from words first (an option of Tercom).")
    punctuation: bool = Field(True, description="Count punctuation.")
    case_sensitive: bool = Field(False, description="Count case; sacreBLEU's default ignores it.")
    asian_support: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Make each Chinese or Japanese character a word (includes normalized); "
        "auto: for targets zh and ja.",
    )

    def build(self, target_language: str) -> Metric:
        """Return the metric."""
        from sacrebleu.metrics.ter import TER

        unspaced = primary_language(target_language) in ("zh", "ja")
        asian = self.asian_support == "on" or (self.asian_support == "auto" and unspaced)
        metric = TER(
            normalized=self.normalized or asian,  # sacreBLEU splits characters only while it normalizes
            no_punct=not self.punctuation,
            asian_support=asian,
            case_sensitive=self.case_sensitive,
        )
        built = SacrebleuMetric(metric, higher_is_better=False, describe=_describe)
        built.patience = 1_000  # shifts make the time grow faster than the square of the words
        return built


def _describe(score: Any) -> str:
    return f"{score.num_edits:,} edits, references {score.ref_length:,.0f} words long"
