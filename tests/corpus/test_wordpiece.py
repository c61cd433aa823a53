"""WordPiece: the pieces found are those that the definition names, computed by hand and by brute force."""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest

from nmtkit.corpus.segmenters import LONGEST_PIECE
from nmtkit.corpus.wordpiece import learn_pieces

Cut = list[tuple[tuple[str, ...], int]]


def test_first_joins_of_a_worked_example() -> None:
    """Words: "▁hug" 10 times, "▁pug" 5, "▁bun" 4.

    Counts of the characters: ▁ 19, h 10, u 19, g 15, p 5, b 4, n 4; N = 76. With f(z) = z log z, joining x and y, n
    times neighbours, gains f(n) + f(x-n) - f(x) + f(y-n) - f(y) + f(76) - f(76-n):

        ▁h  10   f(10)=23.03  f(9)-f(19)=19.78-55.94   0-f(10)=-23.03       f(76)-f(66)=329.14-276.52   gain 16.45
        hu  10   the same, for ▁ and u are alike in number                                              gain 16.45
        ug  15   f(15)=40.62  f(4)-f(19)=5.55-55.94    0-f(15)=-40.62       f(76)-f(61)=329.14-250.76   gain 27.97
        ▁p, pu 5   f(5)=8.05  f(14)-f(19)=36.95-55.94  0-f(5)               f(76)-f(71)=329.14-302.65   gain  7.49
        ▁b, bu 4   f(4)=5.55  f(15)-f(19)=40.62-55.94  0-f(4)               f(76)-f(72)=329.14-307.92   gain  5.89
        un   4   the same                                                                               gain  5.89

    So "ug" comes first. Then ▁ 19, h 10, ug 15, p 5, b 4, u 4, n 4; N = 61:

        ▁h  10   23.03 + 19.78 - 55.94 - 23.03 + f(61)-f(51)=250.76-200.52                              gain 14.07
        h+ug 10  23.03 + f(5)-f(15)=8.05-40.62 - 23.03 + 50.24                                          gain 17.67
        p+ug 5   8.05 + f(10)-f(15)=23.03-40.62 - 8.05 + f(61)-f(56)=250.76-225.42                      gain  7.75
        un   4   5.55 - 5.55 - 5.55 + f(61)-f(57)=250.76-230.45                                         gain 14.77

    So "hug" is next (u and n now occur nowhere else, which makes "un" the third best).
    """
    words = {"▁hug": 10, "▁pug": 5, "▁bun": 4}
    alphabet = ["▁", "h", "u", "g", "p", "b", "n"]
    assert learn_pieces(words, alphabet, 9) == [*alphabet, "ug", "hug"]
    characters: Cut = [(tuple(word), n) for word, n in words.items()]
    gains = {pair: gain_of(characters, *pair) for pair in ("ug", "hu", "▁p", "un")}
    assert {pair: round(gain, 2) for pair, gain in gains.items()} == {"ug": 27.97, "hu": 16.45, "▁p": 7.49, "un": 5.89}


@pytest.mark.parametrize("seed", range(40))
def test_each_piece_is_the_best_pair_of_its_moment(seed: int) -> None:
    generator = random.Random(seed)
    letters = "abc"[: generator.randint(1, 3)]
    words = {
        "▁" + "".join(generator.choices(letters, k=generator.randint(1, 20 if letters == "a" else 9))): n
        for n in generator.choices(range(1, 9), k=6)
    }
    alphabet = sorted(set("".join(words)))
    pieces = learn_pieces(words, alphabet, 500)
    assert len(set(pieces)) == len(pieces)
    follow(words, alphabet, pieces)
    half = (len(alphabet) + len(pieces)) // 2
    assert learn_pieces(words, alphabet, half) == pieces[:half]
    assert learn_pieces(dict(sorted(words.items(), reverse=True)), alphabet, 500) == pieces


def follow(words: Mapping[str, int], alphabet: Sequence[str], pieces: Sequence[str]) -> None:
    """See that each piece has the highest gain of all, computed from scratch, and that none is left in the end."""
    cut: Cut = [(tuple(word), n) for word, n in words.items()]
    known = set(alphabet)
    for piece in pieces[len(alphabet) :]:
        gains = all_gains(cut)
        best = max(gains.values())
        assert best > 0
        assert max(gain for (x, y), gain in gains.items() if x + y == piece) == pytest.approx(best, abs=1e-7)
        known.add(piece)
        while made := [(x, y) for parts, _ in cut for x, y in pairs(parts) if x + y in known]:
            cut = [(join(parts, *made[0]), n) for parts, n in cut]
    assert max(all_gains(cut).values(), default=0) < 1e-7


def all_gains(cut: Cut) -> dict[tuple[str, str], float]:
    candidates = {(x, y) for parts, _ in cut for x, y in pairs(parts) if len(x + y) <= LONGEST_PIECE}
    return {(x, y): gain_of(cut, x, y) for x, y in candidates}


def gain_of(cut: Cut, left: str, right: str) -> float:
    return likelihood([(join(parts, left, right), n) for parts, n in cut]) - likelihood(cut)


def likelihood(cut: Cut) -> float:
    counts: Counter[str] = Counter()
    for parts, n in cut:
        for part in parts:
            counts[part] += n
    return sum(n * math.log(n) for n in counts.values()) - counts.total() * math.log(counts.total())


def pairs(parts: Sequence[str]) -> list[tuple[str, str]]:
    return list(pairwise(parts))


def join(parts: Sequence[str], left: str, right: str) -> tuple[str, ...]:
    joined: list[str] = []
    place = 0
    while place < len(parts):
        both = tuple(parts[place : place + 2]) == (left, right)
        joined.append(left + right if both else parts[place])
        place += 2 if both else 1
    return tuple(joined)


def test_characters_outside_the_alphabet_part_words() -> None:
    pieces = learn_pieces({"▁aXb": 9, "▁ab": 1}, ["▁", "a", "b"], 9)
    assert "ab" not in pieces[:4]
    assert all("X" not in piece for piece in pieces)


def test_nothing_to_join_gives_the_alphabet() -> None:
    assert learn_pieces({"▁": 3}, ["▁"], 9) == ["▁"]
    assert learn_pieces({"X": 3}, ["▁"], 9) == ["▁"]
    assert learn_pieces({}, ["▁"], 9) == ["▁"]
