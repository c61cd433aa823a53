"""What the plan of batches costs, and how little of them is padding, as JSON lines.

    python tests/benchmarks/batching.py --pairs 36000000
    python tests/benchmarks/batching.py --corpora multi30k tatoeba news
    python tests/benchmarks/batching.py --text train.en train.de

With --pairs: a store of synthetic pairs with lengths of news text, on the disk. Seconds and peak memory, in a process
of its own, to open it, to the first update, to one in the middle of the epoch, and to plan a whole epoch window by
window, which training does as it goes. Memory counts the pages of the lengths' files that were read.

With --corpora (of ../shared/data or NMTKIT_SHARED_DATA) or --text: lengths in pieces of a joint SentencePiece BPE
vocabulary learned here. The share of positions on each side that hold a token, for several budgets; `sorted` is the
share that sorting by target and source length alone gives, with as few tensors as that needs.
"""

import argparse
import gzip
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from nmtkit.data.batching import padded_sizes
from nmtkit.data.epochs import Batches
from nmtkit.data.mixing import CorpusRange
from nmtkit.data.position import Position
from nmtkit.data.settings import BatchConfig
from nmtkit.data.store import Packed, PairStore, writing_pairs
from nmtkit.data.tensors import Indexes, Lengths

BUDGETS = ((25_000, 4_096), (25_000, 25_000), (4_096, 2_048))
"""Tokens of an update and of a tensor."""
SHARED = Path(os.environ.get("NMTKIT_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
NEWS = [("newstest2021.en", f"newstest2021.ref{letter}.de") for letter in "ACD"]


def texts(name: str) -> tuple[list[str], list[str]]:
    """Return both sides of a corpus of the shared data."""
    if name == "multi30k":
        return lines(SHARED / name / "train.en.gz"), lines(SHARED / name / "train.de.gz")
    if name == "tatoeba":
        rows = [line.split("\t") for line in lines(SHARED / "tatoeba-en-de" / "train.tsv.gz")]
        return [row[0] for row in rows], [row[1] for row in rows]
    sides = [[line for pair in NEWS for line in lines(SHARED / "news-en-de" / pair[side])] for side in (0, 1)]
    return sides[0], sides[1]


def lines(path: Path) -> list[str]:
    """Return the lines of a file, plain or gzip."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content.decode("utf-8").removesuffix("\n").split("\n")


def lengths_of(source: list[str], target: list[str], pieces: int) -> tuple[Lengths, Lengths]:
    """Return the lengths of both sides in pieces of a vocabulary learned from them."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*source, *target]), model_writer=model, vocab_size=pieces, model_type="bpe",
        character_coverage=1.0, minloglevel=2,
    )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    both = [np.array([len(ids) for ids in processor.encode(side)], np.int32) for side in (source, target)]
    return both[0], both[1]


def shares(source: Lengths, target: Lengths) -> Iterator[dict[str, object]]:
    """Yield how full tensors and updates are, by budget."""
    for tokens_per_update, tokens_per_tensor in BUDGETS:
        config = BatchConfig(tokens_per_update=tokens_per_update, tokens_per_tensor=tokens_per_tensor)
        batches = Batches(source, target, [CorpusRange(0, len(source))], config, seed=1)
        cost = batches.summary()
        positions = cost.source_positions, cost.target_positions
        simple = sorted_tensors(source, target, tokens_per_tensor)
        its = padded_sizes(simple, source, target).sum(0).tolist()
        tokens = cost.source_tokens, cost.target_tokens
        yield {
            "tokens_per_update": tokens_per_update,
            "tokens_per_tensor": tokens_per_tensor,
            "source_share": round(tokens[0] / positions[0], 4),
            "target_share": round(tokens[1] / positions[1], 4),
            "updates": cost.updates,
            "update_filled": round(max(positions) / cost.updates / tokens_per_update, 3),
            "tensors": cost.tensors,
            "tensor_filled": round(max(positions) / cost.tensors / tokens_per_tensor, 3),
            "sorted": {
                "source_share": round(tokens[0] / its[0], 4),
                "target_share": round(tokens[1] / its[1], 4),
                "tensors": len(simple),
            },
        }


def sorted_tensors(source: Lengths, target: Lengths, tokens: int) -> list[Indexes]:
    """Return tensors filled one after the other with pairs sorted by length."""
    order = np.lexsort((source, target))
    tensors, begin, longest = [], 0, 0
    for place, length in enumerate((np.maximum(source, target)[order] + 1).tolist()):
        longest = max(longest, length)
        if place > begin and longest * (place + 1 - begin) > tokens:
            tensors.append(order[begin:place])
            begin, longest = place, length
    return [*tensors, order[begin:]]


def write_store(folder: Path, pairs: int) -> None:
    """Write a store of synthetic pairs: lengths of news text, ids of a vocabulary of 32,000."""
    generator = np.random.default_rng(1)
    with writing_pairs(folder, "train", (32_000, 32_000)) as writer:
        for begin in range(0, pairs, 1_000_000):
            count = min(1_000_000, pairs - begin)
            source = np.clip(generator.lognormal(3.2, 0.6, count), 1, 256).astype(np.int32)
            target = np.clip(source * generator.lognormal(0.0, 0.22, count), 1, 256).astype(np.int32)
            sides = [
                Packed(generator.integers(4, 32_000, int(lengths.sum()), np.uint16), lengths)
                for lengths in (source, target)
            ]
            writer.write(*sides)


def measure(folder: Path) -> dict[str, object]:
    """Return what opening and planning a store costs. Memory only rises, so this runs in its own process."""
    start = peak()
    clock, work = time.perf_counter(), time.process_time()
    store = PairStore.open(folder, "train")
    opening = time.perf_counter() - clock
    source, target = store.source.lengths, store.target.lengths
    batches = Batches(source, target, [CorpusRange(0, len(source))], BatchConfig(), seed=1)
    next(batches.steps(Position()))
    first = time.perf_counter() - clock - opening
    middle = Position(begin=len(source) // 2, weights=(1.0,))
    next(batches.steps(middle))
    seek = time.perf_counter() - clock - opening - first
    batches.largest(Position())
    rehearsal = time.perf_counter() - clock - opening - first - seek
    cost = batches.summary()
    return {
        "pairs": len(store),
        "open_seconds": round(opening, 3),
        "first_update_seconds": round(first, 2),
        "middle_of_the_epoch_seconds": round(seek, 2),
        "largest_tensors_seconds": round(rehearsal, 2),
        "epoch_seconds": round(time.perf_counter() - clock - opening - first - seek - rehearsal, 1),
        "cpu_seconds_in_all": round(time.process_time() - work, 1),
        "peak_mib": round(peak()),
        "peak_mib_before": round(start),
        "updates": cost.updates,
        "padding": round(cost.padding, 4),
    }


def peak() -> float:
    """Return the most memory that this process has held, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, nargs="*", default=[], help="plan synthetic corpora of these sizes")
    parser.add_argument("--corpora", nargs="*", default=[], choices=["multi30k", "tatoeba", "news"])
    parser.add_argument("--text", nargs=2, type=Path, metavar=("SOURCE", "TARGET"))
    parser.add_argument("--vocabulary", type=int, default=8_000)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.store:
        print(json.dumps(measure(arguments.store)))
        return
    for pairs in arguments.pairs:
        with tempfile.TemporaryDirectory() as folder:
            write_store(Path(folder), pairs)
            subprocess.run([sys.executable, __file__, "--store", folder], check=True)
    corpora = {name: texts(name) for name in arguments.corpora}
    if arguments.text:
        corpora[arguments.text[0].name] = lines(arguments.text[0]), lines(arguments.text[1])
    for name, (source, target) in corpora.items():
        for record in shares(*lengths_of(source, target, arguments.vocabulary)):
            print(json.dumps({"corpus": name, "pairs": len(source), "vocabulary": arguments.vocabulary, **record}))


if __name__ == "__main__":
    main()
