"""What reading costs: microseconds of one core a pair in every form that nmtkit reads, as JSON.

    python tests/benchmarks/reading.py --source train.en --target train.de

"readlines" is what Python needs to read the same two plain files by `readlines` alone, without pairing anything. Texts
with tabs or what XML cannot hold are left out, so that all forms hold the same.
"""

import argparse
import bz2
import gzip
import json
import lzma
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

from nmtkit.corpus.blocks import BLOCK, Part, TextFile, TmxFile, TsvFile, TwoFiles
from nmtkit.corpus.lines import raw_lines

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}


def file(folder: Path, name: str, content: bytes) -> TextFile:
    """Write a file."""
    path = folder / name
    path.write_bytes(content)
    return TextFile(path, name)


def forms(folder: Path, pairs: list[tuple[str, str]]) -> dict[str, Part]:
    """Write the pairs in every form."""
    sides = ["".join(f"{pair[side]}\n" for pair in pairs).encode() for side in (0, 1)]
    found: dict[str, Part] = {}
    for end, pack in PACKERS.items():
        source, target = (file(folder, f"text.{side}{end}", pack(sides[side])) for side in (0, 1))
        found[f"two files{end}"] = TwoFiles(source, target)
    found["tsv"] = TsvFile(file(folder, "text.tsv", "".join(f"{one}\t{other}\n" for one, other in pairs).encode()))
    variant = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    units = [
        f"<tu>{variant.format('en', escape(one))}{variant.format('de', escape(other))}</tu>\n" for one, other in pairs
    ]
    memory = f'<tmx version="1.4"><header/><body>\n{"".join(units)}</body></tmx>\n'
    found["tmx"] = TmxFile(file(folder, "text.tmx", memory.encode()), ("en", "de"))
    segments = ["".join(f"<seg>{escape(pair[side])}</seg>\n" for pair in pairs).encode() for side in (0, 1)]
    found["sgm"] = TwoFiles(file(folder, "source.sgm", segments[0]), file(folder, "target.sgm", segments[1]))
    return found


def readlines(files: tuple[TextFile, ...]) -> int:
    """Read plain files as fast as Python reads lines."""
    lines = 0
    for path, _ in files:
        with path.open("rb") as stream:
            while block := stream.readlines(BLOCK):
                lines += len(block)
    return lines // len(files)


def microseconds(work: Callable[[], int], pairs: int, repeats: int) -> float:
    """Return the time of one core for a pair, the best of some repeats."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        assert work() == pairs
        best = min(best, time.process_time() - began)
    return round(best / pairs * 1e6, 3)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    texts = [[raw.decode() for raw in raw_lines(path)] for path in (arguments.source, arguments.target)]
    pairs = [pair for pair in zip(*texts, strict=True) if all(text.isprintable() for text in pair)]
    with tempfile.TemporaryDirectory() as folder:
        parts = forms(Path(folder), pairs)
        costs = {"readlines": microseconds(lambda: readlines(parts["two files"].files), len(pairs), arguments.repeats)}
        for name, part in parts.items():
            costs[name] = microseconds(
                lambda part=part: sum(len(block.sources) for block in part.blocks(BLOCK)), len(pairs), arguments.repeats
            )
    json.dump({"pairs": len(pairs), "microseconds": costs}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
