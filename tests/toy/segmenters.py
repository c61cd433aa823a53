"""One segmenter of each kind, learned from the toy language, with two tags and two symbols."""

import io
import random
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sentencepiece
from pydantic import TypeAdapter

from nmtkit.corpus.segmenters import Segmenter, SegmenterConfig, learn_segmenter, open_segmenter
from toy.corpora import count_sentences, sentence_pair
from toy.union import members

KINDS = [member.model_fields["kind"].default for member in members(SegmenterConfig)]
SAMPLING_KINDS = ["bpe", "unigram", "wordpiece", "file"]
SIZED_KINDS = ["bpe", "unigram", "wordpiece"]
NAMES = ["<s>", "</s>", "<unk>", "<pad>", "<0x41>", "<0x00>", "<tag:news>", "▁", "\u2047", "\u2585"]
"""What text may hold and no piece of text may be called."""
LINES = [side for number in random.Random(0).sample(range(count_sentences()), 150) for side in sentence_pair(number)]
TAGS = ("news", "the")
SYMBOLS = ("<2de>", "ard")
SIZE = 320


def config_of(kind: str, **values: Any) -> SegmenterConfig:
    """Return settings of a kind; sizes and byte fallback are set where there are such settings."""
    if kind in SIZED_KINDS:
        values = {"vocabulary_size": SIZE, **values}
    config: SegmenterConfig = TypeAdapter(SegmenterConfig).validate_python({"kind": kind, **values})
    return config


def learn(kind: str, lines: Iterable[str] = (), *, tags: tuple[str, ...] = (), **values: Any) -> bytes:
    """Return the model file of a kind; `lines` are added to those of the toy language."""
    with TemporaryDirectory() as folder:
        if kind == "file":
            values = {"path": str(Path(folder) / "foreign.model"), **values}
            Path(values["path"]).write_bytes(foreign())
        return learn_segmenter(config_of(kind, **values), [*LINES, *lines], tags=tags).model


@cache
def segmenter(kind: str) -> Segmenter:
    """Return the segmenter of a kind, with byte fallback, from text that names control ids again and again."""
    return open_segmenter(learn(kind, NAMES * 20, tags=TAGS, symbols=SYMBOLS), f"{kind}.model")


@cache
def without_bytes(kind: str) -> Segmenter:
    """Return a segmenter that knows no other characters than those of the toy language."""
    values = {"vocabulary_size": 80} if kind in SIZED_KINDS else {}
    return open_segmenter(learn(kind, ["<s></s><unk><pad>"] * 20, byte_fallback=False, **values), f"{kind}.model")


@cache
def foreign(**settings: Any) -> bytes:
    """Return a model as SentencePiece makes it: no padding, the other control ids in other places."""
    model = io.BytesIO()
    values = {
        "vocab_size": 310,
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "minloglevel": 3,
        **settings,
    }
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(LINES), model_writer=model, **values)
    return model.getvalue()
