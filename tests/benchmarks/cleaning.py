"""What cleaning costs: microseconds of one core a pair, by normalizer and filter and in all, as JSON lines.

    python tests/benchmarks/cleaning.py
    python tests/benchmarks/cleaning.py --source train.en --target train.de --languages en de --pairs 100000

Without files the text is made up: an alphabet and lengths like those of short captions. "default" is what the default
settings do from raw bytes to clean pairs with their keys; "reading" what remains of it without normalizers and filters.
"""

import argparse
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from nmtkit.corpus.blocks import Block
from nmtkit.corpus.chunk_cleaning import ChunkCleaner
from nmtkit.corpus.filters import Duplicates, FilterConfig, FilterContext
from nmtkit.corpus.lines import raw_lines
from nmtkit.corpus.normalizers import CountingChain, NormalizerConfig
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.settings import LanguagesConfig, PrepareConfig
from nmtkit.errors import ConfigError

LETTERS = {"en": "abcdefghijklmnopqrstuvwxyz", "de": "abcdefghijklmnopqrstuvwxyzäöüß"}


def made_up(language: str, lines: int) -> list[bytes]:
    """Return lines of 8 to 16 words; one in a hundred has something to normalise."""
    draw = random.Random(language)
    letters = LETTERS[language]
    words = ["".join(draw.choices(letters, k=draw.randint(2, 9))) for _ in range(5_000)]
    text = []
    for _ in range(lines):
        line = " ".join(draw.choices(words, k=draw.randint(8, 16))).capitalize() + "."
        if draw.random() < 0.01:
            line = line.replace(" ", draw.choice(["  ", "\u00a0", " – ", " „ "]), 1)
        text.append(line.encode())
    return text


def microseconds(work: Callable[[], Any], pairs: int, repeats: int) -> float:
    """Return the time for a pair, the best of some repeats."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return round(best / pairs * 1e6, 3)


def members(union: Any) -> tuple[Any, ...]:
    """Return the classes of a union."""
    return get_args(get_args(union)[0])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path)
    parser.add_argument("--target", type=Path)
    parser.add_argument("--languages", nargs=2, default=["en", "de"])
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--block", type=int, default=10_000, help="pairs at once")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    files = (arguments.source, arguments.target)
    raws = [
        list(raw_lines(file))[: arguments.pairs] if file else made_up(language, arguments.pairs)
        for file, language in zip(files, arguments.languages, strict=True)
    ]
    pairs = len(raws[0])
    blocks = [
        Block(begin + 1, *(side[begin : begin + arguments.block] for side in raws))
        for begin in range(0, pairs, arguments.block)
    ]
    languages = LanguagesConfig(source=arguments.languages[0], target=arguments.languages[1])

    def cost(work: Callable[[Any], Any], over: Any) -> float:
        return microseconds(lambda: [work(one) for one in over], pairs, arguments.repeats)

    def tell(part: str, value: float | str, **more: Any) -> None:
        print(json.dumps({"part": part, "microseconds a pair": value, "pairs": pairs, **more}))

    held_out = [
        SentencePair(*(side[place].decode("utf-8", "replace") for side in raws)) for place in range(0, pairs, 97)
    ]
    bare = PrepareConfig(normalizers=(), filters=(), invalid_utf8="drop")
    default = PrepareConfig(invalid_utf8="drop")
    tell("reading", cost(ChunkCleaner(bare, languages), blocks))
    tell("default", cost(ChunkCleaner(default, languages, held_out), blocks))
    clean = [ChunkCleaner(default, languages)(block) for block in blocks]
    for member in members(NormalizerConfig):
        chains = [CountingChain((member(),), language) for language in arguments.languages]
        tell(
            f"normalizer {member().kind}",
            cost(lambda chunk: [chain.lines(side) for chain, side in zip(chains, chunk[:2], strict=True)], clean),  # noqa: B023
        )
    for member in members(FilterConfig):
        try:
            judge = member().build(FilterContext(*arguments.languages, held_out))
        except ConfigError as error:
            tell(f"filter {member().kind}", str(error))
            continue
        work = judge.keys if isinstance(judge, Duplicates) else judge.dropped
        tell(f"filter {member().kind}", cost(lambda chunk: work(chunk.sources, chunk.targets), clean))  # noqa: B023


if __name__ == "__main__":
    main()
