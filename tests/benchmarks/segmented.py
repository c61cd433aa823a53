"""Text cut into pieces already, as the peers' scripts leave it, for benchmarks: read, joined to longer text, prepared.

A folder of such text has train.en, train.de (and val, test), one sentence a line, pieces joined by single spaces, and
vocab.txt with a piece and its count on each line.
"""

import bisect
import io
import json
import math
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sentencepiece

from nmtkit.data.store import PairStore

LANGUAGES = ("en", "de")
CONTROLS = 4
"""Pieces beside those of the text: padding, unknown, begin and end mark."""
LONGEST = 1_024
"""Pieces of a sentence beyond which `prepare` would drop a pair; no text here has any."""

Sentence = list[str]


class Pair(NamedTuple):
    """Pieces of both sides."""

    source: Sentence
    target: Sentence


def read_pairs(data: Path) -> list[Pair]:
    """Return the training pairs of a folder."""
    sides = [
        [line.split() for line in (data / f"train.{language}").read_text("utf-8").removesuffix("\n").split("\n")]
        for language in LANGUAGES
    ]
    return [Pair(*pair) for pair in zip(*sides, strict=True)]


def read_pieces(data: Path) -> list[str]:
    """Return the vocabulary of a folder, most frequent pieces first."""
    lines = (data / "vocab.txt").read_text("utf-8").removesuffix("\n").split("\n")
    return [line.split(" ")[0] for line in lines]


def news_length(draw: random.Random) -> int:
    """Draw pieces of a target sentence as news has them: 28 on average, standard deviation 16, at most 100."""
    return min(100, max(2, round(draw.gammavariate((28 / 16) ** 2, 16**2 / 28))))


def long_length(draw: random.Random) -> int:
    """Draw pieces of a target sentence that takes 256 to 512 positions, its end mark included."""
    return draw.randint(255, 511)


class Text(NamedTuple):
    """How long the sentences of a text are, and how many pairs there are."""

    length: Callable[[random.Random], int] | None
    """Draws the pieces of a target sentence; None: as they come."""
    pairs: int


TEXTS = {"captions": Text(None, 29_000), "news": Text(news_length, 29_000), "long": Text(long_length, 2_100)}
"""`captions` is the text of the peers' scripts itself; of the others, about twice its pieces."""


def make_text(name: str, data: Path, into: Path) -> None:
    """Write a text of longer sentences into a folder, each joined from lines of `data`, where it is not there yet."""
    length, count = TEXTS[name]
    if length is None or (into / "vocab.txt").exists():
        return
    into.mkdir(parents=True, exist_ok=True)
    draw = random.Random(name)
    pairs = list(joined(read_pairs(data), length, count, draw))
    for language, sentences in zip(LANGUAGES, zip(*pairs, strict=True), strict=True):
        lines = "".join(" ".join(sentence) + "\n" for sentence in sentences)
        (into / f"train.{language}").write_bytes(lines.encode())
    for file in data.iterdir():
        if file.name.startswith(("val.", "test.", "ref.", "codes.")):
            shutil.copyfile(file, into / file.name)
    shutil.copyfile(data / "vocab.txt", into / "vocab.txt")  # last, since it says that all is there


def joined(
    pairs: list[Pair], length: Callable[[random.Random], int], count: int, draw: random.Random
) -> Iterator[Pair]:
    """Yield pairs whose target side has drawn lengths, each of some of `pairs`; the last of them fills what is left."""
    by_length = sorted(pairs, key=lambda pair: len(pair.target))
    lengths = [len(pair.target) for pair in by_length]
    for _ in range(count):
        left, chosen = max(lengths[0], length(draw)), []
        while left >= lengths[0]:
            pair = draw.choice(pairs)
            if len(pair.target) > left:
                longest = lengths[bisect.bisect_right(lengths, left) - 1]
                begin, end = bisect.bisect_left(lengths, longest), bisect.bisect_right(lengths, longest)
                pair = by_length[draw.randrange(begin, end)]
            chosen.append(pair)
            left -= len(pair.target)
        yield Pair(*(list(chain.from_iterable(side)) for side in zip(*chosen, strict=True)))


def facts(pairs: list[Pair]) -> dict[str, float]:
    """Return what the lengths of the pairs are, end marks not counted."""
    source, target = (np.array([len(side) for side in sides]) for sides in zip(*pairs, strict=True))
    return {
        "pairs": len(pairs),
        "source_pieces": int(source.sum()),
        "target_pieces": int(target.sum()),
        "target_mean": round(float(target.mean()), 1),
        "target_deviation": round(float(target.std()), 1),
        "target_longest": int(target.max()),
        "source_longest": int(source.max()),
    }


def word_model(data: Path) -> bytes:
    """Return a SentencePiece model whose pieces are those of vocab.txt, four control pieces before them."""
    pieces = read_pieces(data)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(pieces), model_writer=model, model_type="word", vocab_size=len(pieces) + CONTROLS,
        normalization_rule_name="identity", character_coverage=1.0, pad_id=0, unk_id=1, bos_id=2, eos_id=3,
        minloglevel=2,
    )  # fmt: skip
    return model.getvalue()


PROJECT = """
[languages]
source = "en"
target = "de"

[corpus]
folder = {data}

[[corpus.train]]
name = "train"
source = "train.en"
target = "train.de"

[prepare]
normalizers = []
filters = []
max_pieces = {longest}

[prepare.segmenter]
kind = "file"
path = "words.model"

[model]
kind = "transformer"

[train]
seed = 1
label_smoothing = 0.1

[train.batch]
tokens_per_update = {tokens}

[train.schedule]
kind = "inverse_sqrt"
peak = 0.005
warmup = 2000

[train.checkpoints]
every = 1000000
average = 0
"""


def write_project(folder: Path, data: Path, tokens: int) -> Path:
    """Write an nmtkit.toml for a text and the vocabulary beside it; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "words.model").write_bytes(word_model(data))
    file = folder / "nmtkit.toml"
    file.write_text(PROJECT.format(data=json.dumps(str(data.resolve())), longest=LONGEST, tokens=tokens), "utf-8")
    return file


def check_prepared(run: Path, pairs: list[Pair]) -> None:
    """See that a run's data is the text and all of it. Raises SystemExit where it is not."""
    store = PairStore.open(run / "data", "train")
    for side, sentences in zip((store.source, store.target), zip(*pairs, strict=True), strict=True):
        if side.lengths.tolist() != [len(sentence) for sentence in sentences]:
            raise SystemExit(f"{run}: prepared are other pieces than those of the text")


def operations_per_token(
    pairs: Sequence[Pair], vocabulary: int, *, layers: int, width: int, feed_forward: int
) -> float:
    """Return the operations of an update per target token: those of the matrix products of forward and backward.

    A multiplication and an addition are two; backward is twice forward. Nothing is counted for padding, nor is the
    lower half of the decoder's self-attention left out.
    """
    source = np.array([len(pair.source) + 1 for pair in pairs], np.float64)
    target = np.array([len(pair.target) + 1 for pair in pairs], np.float64)
    # Per layer: 4 width² for the four projections of an attention, of which a source position computes those of keys
    # and values for the decoder too; 2 positions × width for scores and sums of each query.
    ahead = 2 * width * feed_forward
    encoder = source * (4 * width**2 + ahead + 2 * width**2) + 2 * width * source**2
    decoder = target * (6 * width**2 + ahead) + 2 * width * (target**2 + target * source)
    products = layers * (encoder + decoder).sum() + math.prod((target.sum(), width, vocabulary))
    return float(3 * 2 * products / target.sum())
