"""The sample corpus: training, development and test pairs, drawn by all rules, and split so that scores mean something.

A combination is a word in a phenomenon: a noun, verb or adjective in a sentence of, say, the passive. Some combinations
are held out: training never sees them, and every development and test pair holds one at least. All their words and word
forms do occur in training, in other phenomena.
"""

import hashlib
import random
from bisect import bisect
from itertools import accumulate
from typing import NamedTuple

from nmtkit.corpus.pair import SentencePair
from nmtkit.sample import (
    rules_complex,
    rules_linked,
    rules_main,
    rules_nominal,
    rules_numbers,
    rules_order,
    rules_speech,
)
from nmtkit.sample.draw import Draw, NoWordError
from nmtkit.sample.lexicon import lexicon
from nmtkit.sample.rule import Rule

RULES: tuple[Rule, ...] = (
    *rules_main.RULES,
    *rules_order.RULES,
    *rules_speech.RULES,
    *rules_complex.RULES,
    *rules_linked.RULES,
    *rules_nominal.RULES,
    *rules_numbers.RULES,
)
PHENOMENA = tuple(dict.fromkeys(rule.phenomenon for rule in RULES))

TRAIN, DEV, TEST = 26_000, 500, 1_000
HELD_OUT = 0.05
"""The share of combinations that training never sees."""
_ONE_CONSTRUCTION = ("(travel)", "(measure)", "(clause)", "(copula)")
"""How the keys of verbs end that a single phenomenon may hold; held out there, they would be nowhere."""


class Labelled(NamedTuple):
    """A pair, the phenomenon that it shows, and the words that it was made of."""

    pair: SentencePair
    phenomenon: str
    words: frozenset[str]


class Sample(NamedTuple):
    """The three parts, without a sentence in common on either side."""

    train: list[Labelled]
    dev: list[Labelled]
    test: list[Labelled]


def held_out(seed: int, word: str, phenomenon: str) -> bool:
    """Say whether training must not hold a word in a phenomenon; the same on every machine."""
    if word.endswith(_ONE_CONSTRUCTION):
        return False
    digest = hashlib.blake2b(f"{seed} {word} {phenomenon}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") < HELD_OUT * 2**32


def generate(seed: int = 1, train: int = TRAIN, dev: int = DEV, test: int = TEST) -> Sample:
    """Draw a corpus of these sizes. The same seed and sizes give the same corpus, byte for byte."""
    drawn = _Drawn(seed)
    while len(drawn.seen) < train or len(drawn.unseen) < 3 * (dev + test):
        drawn.next()
    kept = drawn.seen[:train]
    known = {word for one in kept for word in tokens(one)}
    ready = [one for one in drawn.unseen if known.issuperset(tokens(one))]
    chosen = _evenly(ready, dev + test)
    random.Random(f"{seed} order").shuffle(chosen)
    return Sample(kept, chosen[:dev], chosen[dev:])


def tokens(one: Labelled) -> list[str]:
    """Return the words of both sides, marked with their side, without case and marks."""
    marks = str.maketrans(dict.fromkeys(",.?!"))
    return [
        f"{side} {word}"
        for side, text in zip(("en", "de"), one.pair, strict=True)
        for word in text.translate(marks).lower().split(" ")
    ]


class _Drawn:
    """Pairs as they come, no sentence twice on either side, sorted into those that training may see and the others."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generator = random.Random(seed)
        self._draw = Draw(lexicon(), self._generator)
        self._steps = list(accumulate(rule.weight for rule in RULES))
        self._sources: set[str] = set()
        self._targets: set[str] = set()
        self._held: dict[tuple[str, str], bool] = {}
        self.seen: list[Labelled] = []
        self.unseen: list[Labelled] = []

    def next(self) -> None:
        """Draw one more pair, which may be one that is there already."""
        rule = RULES[min(bisect(self._steps, self._generator.random() * self._steps[-1]), len(RULES) - 1)]
        self._draw.start()
        try:
            pair = SentencePair(*rule.draw(self._draw))
        except NoWordError:
            return
        if pair.source in self._sources or pair.target in self._targets:
            return
        self._sources.add(pair.source)
        self._targets.add(pair.target)
        one = Labelled(pair, rule.phenomenon, frozenset(self._draw.used))
        (self.unseen if any(self._is_held(word, rule.phenomenon) for word in self._draw.used) else self.seen).append(
            one
        )

    def _is_held(self, word: str, phenomenon: str) -> bool:
        key = (word, phenomenon)
        if key not in self._held:
            self._held[key] = held_out(self._seed, word, phenomenon)
        return self._held[key]


def _evenly(ready: list[Labelled], wanted: int) -> list[Labelled]:
    """Take pairs of each phenomenon in turn, so that none is rare in the test."""
    piles: dict[str, list[Labelled]] = {name: [] for name in PHENOMENA}
    for one in ready:
        piles[one.phenomenon].append(one)
    chosen: list[Labelled] = []
    for turn in range(wanted):
        row = [pile[turn] for pile in piles.values() if turn < len(pile)]
        chosen += row[: wanted - len(chosen)]
        if len(chosen) == wanted:
            break
    return chosen
