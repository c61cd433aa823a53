"""What `nmtkit score --model` writes for a pair: columns or a JSON object, and which pairs it leaves out.

LOG_PROBABILITY TAB TOKENS TAB PERPLEXITY                         by default
… TAB PIECES TAB LOG_PROBABILITIES                                with tokens: as many words in one column as the other
… TAB SOURCE TAB TARGET                                           with text
SOURCE TAB TARGET                                                 with a threshold and without text

Log-probabilities are in nats; the perplexity is of a piece. JSON has no word for what is infinite: it is null there.
"""

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from nmtkit import __version__
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.pieces import CONTROLS
from nmtkit.corpus.segmenters import Segmenter
from nmtkit.corpus.vocabulary import EOS

if TYPE_CHECKING:
    from nmtkit.api import Scorer
    from nmtkit.translation.scorer import PairScore

BLANK_PAIR = SentencePair("", "")
"""Written where a line was no pair."""


class Wanted(NamedTuple):
    """What is to be written.

    `above` and `below` are log-probabilities per piece: of the one value they part the pairs in two.
    """

    tokens: bool = False
    text: bool = False
    above: float | None = None
    below: float | None = None
    as_json: bool = False

    def takes(self, score: "PairScore") -> bool:
        """Tell whether a pair is written. What has no piece to be scored is above nothing."""
        if self.above is not None and not (score.tokens and score.mean >= self.above):
            return False
        return self.below is None or not (score.tokens and score.mean >= self.below)

    def row(self, number: int, pair: SentencePair | None, score: "PairScore", segmenter: Segmenter) -> str:
        """Return what is written of the pair of line `number`, from 1; `segmenter` is that of the target."""
        pair = BLANK_PAIR if pair is None else pair
        pieces = [*segmenter.pieces(score.ids), CONTROLS[EOS]][: len(score.each)] if self.tokens else []
        if self.as_json:
            return self._object(number, pair, score, pieces)
        columns = []
        if self.text or (self.above is None and self.below is None):
            columns = [f"{score.log_probability:.6f}", str(score.tokens), f"{score.perplexity:.6g}"]
            if self.tokens:
                columns += [" ".join(pieces), " ".join(f"{each:.6f}" for each in score.each)]
        if self.text or not columns:
            columns += pair
        return "\t".join(columns)

    def _object(self, number: int, pair: SentencePair, score: "PairScore", pieces: list[str]) -> str:
        found: dict[str, Any] = {
            "line": number,
            "log_probability": finite(score.log_probability),
            "tokens": score.tokens,
            "perplexity": finite(score.perplexity),
        }
        if self.tokens:
            found |= {"pieces": pieces, "log_probabilities": [finite(each) for each in score.each]}
        if self.text or self.above is not None or self.below is not None:
            found |= pair._asdict()
        return as_json(found)


def total(scorer: "Scorer") -> str:
    """Return the last record: what holds for all pairs together, and what scored them."""
    counts = scorer.counts
    whole = {
        "pairs": counts.pairs,
        "scored": counts.scored,
        "blank": counts.blank,
        "too_long": counts.too_long,
        "broken": counts.broken,
        "tokens": counts.tokens,
        "log_probability": finite(counts.log_probability),
        "perplexity": finite(counts.perplexity) if counts.scored else None,
        "weights": str(scorer.weights),
        "tag": scorer.config.tag,
        "nmtkit": __version__,
    }
    return as_json({"corpus": whole})


def finite(number: float) -> float | None:
    """Return a number, None where it is infinite or none."""
    return number if math.isfinite(number) else None


def as_json(found: dict[str, Any]) -> str:
    """Return a record on one line."""
    return json.dumps(found, ensure_ascii=False, allow_nan=False)
