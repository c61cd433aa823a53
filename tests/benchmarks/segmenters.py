"""What each kind of vocabulary costs and gives: time to learn, rates, pieces, what survives; as JSON lines.

    python tests/benchmarks/segmenters.py --source train.en.gz --target train.de.gz
    python tests/benchmarks/segmenters.py --source train.en.gz --target train.de.gz --size 32000 --kind wordpiece
    python tests/benchmarks/segmenters.py --source train.en.gz --target train.de.gz \\
        --dev-source val.en.gz --dev-target val.de.gz --languages en de --train-minutes 5

Times are of one processor core. Rates are lines a second: `first` with no word met before, `encode` with all of them
met, and `bare`, where the model is SentencePiece's, by SentencePiece alone. With --train-minutes a model (preset
`tiny`) is trained for so long with each, and the development set's perplexity per character of the references is read
off: exp(nll / characters), which compares across vocabularies as perplexity per piece does not.
"""

import argparse
import json
import math
import tempfile
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from pydantic import TypeAdapter

from nmtkit.corpus.lines import read_lines
from nmtkit.corpus.segmenters import Segmenter, SegmenterConfig, learn_segmenter, load_segmenter, open_segmenter
from nmtkit.corpus.vocabulary import UNK

LEARNED = ("bpe", "unigram", "wordpiece")
SAMPLED_LINES = 20_000


def settings_of(kind: str, size: int) -> dict[str, Any]:
    """Return the settings of a kind."""
    return {"kind": kind, "vocabulary_size": size} if kind in LEARNED else {"kind": kind}


def seconds(work: Callable[[], Any]) -> float:
    """Return the processor time that work takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def bare_rate(model: bytes, lines: list[str]) -> float | None:
    """Return lines a second of SentencePiece alone, or None where the model is not one of its."""
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model)
    except RuntimeError:
        return None
    return len(lines) / seconds(lambda: processor.encode(lines, num_threads=1))


def sampling_rate(segmenter: Segmenter, lines: list[str]) -> float | None:
    """Return lines a second drawn anew, graphs of the words made before, or None where there is nothing to draw."""
    from nmtkit.errors import ConfigError

    try:
        sampler = segmenter.sampler(dropout=0.1, alpha=0.2)
    except ConfigError:
        return None
    numbers = np.arange(len(lines), dtype=np.uint64)
    sampler.sample(lines, numbers)
    return len(lines) / seconds(lambda: sampler.sample(lines, numbers + np.uint64(len(lines))))


def measure(kind: str, size: int, lines: list[str]) -> dict[str, Any]:
    """Return what is to say about a kind."""
    config = TypeAdapter(SegmenterConfig).validate_python(settings_of(kind, size))
    model: list[bytes] = []
    learning = seconds(lambda: model.append(learn_segmenter(config, lines).model))
    segmenter = open_segmenter(model[0], kind)
    some = lines[:SAMPLED_LINES]
    first = len(some) / seconds(lambda: segmenter.encode(some))
    encoded = segmenter.encode(lines)
    encode = len(lines) / seconds(lambda: segmenter.encode(lines))
    decode = len(lines) / seconds(lambda: segmenter.decode(encoded))
    pieces = sum(map(len, encoded))
    rates = {
        "first": first,
        "encode": encode,
        "bare": bare_rate(model[0], lines),
        "decode": decode,
        "sample": sampling_rate(segmenter, some),
    }
    returned = segmenter.decode(encoded)
    return {
        "kind": kind,
        "size": segmenter.size,
        "lines": len(lines),
        "learning_seconds": round(learning, 2),
        "lines_per_second": {name: rate and round(rate) for name, rate in rates.items()},
        "pieces_per_word": round(pieces / sum(len(line.split()) for line in lines), 4),
        "unknown_share": sum(ids.count(UNK) for ids in encoded) / pieces,
        "round_trip_share": sum(map(str.__eq__, lines, returned)) / len(lines),
    }


def trained(kind: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Prepare and train for some minutes; return what the development set says of the last weights."""
    from nmtkit.commands.prepare import prepare
    from nmtkit.commands.train import train
    from nmtkit.config import resolve
    from nmtkit.data.store import PairStore
    from nmtkit.log import Log
    from nmtkit.run_folder import RunFolder

    source, target = arguments.languages
    tables = {
        "languages": {"source": source, "target": target},
        "corpus": {
            "train": [{"name": "train", "source": str(arguments.source), "target": str(arguments.target)}],
            "dev": {"name": "dev", "source": str(arguments.dev_source), "target": str(arguments.dev_target)},
        },
        "prepare": {"max_pieces": 1_024, "segmenter": settings_of(kind, arguments.size)},
        "model": {"kind": "transformer", "preset": "tiny", "norm": "pre", "dropout": 0.15},
        "train": {
            "batch": {"tokens_per_update": 2_048, "tokens_per_tensor": 2_048},
            "schedule": {"kind": "constant", "peak": 1e-3, "warmup": 500},
            "stop": {"updates": 0, "minutes": arguments.train_minutes},
            "validation": {"every": 0, "translate": False},
            "checkpoints": {"every": 100_000, "average": 0},
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        run, log = RunFolder(Path(folder)), Log("quiet")
        config = resolve(tables, "benchmark")
        prepare(config, Path(), run, log)
        train(config, Path(), run, log, device="cpu")
        records = [json.loads(line) for line in run.metrics.read_bytes().splitlines()]
        validation = [record for record in records if record["kind"] == "validation"][-1]
        references = PairStore.open(run.data, "dev").target
        ids = [references[place] for place in range(len(references))]
        characters = sum(map(len, load_segmenter(run.target_segmenter).decode(ids)))
    nll = validation["loss"] * (int(references.lengths.sum()) + len(ids))
    return {
        "minutes": arguments.train_minutes,
        "updates": validation["update"],
        "perplexity_per_piece": round(math.exp(validation["loss"]), 3),
        "perplexity_per_character": round(math.exp(nll / characters), 4),
        "dev_pairs": len(ids),
        "characters": characters,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--dev-source", type=Path)
    parser.add_argument("--dev-target", type=Path)
    parser.add_argument("--languages", nargs=2, default=["en", "de"], metavar=("SOURCE", "TARGET"))
    parser.add_argument("--size", type=int, default=8_000, help="of the kinds that have one")
    parser.add_argument("--kind", nargs="+", default=[*LEARNED, "characters", "bytes"])
    parser.add_argument("--train-minutes", type=float, default=0.0)
    arguments = parser.parse_args()
    if arguments.train_minutes and not (arguments.dev_source and arguments.dev_target):
        parser.error("--train-minutes needs --dev-source and --dev-target")
    lines = [
        " ".join(unicodedata.normalize("NFC", line).split())
        for path in (arguments.source, arguments.target)
        for line in read_lines(path)
    ]
    for kind in arguments.kind:
        record = measure(kind, arguments.size, lines)
        if arguments.train_minutes:
            record["trained"] = trained(kind, arguments)
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
