"""Small made-up parallel corpora that a tiny model can learn, and a configuration to go with them."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

ARTICLES = {"the": "der", "a": "ein", "every": "jeder"}
ADJECTIVES = {"": "", "old": "alte", "small": "kleine", "green": "grüne", "clever": "kluge", "tired": "müde"}
NOUNS = {
    "dog": "hund",
    "baker": "bäcker",
    "bird": "vogel",
    "gardener": "gärtner",
    "fish": "fisch",
    "painter": "maler",
    "fox": "fuchs",
    "neighbour": "nachbar",
}
VERBS = {
    "sees": "sieht",
    "hears": "hört",
    "finds": "findet",
    "paints": "malt",
    "greets": "grüßt",
    "seeks": "sucht",
}
ADVERBS = {"today": "heute", "often": "oft", "here": "hier", "tomorrow": "morgen", "never": "nie"}
PARTS = (ARTICLES, ADJECTIVES, NOUNS, VERBS, ARTICLES, NOUNS, ADVERBS)

TINY: dict[str, Any] = {
    "languages": {"source": "en", "target": "de"},
    "corpus": {
        "train": [{"name": "toy", "source": "train.en", "target": "train.de"}],
        "dev": {"name": "dev", "source": "dev.en", "target": "dev.de"},
        "test": [{"name": "test", "source": "test.en", "target": "test.de"}],
    },
    "prepare": {"max_pieces": 64, "segmenter": {"kind": "bpe", "vocabulary_size": 120, "byte_fallback": False}},
    "model": {
        "kind": "transformer",
        "preset": "tiny",
        "encoder_layers": 1,
        "decoder_layers": 1,
        "width": 16,
        "feed_forward": 32,
        "heads": 2,
        "dropout": 0.1,
    },
    "train": {
        "seed": 1,
        "precision": "fp32",
        "log_every": 2,
        "batch": {"tokens_per_update": 400, "tokens_per_tensor": 200},
        "schedule": {"kind": "constant", "peak": 0.005, "warmup": 2},
        "stop": {"updates": 8},
        "validation": {"every": 4},
        "checkpoints": {"every": 4, "keep_last": 2, "average": 2},
    },
    "translate": {
        "search": {"kind": "beam", "beam": 2, "max_length_ratio": 0.5, "max_length_extra": 5},
        "batch_tokens": 400,
        "chunk_lines": 8,
    },
}
"""A configuration that prepares, trains and scores `write_corpus`'s files in a few seconds."""


def sentence_pair(number: int) -> tuple[str, str]:
    """Return sentence `number` and its translation: the adverb moves to the front, the verb behind it."""
    words = []
    for part in PARTS:
        number, place = divmod(number, len(part))
        words.append(list(part.items())[place])
    article, adjective, noun, verb, other_article, other_noun, adverb = words
    subject, thing = (article, adjective, noun), (other_article, other_noun)
    source = [*(word for word, _ in (*subject, verb, *thing, adverb)), "."]
    target = [*(word for _, word in (adverb, verb, *subject, *thing)), "."]
    return " ".join(filter(None, source)), " ".join(filter(None, target))


def count_sentences() -> int:
    """Return how many sentence pairs there are; all differ on both sides."""
    count = 1
    for part in PARTS:
        count *= len(part)
    return count


def write_lines(path: Path, lines: list[str]) -> None:
    """Write lines as UTF-8, each ending in a line feed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


def write_corpus(folder: Path, pairs: int = 200, seed: int = 0) -> None:
    """Write train.en, train.de (`pairs` lines), dev.en, dev.de, test.en, test.de (20 lines each), all distinct."""
    sizes = {"train": pairs, "dev": 20, "test": 20}
    numbers = random.Random(seed).sample(range(count_sentences()), sum(sizes.values()))
    begin = 0
    for split, size in sizes.items():
        chosen = [sentence_pair(number) for number in numbers[begin : begin + size]]
        write_lines(folder / f"{split}.en", [source for source, _ in chosen])
        write_lines(folder / f"{split}.de", [target for _, target in chosen])
        begin += size


def config_values(overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the tiny configuration as nested tables; `overrides` maps dotted keys to values, None removes the key.

    A whole table may be given ({"train.schedule": {"kind": "noam"}}) and replaces the one that was there.
    """
    values = _copy(TINY)
    for key, value in (overrides or {}).items():
        *path, last = key.split(".")
        table = values
        for name in path:
            table = table.setdefault(name, {})
        if value is None:
            table.pop(last, None)
        else:
            table[last] = value
    return values


def config_toml(overrides: Mapping[str, Any] | None = None) -> str:
    """Return the tiny configuration as the text of an nmtkit.toml."""
    return tomli_w.dumps(config_values(overrides))


def write_project(folder: Path, overrides: Mapping[str, Any] | None = None, *, pairs: int = 200, seed: int = 0) -> Path:
    """Write corpus and nmtkit.toml into one folder and return the path of the nmtkit.toml."""
    write_corpus(folder, pairs, seed)
    path = folder / "nmtkit.toml"
    path.write_bytes(config_toml(overrides).encode())
    return path


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value
