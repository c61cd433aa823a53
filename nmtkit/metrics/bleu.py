"""BLEU (Papineni et al. 2002) by sacreBLEU."""

from typing import Any, Literal

from pydantic import Field

from nmtkit.errors import ConfigError
from nmtkit.metrics.base import Metric, primary_language
from nmtkit.metrics.sacre import SacrebleuMetric
from nmtkit.section import Section

TOKENIZERS = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
"""sacreBLEU's tokenizers for target languages that 13a does not serve."""


class BleuConfig(Section):
    """BLEU as sacreBLEU computes it, on raw text."""

    kind: Literal["bleu"] = "bleu"
    tokenize: Literal["auto", "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "none"] = Field(
        "auto",
        description="sacreBLEU's tokenizer; auto: zh for Chinese, ja-mecab for Japanese (needs nmtkit[ja]), "
        "ko-mecab for Korean (needs nmtkit[ko]), else 13a. none is for text that is tokenized already.",
    )
    lowercase: bool = Field(False, description="Ignore case.")
    smoothing: Literal["exp", "floor", "add-k", "none"] = Field(
        "exp", description="What replaces a precision of zero; only exp compares with other people's scores."
    )

    def build(self, target_language: str) -> Metric:
        """Return the metric. Raises ConfigError where the tokenizer of the language is not installed."""
        from sacrebleu.metrics.bleu import BLEU

        language = primary_language(target_language)
        tokenizer = TOKENIZERS.get(language, "13a") if self.tokenize == "auto" else self.tokenize
        try:
            # force: the score command itself warns of text that looks tokenized
            metric = BLEU(tokenize=tokenizer, lowercase=self.lowercase, smooth_method=self.smoothing, force=True)
        except (RuntimeError, ImportError) as error:  # MeCab or its dictionary is missing
            extra = tokenizer.removesuffix("-mecab")
            raise ConfigError(
                f'score.metrics: BLEU for target language "{target_language}" uses tokenizer {tokenizer}, '
                f"which is not installed; run: pip install 'nmtkit[{extra}]', or set tokenize = \"char\" "
                "for this metric"
            ) from error
        return SacrebleuMetric(metric, higher_is_better=True, describe=_describe)


def _describe(score: Any) -> str:
    precisions = "/".join(f"{precision:.1f}" for precision in score.precisions)
    return (
        f"precisions {precisions}, brevity penalty {score.bp:.3f}, "
        f"hypotheses {score.sys_len:,} and references {score.ref_len:,} tokens long"
    )
