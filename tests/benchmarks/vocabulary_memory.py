"""Time and peak memory of learning a vocabulary from its default sample, ten million lines, each in a fresh process.

    python tests/benchmarks/vocabulary_memory.py --kind bpe unigram wordpiece

The text is what prepare_speed.py makes: distinct sentences joined out of real corpora. JSON lines; `peak_mib`
is the resident memory of the process at its highest, `base_mib` what it had before the first line was read.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice

from prepare_speed import joined

LINES = 10_000_000


def resident() -> int:
    """Return the highest resident memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def lines(count: int) -> Iterator[str]:
    """Yield both sides of pairs in turn."""
    for pair in joined(count // 2):
        yield from pair


def measure(kind: str, size: int, count: int) -> dict[str, object]:
    """Learn in this process and return what it took."""
    from pydantic import TypeAdapter

    from nmtkit.corpus.segmenters import SegmenterConfig, learn_segmenter

    config = TypeAdapter(SegmenterConfig).validate_python({"kind": kind, "vocabulary_size": size})
    base, began = resident(), time.perf_counter()
    learned = learn_segmenter(config, islice(lines(count), count))
    return {
        "kind": kind,
        "size": size,
        "lines": count,
        "learned_from": learned.lines,
        "seconds": round(time.perf_counter() - began),
        "base_mib": base,
        "peak_mib": resident(),
    }


def main() -> None:
    """Measure each kind in a process of its own and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\\n")[0])
    parser.add_argument("--kind", nargs="+", default=["bpe", "unigram", "wordpiece"])
    parser.add_argument("--size", type=int, default=32_000)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--here", action="store_true", help="measure in this process")
    arguments = parser.parse_args()
    for kind in arguments.kind:
        if arguments.here:
            print(json.dumps(measure(kind, arguments.size, arguments.lines)), flush=True)
            continue
        own = ["--here", "--kind", kind, "--size", str(arguments.size), "--lines", str(arguments.lines)]
        subprocess.run([sys.executable, __file__, *own], check=True)


if __name__ == "__main__":
    main()
