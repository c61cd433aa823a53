"""BLEU of tokens by Moses's rules, with and without compound splitting: what papers reported before sacreBLEU.

Computed as Moses's multi-bleu.perl does: n-grams up to 4, clipped by the reference that has most, no smoothing, brevity
penalty against the reference nearest in length (of two the shorter). Scores of tokens compare only with scores of the
same tokens, so nothing here shares a name with sacreBLEU's BLEU.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Literal

from pydantic import Field

from nmtkit import __version__
from nmtkit.errors import ConfigError
from nmtkit.metrics.base import MetricSection
from nmtkit.metrics.bleu import formula
from nmtkit.metrics.languages import UNKNOWN, UNSPACED, primary_language
from nmtkit.metrics.sacre import Reading, SacrebleuMetric

SPLIT_HYPHEN = r"\1 ##AT##-##AT## \2"
"""A hyphen of a compound between the parts of it, as the data of the time had it."""

OWN_RULES = ("ca", "fi", "ga", "so", "sv", "tdt")
"""Languages for which Moses has rules (colons, apostrophes and middle dots inside words) that sacremoses has not."""

_LAST_STOP = re.compile(r"(?<=[^\s.])\.$")
_COMPOUND_HYPHEN = re.compile(r"(\S)-(\S)")


class MosesConfig(MetricSection):
    """What both BLEUs of Moses's tokens have."""

    kind: Literal["tokenized_bleu", "compound_split_bleu"]
    lowercase: bool = Field(False, description="Ignore case (multi-bleu.perl -lc).")
    replace_punctuation: bool = Field(
        False,
        description="Write typographic and full-width punctuation (“ ” ’ …) in ASCII first, as Moses's "
        "replace-unicode-punctuation.perl does.",
    )

    def unfit(self, target_language: str) -> str:
        """Return why there is no such score for this language; empty where there is."""
        language = primary_language(target_language)
        if language == UNKNOWN:
            return "tokens depend on the target language, which is not known; give --set languages.target=CODE"
        if language in UNSPACED:
            return (
                f'Moses\'s rules find no words in target language "{target_language}", which has no spaces between them'
            )
        if language in OWN_RULES:
            return f'Moses has rules of its own for target language "{target_language}", which sacremoses has not'
        return ""

    def build(self, target_language: str) -> SacrebleuMetric:
        """Return the metric. Raises ConfigError for a language whose tokens by Moses's rules are not to be had."""
        if problem := self.unfit(target_language):
            raise ConfigError(f'score.metrics: kind = "{self.kind}": {problem}')
        import sacremoses
        from sacrebleu.metrics.bleu import BLEU

        split = self.kind == "compound_split_bleu"
        language = primary_language(target_language)
        tokens = _tokenizer(language, self.replace_punctuation)
        signed = {
            "tok": "moses",
            "lang": language,
            "rules": _rules(language),
            "dash": "no",
            "escape": "no",
            "punct": "replaced" if self.replace_punctuation else "kept",
            "compounds": "split" if split else "kept",
            "sacremoses": sacremoses.__version__,
            "nmtkit": __version__,
        }
        return SacrebleuMetric(
            BLEU(tokenize="none", lowercase=self.lowercase, smooth_method="none", force=True),
            formula("none", of_sentences="exp"),
            name="BLEU-split" if split else "BLEU-tok",
            reading=Reading((lambda line: split_compounds(tokens(line))) if split else tokens, signed),
        )


class TokenizedBleuConfig(MosesConfig):
    """BLEU of the tokens of Moses's tokenizer, as multi-bleu.perl computes it. Takes raw text."""

    kind: Literal["tokenized_bleu"] = "tokenized_bleu"


class CompoundSplitBleuConfig(MosesConfig):
    """BLEU of Moses's tokens with words split at hyphens, as papers of 2017 reported it. Takes raw text."""

    kind: Literal["compound_split_bleu"] = "compound_split_bleu"


def split_compounds(tokens: str) -> str:
    """Put a mark around each hyphen between two characters that are no spaces.

    Each match takes both characters, so of a-b-c only the first hyphen is split: so did the script that scores of the
    time were made with (`get_ende_bleu.sh` of tensor2tensor), and so must this.
    """
    return _COMPOUND_HYPHEN.sub(SPLIT_HYPHEN, tokens)


def _rules(language: str) -> str:
    """Return the language whose abbreviations Moses's tokenizer uses: English ones where a language has none."""
    from sacremoses.corpus import NonbreakingPrefixes

    return language if language in NonbreakingPrefixes().available_langs else "en"


@cache
def _tokenizer(language: str, replace_punctuation: bool) -> Callable[[str], str]:
    """Return Moses's tokenizer of a language; it remembers lines, since several scores and systems ask for the same.

    The last word loses its full stop, be it an abbreviation or not, as in `tokenizer.perl` since 2017; sacremoses is a
    port of an older one.
    Escapes are left out: each stands for one character, on both sides, so they change no score.
    """
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    tokenizer = MosesTokenizer(language)
    replace = MosesPunctNormalizer().replace_unicode_punct if replace_punctuation else str

    @lru_cache(maxsize=2**16)
    def tokens(line: str) -> str:
        found: str = tokenizer.tokenize(replace(line), return_str=True, escape=False)
        return _LAST_STOP.sub(" .", found)

    return tokens
