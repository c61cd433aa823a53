"""Sampling: draws follow the published distributions, and depend on the text and its seed alone."""

import json
import math
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy.segmenters import LINES, NAMES, SAMPLING_KINDS, SYMBOLS, segmenter, without_bytes

from nmtkit.corpus.draws import line_seeds, uniforms
from nmtkit.corpus.lines import clean
from nmtkit.corpus.sampling import LONGEST_SAMPLED
from nmtkit.corpus.vocabulary import BOS, EOS, PAD, UNK
from nmtkit.corpus.ways import BpeWays, GreedyWays, UnigramWays

over_kinds = pytest.mark.parametrize("kind", SAMPLING_KINDS)
DRAWS = 30_000
TEXT = st.lists(st.sampled_from([*NAMES, *SYMBOLS, " ", "the", "hund", "日本"]) | st.text(max_size=8)).map("".join)


def seeds(count: int, first: int = 0) -> np.ndarray:
    return np.arange(first, first + count, dtype=np.uint64)


def sample(kind: str, lines: list[str], numbers: np.ndarray, dropout: float = 0.3, alpha: float = 0.3):
    return segmenter(kind).sampler(dropout=dropout, alpha=alpha).sample(lines, numbers)


@over_kinds
@given(line=TEXT.map(clean), seed=st.integers(0, 2**64 - 1))
def test_whatever_is_drawn_says_the_same(kind: str, line: str, seed: int) -> None:
    own = segmenter(kind)
    (ids,) = sample(kind, [line], np.array([seed], np.uint64))
    assert own.decode([ids]) == [line]
    assert not {PAD, UNK, BOS, EOS, *own.tags.values()} & set(ids)


@given(
    part=st.text("ab", min_size=1, max_size=40),
    scores=st.dictionaries(st.text("ab", min_size=2, max_size=6), st.integers(-6, 0), max_size=12),
)
def test_all_merges_are_those_made_one_after_another(part: str, scores: Mapping[str, int]) -> None:
    """With equal scores too, of which the one furthest to the left comes first."""
    pieces = {piece: (number, float(score)) for number, (piece, score) in enumerate(scores.items())}
    ways = BpeWays(pieces, lambda character: (ord(character),), 0.0)
    symbols = list(part)
    while True:
        pairs = [
            (-scores[one + other], place)
            for place, (one, other) in enumerate(pairwise(symbols))
            if one + other in scores
        ]
        if not pairs:
            break
        _, place = min(pairs)
        symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
    assert ways._all_merged(part) == tuple(symbols)


def test_a_long_word_with_a_symbol_in_it_is_segmented() -> None:
    """With as many steps as merges: one look at all of them a merge would take hours."""
    own = segmenter("bpe")
    word = f"{SYMBOLS[0]}{'hund' * 50_000}"
    (ids,) = own.encode([word])
    assert own.decode([ids]) == [word]


@over_kinds
def test_draws_depend_on_text_and_seed_alone(kind: str) -> None:
    lines = [*LINES, "", "a▁b <2de>xard", *LINES]
    together = sample(kind, lines, seeds(len(lines)))
    order = list(range(len(lines)))
    random.Random(3).shuffle(order)
    mixed = sample(kind, [lines[place] for place in order], seeds(len(lines))[order])
    assert mixed == [together[place] for place in order]
    sampler = segmenter(kind).sampler(dropout=0.3, alpha=0.3)
    alone = [sampler.sample([line], seeds(1, place))[0] for place, line in enumerate(lines)]
    assert alone == together
    assert together[: len(LINES)] != together[-len(LINES) :]
    assert sample(kind, [], seeds(0)) == []


@over_kinds
def test_draws_do_not_depend_on_how_much_is_remembered(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = sample(kind, LINES, seeds(len(LINES)))
    monkeypatch.setattr("nmtkit.corpus.sampling.MOST_NODES", 3)
    assert sample(kind, LINES, seeds(len(LINES))) == usual


def test_another_process_draws_the_same() -> None:
    script = (
        "import json, sys, numpy as np; from toy.segmenters import LINES, segmenter\n"
        "samplers = {kind: segmenter(kind).sampler(dropout=0.3, alpha=0.3) for kind in sys.argv[1:]}\n"
        "seeds = np.arange(len(LINES), dtype=np.uint64)\n"
        "print(json.dumps({kind: sampler.sample(LINES, seeds) for kind, sampler in samplers.items()}))"
    )
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path)), "PYTHONHASHSEED": "5"}
    command = [sys.executable, "-c", script, *reversed(SAMPLING_KINDS)]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert json.loads(done.stdout) == {kind: sample(kind, LINES, seeds(len(LINES))) for kind in SAMPLING_KINDS}


@over_kinds
def test_without_dropout_or_with_the_likeliest_it_is_what_encode_says(kind: str) -> None:
    """SentencePiece's own segmentation, reached another way."""
    lines = [*LINES, *NAMES, "<2de>hardy ▁x日本", "  two  spaces "]
    assert sample(kind, lines, seeds(len(lines)), dropout=0.0, alpha=1e4) == segmenter(kind).encode(lines)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece"])
def test_unknown_characters_are_one_id_too(kind: str) -> None:
    sampler = without_bytes(kind).sampler(dropout=0.5, alpha=0.1)
    for ids in sampler.sample(["犬犬 the"] * 20, seeds(20)):
        assert ids.count(UNK) == 1
        assert without_bytes(kind).decode([ids]) == ["⁇ the"]


@over_kinds
def test_a_word_without_end_is_not_sampled(kind: str) -> None:
    word = "hund" * LONGEST_SAMPLED
    assert sample(kind, [f"{word} x"], seeds(1))[0][: -len("▁x")] == segmenter(kind).encode([word])[0]


def frequencies(draw: Callable[[np.ndarray], list[list[int]]]) -> Mapping[tuple[int, ...], float]:
    counts = Counter(map(tuple, draw(seeds(DRAWS))))
    return {cut: count / DRAWS for cut, count in counts.items()}


def close(found: Mapping[tuple[int, ...], float], expected: Mapping[tuple[int, ...], float]) -> bool:
    """Tell whether frequencies are within five standard deviations of what is expected, for each cut there is."""
    assert set(found) <= set(expected)
    spread = {cut: 5 * math.sqrt(share * (1 - share) / DRAWS) + 1e-3 for cut, share in expected.items()}
    return all(abs(found.get(cut, 0.0) - share) <= spread[cut] for cut, share in expected.items())


class Bare:
    """A segmenter of one part a word, for what samplers ask of it."""

    def parts(self, word: str) -> list[str]:
        return [f"▁{word}"]

    def joined(self, ids: list[int]) -> list[int]:
        return ids


def sampled(ways, word: str) -> Mapping[tuple[int, ...], float]:
    from nmtkit.corpus.sampling import Sampler

    return frequencies(lambda numbers: Sampler(Bare(), ways).sample([word] * len(numbers), numbers))  # type: ignore[arg-type]


PIECES = {
    piece: place for place, piece in enumerate(["▁", "a", "b", "c", "ab", "bc", "▁a", "abc", "▁ab", "cc"], start=4)
}
RANKED = {piece: (id_, -float(id_)) for piece, id_ in PIECES.items()}


def test_bpe_dropout_is_algorithm_1_of_its_paper() -> None:
    """Computed as the paper tells it, over all outcomes: every possible merge is left out with probability p."""
    p, word = 0.35, "abcc"

    def outcomes(symbols: tuple[str, ...], share: float, found: Counter) -> Counter:
        merges = [place for place in range(len(symbols) - 1) if symbols[place] + symbols[place + 1] in PIECES]
        for kept in range(2 ** len(merges)):
            chosen = [place for bit, place in enumerate(merges) if kept >> bit & 1]
            chance = share * (1 - p) ** len(chosen) * p ** (len(merges) - len(chosen))
            if not chosen:
                found[tuple(PIECES[symbol] for symbol in symbols)] += chance
                continue
            best = min(chosen, key=lambda place: PIECES[symbols[place] + symbols[place + 1]])
            merged = (*symbols[:best], symbols[best] + symbols[best + 1], *symbols[best + 2 :])
            outcomes(merged, chance, found)
        return found

    expected = outcomes(tuple(f"▁{word}"), 1.0, Counter())
    assert sum(expected.values()) == pytest.approx(1)
    assert close(sampled(BpeWays(RANKED, lambda _: (1,), p), word), expected)


def cuts(part: str) -> list[tuple[str, ...]]:
    found = [(part,)] if part in PIECES else []
    for end in range(1, len(part)):
        if part[:end] in PIECES:
            found += [(part[:end], *rest) for rest in cuts(part[end:])]
    return found


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1.0])
def test_unigram_draws_by_probability_to_the_power_of_alpha(alpha: float) -> None:
    scores = {piece: (id_, -0.7 * id_) for piece, id_ in PIECES.items()}
    weights = {
        tuple(PIECES[piece] for piece in cut): math.exp(alpha * sum(scores[piece][1] for piece in cut))
        for cut in cuts("▁abcc")
    }
    assert len(weights) > 5
    expected = {cut: weight / sum(weights.values()) for cut, weight in weights.items()}
    assert close(sampled(UnigramWays(scores, lambda _: (1,), alpha, -99.0), "abcc"), expected)


def test_maxmatch_dropout_passes_over_all_but_the_shortest_match() -> None:
    p = 0.3

    def outcomes(part: str) -> Mapping[tuple[int, ...], float]:
        if not part:
            return {(): 1.0}
        found: Counter = Counter()
        matches = [part[:end] for end in range(len(part), 0, -1) if part[:end] in PIECES]
        left = 1.0
        for match in matches:
            share = left if match == matches[-1] else left * (1 - p)
            left -= share
            for rest, chance in outcomes(part[len(match) :]).items():
                found[PIECES[match], *rest] += share * chance
        return found

    expected = outcomes("▁abcc")
    assert sum(expected.values()) == pytest.approx(1)
    assert close(sampled(GreedyWays(PIECES, lambda _: (1,), p), "abcc"), expected)


def test_draws_are_splitmix64() -> None:
    """Written out with Python's integers."""

    def reference(seed: int, place: int) -> float:
        z = (seed + place * 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53

    numbers = [3, 2**64 - 1, 12345678901234567]
    found = uniforms(np.array(numbers, np.uint64), [2, 0, 4])
    assert found == [
        *(reference(numbers[0], place) for place in range(2)),
        *(reference(numbers[2], k) for k in range(4)),
    ]
    assert all(0 <= number < 1 for number in found)


def test_seeds_of_lines_differ_by_all_they_are_made_of() -> None:
    made = {
        int(number)
        for seed in (0, 1, 2**63)
        for epoch in range(4)
        for side in range(2)
        for number in line_seeds(seed, epoch, side, range(50))
    }
    assert len(made) == 3 * 4 * 2 * 50
    assert line_seeds(1, 2, 0, [7, 9]).tolist() == line_seeds(1, 2, 0, np.arange(10))[[7, 9]].tolist()
