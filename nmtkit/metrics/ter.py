"""TER, the translation edit rate (Snover et al. 2006), by sacreBLEU."""

from typing import Any, Literal

from pydantic import Field

from nmtkit.errors import ConfigError
from nmtkit.metrics.base import MetricSection
from nmtkit.metrics.languages import UNSPACED, primary_language
from nmtkit.metrics.sacre import Formula, SacrebleuMetric

SPLIT = ("zh",)
"""The language whose characters sacreBLEU makes words of; of Japanese it splits kanji alone, and kana stay together."""


class TerConfig(MetricSection):
    """TER as sacreBLEU computes it: word edits and shifts per 100 words of reference; lower is better."""

    kind: Literal["ter"] = "ter"
    normalized: bool = Field(False, description="Separate punctuation from words first (an option of Tercom).")
    punctuation: bool = Field(True, description="Count punctuation.")
    case_sensitive: bool = Field(False, description="Count case; sacreBLEU's default ignores it.")
    asian_support: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Make each Chinese character a word (includes normalized); auto: for target zh. Japanese kana stay "
        "together, so that most of a sentence is one word.",
    )

    def unfit(self, target_language: str) -> str:
        """Return why there is no such score for this language; empty where there is."""
        language = primary_language(target_language)
        if language in UNSPACED and language not in SPLIT and self.asian_support == "auto":
            return f'it counts words, and target language "{target_language}" has no spaces between them'
        return ""

    def build(self, target_language: str) -> SacrebleuMetric:
        """Return the metric. Raises ConfigError for a language without spaces that sacreBLEU does not split."""
        from sacrebleu.metrics.ter import TER

        from nmtkit.metrics import formulas

        if problem := self.unfit(target_language):
            raise ConfigError(f'score.metrics: kind = "ter": {problem}; leave it out')
        unspaced = primary_language(target_language) in SPLIT
        asian = self.asian_support == "on" or (self.asian_support == "auto" and unspaced)
        metric = TER(
            normalized=self.normalized or asian,  # sacreBLEU splits characters only while it normalizes
            no_punct=not self.punctuation,
            asian_support=asian,
            case_sensitive=self.case_sensitive,
        )
        formula = Formula(values=formulas.ter, describe=_describe)
        built = SacrebleuMetric(metric, formula, name="TER", higher_is_better=False)
        built.patience = 200  # of a line with moved parts: 150 words take 1 s, 300 more than 60 s
        return built


def _describe(score: Any) -> str:
    return f"{score.num_edits:,} edits, references {score.ref_length:,.0f} words long"
