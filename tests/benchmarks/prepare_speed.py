"""How fast `nmtkit prepare` is beside bare SentencePiece on the same text and cores, and what memory it takes.

    python tests/benchmarks/prepare_speed.py --pairs 2000000 --repeats 3

Makes distinct English-German pairs by joining those of Multi30k and Tatoeba (in ../shared/data, or where
NMTKIT_SHARED_DATA says), learns a vocabulary of them once, then takes turns: SentencePiece alone encodes both sides
with all cores; `nmtkit prepare` reads, normalises, filters, encodes and writes them, vocabulary given. Prints JSON.
"""

import argparse
import gzip
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sentencepiece
from processes import family

from nmtkit.corpus.segmenters import BpeConfig, learn_segmenter
from nmtkit.workers import processors

SHARED = Path(os.environ.get("NMTKIT_SHARED_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
AT_ONCE = 100_000
"""Lines that SentencePiece gets at once."""
VOCABULARY = 32_000

CONFIG = """
[languages]
source = "en"
target = "de"

[[corpus.train]]
name = "joined"
source = "text.en"
target = "text.de"

[prepare.segmenter]
kind = "file"
path = {model}
"""


def known_pairs() -> list[tuple[str, str]]:
    """Return the pairs of both corpora, each once."""
    captions = [
        gzip.decompress((SHARED / "multi30k" / f"train.{side}.gz").read_bytes()).decode().split("\n")[:-1]
        for side in ("en", "de")
    ]
    everyday = gzip.decompress((SHARED / "tatoeba-en-de" / "train.tsv.gz").read_bytes()).decode().split("\n")[:-1]
    pairs = [*zip(*captions, strict=True), *(tuple(line.split("\t")) for line in everyday)]
    return list(dict.fromkeys((" ".join(source.split()), " ".join(target.split())) for source, target in pairs))


def joined(count: int) -> Iterator[tuple[str, str]]:
    """Yield distinct pairs: the known ones, then each of them before another, further and further away."""
    known = known_pairs()
    yield from known[:count]
    made, step = len(known), 1
    while made < count:
        for place, (source, target) in enumerate(known[: count - made]):
            more_source, more_target = known[(place + 7919 * step) % len(known)]
            yield f"{source} {more_source}", f"{target} {more_target}"
        made, step = made + len(known), step + 1


def write_text(folder: Path, count: int) -> None:
    """Write the pairs as two files."""
    with (folder / "text.en").open("w", encoding="utf-8") as source, (folder / "text.de").open("w") as target:
        for source_line, target_line in joined(count):
            source.write(f"{source_line}\n")
            target.write(f"{target_line}\n")


def learn(folder: Path) -> None:
    """Learn the vocabulary from a part of the text."""
    lines = [line for pair in joined(250_000) for line in pair]
    model = learn_segmenter(BpeConfig(vocabulary_size=VOCABULARY), lines).model
    (folder / "given.model").write_bytes(model)
    (folder / "nmtkit.toml").write_text(CONFIG.format(model=json.dumps(str(folder / "given.model"))))


def bare(folder: Path, threads: int) -> float:
    """Return the seconds in which SentencePiece encodes both sides, the reading of the text not counted."""
    segmenter = sentencepiece.SentencePieceProcessor(model_file=str(folder / "given.model"))
    seconds = 0.0
    for name in ("text.en", "text.de"):
        with (folder / name).open("rb") as stream:
            while lines := [line.decode().removesuffix("\n") for line, _ in zip(stream, range(AT_ONCE), strict=False)]:
                begun = time.perf_counter()
                segmenter.encode(lines, num_threads=threads)
                seconds += time.perf_counter() - begun
    return seconds


class Memory(threading.Thread):
    """Watches the proportional set size of a process and all below it."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._process, self.peak = process, 0

    def run(self) -> None:
        """Look until the process is gone."""
        while Path(f"/proc/{self._process}").exists():
            self.peak = max(self.peak, sum(map(pss, family(self._process))))
            time.sleep(0.1)


def pss(process: int) -> int:
    """Return the bytes of a process, shared ones by its share."""
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().split("\n"):
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def prepare(folder: Path, processes: int) -> dict[str, float]:
    """Run `nmtkit prepare` and return its seconds, the share of the cores' time it used, and its peak memory."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "nmtkit", "prepare", "--config", folder / "nmtkit.toml", "--quiet"]
    process = subprocess.Popen([*command, "--processes", str(processes)])
    memory = Memory(process.pid)
    memory.start()
    if process.wait() != 0:
        raise SystemExit("nmtkit prepare failed")
    seconds = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "busy": used / seconds / processors(), "peak_bytes": memory.peak}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, nargs="+", default=[2_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--processes", type=int, default=processors())
    parser.add_argument("--without-peer", action="store_true", help="measure nmtkit alone")
    options = parser.parse_args()
    results: list[dict[str, Any]] = []
    for pairs in options.pairs:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_text(folder, pairs)
            learn(folder)
            for _ in range(options.repeats):
                ours = prepare(folder, options.processes)
                found = {"pairs": pairs, "nmtkit_pairs_per_second": pairs / ours["seconds"], **ours}
                if not options.without_peer:
                    found["sentencepiece_pairs_per_second"] = pairs / bare(folder, processors())
                    found["ratio"] = found["nmtkit_pairs_per_second"] / found["sentencepiece_pairs_per_second"]
                results.append(found)
                print(json.dumps(found), file=sys.stderr)
            kept = json.loads((folder / "run" / "prepare.json").read_text())["corpora"]
            results[-1]["kept"] = sum(corpus["kept"] for corpus in kept)
    machine = {"processors": processors(), "machine": platform.machine(), "python": platform.python_version()}
    print(json.dumps({**machine, "sentencepiece": sentencepiece.__version__, "runs": results}, indent=2))


if __name__ == "__main__":
    main()
