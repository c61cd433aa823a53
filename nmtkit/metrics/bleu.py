"""BLEU (Papineni et al. 2002) by sacreBLEU."""

from functools import partial
from typing import Any, Literal

from pydantic import Field

from nmtkit.errors import ConfigError
from nmtkit.metrics.base import MetricSection
from nmtkit.metrics.languages import UNSPACED, primary_language
from nmtkit.metrics.sacre import Formula, SacrebleuMetric

TOKENIZERS = {**dict.fromkeys(UNSPACED, "char"), "zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
"""sacreBLEU's tokenizers for target languages that 13a does not serve."""

Tokenizer = Literal["auto", "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab", "flores101", "flores200", "none"]


class BleuConfig(MetricSection):
    """BLEU as sacreBLEU computes it, on raw text."""

    kind: Literal["bleu"] = "bleu"
    tokenize: Tokenizer = Field(
        "auto",
        description="sacreBLEU's tokenizer; auto: zh for Chinese, ja-mecab for Japanese (needs nmtkit[ja]), "
        "ko-mecab for Korean (needs nmtkit[ko]), char for other languages without spaces, such as Thai, else 13a. "
        "flores101 and flores200 are the pieces of spBLEU, whose model sacreBLEU downloads once. none is for text that "
        "is tokenized already.",
    )
    lowercase: bool = Field(False, description="Ignore case.")
    smoothing: Literal["exp", "floor", "add-k", "none"] = Field(
        "exp", description="What replaces a precision of zero; only exp compares with other people's scores."
    )

    def build(self, target_language: str) -> SacrebleuMetric:
        """Return the metric. Raises ConfigError where the tokenizer of the language is not installed."""
        from sacrebleu.metrics.bleu import BLEU

        language = primary_language(target_language)
        tokenizer = TOKENIZERS.get(language, "13a") if self.tokenize == "auto" else self.tokenize
        try:
            # force: the score command itself warns of text that looks tokenized
            metric = BLEU(tokenize=tokenizer, lowercase=self.lowercase, smooth_method=self.smoothing, force=True)
        except (RuntimeError, ImportError, OSError) as error:  # MeCab, its dictionary or a model is missing
            raise ConfigError(
                f'score.metrics: BLEU for target language "{target_language}" uses tokenizer {tokenizer}, '
                f'which {_remedy(tokenizer, error)}, or set tokenize = "char" for this metric'
            ) from error
        built = SacrebleuMetric(metric, formula(self.smoothing), name="BLEU")
        if self.tokenize == "auto" and tokenizer == "char":
            built.notice = (
                f'BLEU compares characters, since target language "{target_language}" has no spaces between words '
                '(tok:char in its signature); for the spBLEU of papers set tokenize = "flores200" for this metric'
            )
        return built


def formula(smoothing: str, of_sentences: str = "") -> Formula:
    """Return BLEU's formula; lines by themselves are smoothed otherwise where `of_sentences` says so."""
    from nmtkit.metrics import formulas

    return Formula(
        values=partial(formulas.bleu, smoothing=smoothing),
        sentences=partial(formulas.bleu, smoothing=of_sentences or smoothing, effective=True),
        sentences_signed={"eff": "yes", **({"smooth": of_sentences} if of_sentences else {})},
        describe=_describe,
    )


def _remedy(tokenizer: str, error: Exception) -> str:
    if tokenizer.startswith("flores"):
        return f"could not be downloaded ({error}); call this once where the network is there"
    return f"is not installed; run: pip install 'nmtkit[{tokenizer.removesuffix('-mecab')}]'"


def _describe(score: Any) -> str:
    precisions = "/".join(f"{precision:.1f}" for precision in score.precisions)
    return (
        f"precisions {precisions}, brevity penalty {score.bp:.3f}, "
        f"hypotheses {score.sys_len:,} and references {score.ref_len:,} tokens long"
    )
