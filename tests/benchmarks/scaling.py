"""What several processes gain: target tokens a second of two processes with one thread each, beside one; JSON lines.

    python tests/benchmarks/scaling.py --work WORK
    python tests/benchmarks/scaling.py --work WORK --source train.en.gz --target train.de.gz --preset base --updates 40

Without --source and --target the text is what `nmtkit init --sample` writes: 26,000 pairs of sentences. Both train the
same updates, from the same weights, and nothing is validated. The first quarter of the updates is left out. One after
the other takes its turn, and in each repeat another one begins. `2 apart` are two trainings at the same time that know
nothing of each other, both counted: the most that these cores give, at that moment, beside one at work.

`exchange` is the share of the time, rehearsal included, that the first process spends in exchanging numbers and
gradients, or waiting for another to be as far. What shards exchange within the model is not in it. `mib` is the memory
of all processes together at its peak. In the end come medians, by preset and way, with the ratio to one process and the
share of what as many trainings apart reach.
"""

import argparse
import json
import re
import shutil
import statistics
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from processes import Finished, end_when_told, run

PROJECT = """
[languages]
source = "en"
target = "de"

[[corpus.train]]
name = "train"
source = {source}
target = {target}

[prepare.segmenter]
kind = "bpe"
vocabulary_size = 8000
"""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
WINDOWS = 8
"""Of updates; the first two of them are left out."""
UPDATES = {"tiny": 240, "small": 80, "base": 24, "big": 8}
APART = "apart"
Record = dict[str, Any]


class Way(NamedTuple):
    """How many processes train, and what each of them holds, if they know of each other."""

    processes: int
    parallel: str

    @property
    def name(self) -> str:
        """As records have it."""
        if self.processes == 1:
            return "alone"
        return f"{self.processes} {APART}" if self.parallel == APART else f"{self.processes} × {self.parallel}"


def nmtkit(*arguments: str | Path) -> Finished:
    """Run a command of nmtkit in processes of one thread."""
    done = run([sys.executable, "-m", "nmtkit", *arguments], ONE_THREAD)
    if done.code:
        raise SystemExit(done.complaint)
    return done


def set_up(work: Path, source: Path | None, target: Path | None) -> Path:
    """Write a project and prepare its data; return its nmtkit.toml."""
    folder = work / "project"
    shutil.rmtree(folder, ignore_errors=True)
    file = folder / "nmtkit.toml"
    if source is None or target is None:
        nmtkit("init", folder, "--sample", "--quiet")
    else:
        folder.mkdir(parents=True)
        named = {name: json.dumps(str(path.absolute())) for name, path in (("source", source), ("target", target))}
        file.write_text(PROJECT.format(**named), encoding="utf-8")
    nmtkit("prepare", "--config", file, "--run", work / "prepared", "--quiet")
    return file


def measure(file: Path, preset: str, way: Way, arguments: argparse.Namespace) -> Record:
    """Train, and return what was found; of trainings apart, what they reach together."""
    if way.parallel != APART:
        return {"preset": preset, "way": way.name, **train(file, preset, way, arguments, arguments.work / "run")}
    with ThreadPoolExecutor(way.processes) as pool:
        folders = [arguments.work / f"run-{number}" for number in range(way.processes)]
        each = list(pool.map(lambda folder: train(file, preset, Way(1, "replicate"), arguments, folder), folders))
    together = {key: sum(found[key] for found in each) for key in ("target_tokens_per_second", "mib")}
    return {"preset": preset, "way": way.name, **each[0], **together}


def train(file: Path, preset: str, way: Way, arguments: argparse.Namespace, folder: Path) -> Record:
    """Train in a run folder, and return what metrics.jsonl and the log say of it."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(arguments.work / "prepared", folder)
    every = max(1, (arguments.updates or UPDATES[preset]) // WINDOWS)
    settings = {
        "model.preset": preset,
        "train.parallel": way.parallel,
        "train.precision": arguments.precision,
        "train.batch.tokens_per_update": arguments.tokens,
        "train.stop": f"{{updates={every * WINDOWS}}}",
        "train.validation": "{every=0, translate=false}",
        "train.checkpoints.average": 0,
        "train.log_every": every,
    }
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    processes = ["--processes", str(way.processes)] if way.processes > 1 else []
    done = nmtkit("train", "--config", file, "--run", folder, "--device", "cpu", *processes, *options)
    lines = (folder / "metrics.jsonl").read_bytes().decode().strip().split("\n")
    windows = [record for record in map(json.loads, lines) if record["kind"] == "train"]
    kept = list(pairwise(windows))[WINDOWS // 4 - 1 :]
    seconds = [after["seconds"] - before["seconds"] for before, after in kept]
    tokens = sum(after["target_tokens_per_second"] * time for (_, after), time in zip(kept, seconds, strict=True))
    share = re.search(r"exchange with other processes, .* ([0-9.]+)% of the time", done.errors)
    shutil.rmtree(folder)
    return {
        "target_tokens_per_second": round(tokens / sum(seconds)),
        "exchange": round(float(share[1]) / 100, 3) if share else None,
        "loss": windows[-1]["loss"],
        "mib": round(done.together_mib),
    }


def medians(records: Sequence[Record]) -> Iterator[Record]:
    """Yield what was found for each preset and way, with its ratio to one process."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        found.setdefault((record["preset"], record["way"]), []).append(record)
    rates = {key: statistics.median(r["target_tokens_per_second"] for r in each) for key, each in found.items()}
    for (preset, way), each in found.items():
        apart = rates.get((preset, f"{way.split()[0]} {APART}"))
        shares = [record["exchange"] for record in each if record["exchange"] is not None]
        yield {
            "kind": "median",
            "preset": preset,
            "way": way,
            "target_tokens_per_second": round(rates[preset, way]),
            "ratio": round(rates[preset, way] / rates[preset, "alone"], 3),
            "of_apart": round(rates[preset, way] / apart, 3) if apart else None,
            "exchange": statistics.median(shares) if shares else None,
            "mib": round(statistics.median(record["mib"] for record in each)),
        }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for all that is written")
    parser.add_argument("--source", type=Path, help="training text; packed or not")
    parser.add_argument("--target", type=Path)
    parser.add_argument("--preset", nargs="+", default=["tiny", "base"], choices=UPDATES)
    parser.add_argument("--parallel", nargs="+", default=["replicate", "shard"], choices=["replicate", "shard"])
    parser.add_argument("--processes", nargs="+", type=int, default=[2])
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--tokens", type=int, default=4_096, help="tokens of an update")
    parser.add_argument("--updates", type=int, help="of each measurement; by default as many as the preset suits")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    if (arguments.source is None) != (arguments.target is None):
        parser.error("--source and --target: give both, or neither")
    end_when_told()
    file = set_up(arguments.work, arguments.source, arguments.target)
    ways = [Way(1, "replicate")]
    ways += [Way(count, parallel) for count in arguments.processes for parallel in (APART, *arguments.parallel)]
    records: list[Record] = []
    for repeat in range(arguments.repeats):
        for preset in arguments.preset:
            first = repeat % len(ways)
            for way in (*ways[first:], *ways[:first]):
                records.append(measure(file, preset, way, arguments))
                print(json.dumps({"kind": "measurement", "repeat": repeat, **records[-1]}), flush=True)
    for record in medians(records):
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
