"""Whether bf16 costs quality: development perplexity after so many updates in bf16 and fp32, several seeds, as JSON.

    python tests/benchmarks/precision_quality.py --source train.en.gz --target train.de.gz \\
        --dev-source val.en.gz --dev-target val.de.gz --work WORK

Trains the presets `tiny` and `small` (width 256) with a rate that falls to zero at the last update; the perplexity is
unsmoothed, per piece, of the last weights in float32. Each finished training is a line of WORK/records.jsonl and is not
repeated, so the same command goes on after an interruption. With --at-once 2 two trainings share the cores, which
takes less time for all of them together than one after the other does, since threads then wait for nobody.

In the end, by preset: mean, standard deviation and range of each precision, the difference of the means, and whether
that is within the wider of the two ranges (largest less smallest of the seeds).
"""

import argparse
import json
import shutil
import statistics
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from kept import Kept
from processes import Finished, end_when_told, run

from nmtkit.workers import processors

PRECISIONS = ("fp32", "bf16")
PEAKS = {"tiny": 3e-3, "small": 1e-3}
"""Highest learning rates: those at which each learns fast from the start."""
DROPOUT = 0.1

PROJECT = """
[languages]
source = {languages[0]}
target = {languages[1]}

[[corpus.train]]
name = "train"
source = {source}
target = {target}

[corpus.dev]
name = "dev"
source = {dev_source}
target = {dev_target}

[prepare.segmenter]
kind = "bpe"
vocabulary_size = {vocabulary}

[model]
kind = "transformer"
norm = "pre"
dropout = {dropout}

[train.batch]
tokens_per_update = {tokens}
tokens_per_tensor = {tokens}

[train.schedule]
kind = "linear"
peak = 1e-3
warmup = {warmup}
decay_to = {updates}

[train.stop]
updates = {updates}

[train.validation]
every = 0
translate = false

[train.checkpoints]
every = 1000000
average = 0
"""


class Training(NamedTuple):
    """What is trained."""

    preset: str
    seed: int
    precision: str


def write_project(arguments: argparse.Namespace) -> Path:
    """Write the settings that all trainings share, and prepare the text."""
    files = ("source", "target", "dev_source", "dev_target")
    values = {name: json.dumps(str(getattr(arguments, name).resolve())) for name in files}
    file: Path = arguments.work / "nmtkit.toml"
    text = PROJECT.format(
        **values,
        languages=[json.dumps(language) for language in arguments.languages],
        vocabulary=arguments.vocabulary,
        dropout=DROPOUT,
        tokens=arguments.tokens,
        updates=arguments.updates,
        warmup=max(1, arguments.updates // 4),
    )
    file.write_text(text, "utf-8")
    nmtkit("prepare", file, arguments.work / "prepared", [], processors())
    return file


def nmtkit(command: str, project: Path, folder: Path, options: Sequence[str], threads: int) -> float:
    """Run a command of nmtkit in a run folder; return its seconds."""
    start: list[str | Path] = [sys.executable, "-m", "nmtkit", command, "--config", project, "--run", folder, "--quiet"]
    done: Finished = run([*start, *options], {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)})
    if done.code:
        raise SystemExit(done.complaint)
    return done.seconds


def train(training: Training, project: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train from the beginning and return what the development set says of the last weights."""
    folder = arguments.work / "{}-{}-{}".format(*training)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(arguments.work / "prepared", folder)
    settings = {
        "model.preset": training.preset,
        "train.seed": training.seed,
        "train.precision": training.precision,
        "train.schedule.peak": PEAKS[training.preset],
    }
    options = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    seconds = nmtkit("train", project, folder, options, max(1, processors() // arguments.at_once))
    lines = (folder / "metrics.jsonl").read_bytes().decode().strip().split("\n")
    (validation,) = [record for record in map(json.loads, lines) if record["kind"] == "validation"]
    shutil.rmtree(folder)
    return {
        **settings_of(training, arguments),
        "loss": validation["loss"],
        "perplexity": validation["perplexity"],
        "minutes": round(seconds / 60, 1),
    }


def settings_of(training: Training, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what tells one training from another."""
    shared = {"updates": arguments.updates, "tokens": arguments.tokens, "vocabulary": arguments.vocabulary}
    return {**training._asdict(), **shared}


def summaries(records: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield, by preset, how the precisions compare."""
    for preset in dict.fromkeys(record["preset"] for record in records):
        found = {
            precision: [
                record["perplexity"]
                for record in records
                if (record["preset"], record["precision"]) == (preset, precision)
            ]
            for precision in PRECISIONS
        }
        means = {precision: statistics.mean(values) for precision, values in found.items()}
        difference = means["bf16"] - means["fp32"]
        ranges = {precision: max(values) - min(values) for precision, values in found.items()}
        yield {
            "kind": "summary",
            "preset": preset,
            **{
                precision: {
                    "perplexities": [round(value, 4) for value in values],
                    "mean": round(means[precision], 4),
                    "deviation": round(statistics.stdev(values), 4) if len(values) > 1 else None,
                    "range": round(ranges[precision], 4),
                }
                for precision, values in found.items()
            },
            "difference": round(difference, 4),
            "within_range": abs(difference) <= max(ranges.values()),
        }


def main() -> None:
    """Train what is missing and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("source", "target", "dev-source", "dev-target"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder of the records and of what is trained")
    parser.add_argument("--languages", nargs=2, default=["en", "de"], metavar=("SOURCE", "TARGET"))
    parser.add_argument("--preset", nargs="+", choices=PEAKS, default=list(PEAKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=2_000)
    parser.add_argument("--tokens", type=int, default=4_096, help="of an update, at most, on each side")
    parser.add_argument("--vocabulary", type=int, default=8_000)
    parser.add_argument("--at-once", type=int, default=1, help="trainings at once, which share the cores")
    arguments = parser.parse_args()
    end_when_told()
    arguments.work.mkdir(parents=True, exist_ok=True)
    kept = Kept(arguments.work / "records.jsonl")
    trainings = [
        Training(preset, seed + 1, precision)
        for preset, seed, precision in product(arguments.preset, range(arguments.seeds), PRECISIONS)
    ]
    missing = [training for training in trainings if kept.find(**settings_of(training, arguments)) is None]
    if missing:
        project = write_project(arguments)
        pool = ThreadPoolExecutor(arguments.at_once)
        try:
            for done in as_completed([pool.submit(train, training, project, arguments) for training in missing]):
                record = done.result()
                kept.add(record)
                print(json.dumps(record), flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
    for summary in summaries([kept.find(**settings_of(training, arguments)) or {} for training in trainings]):
        print(json.dumps(summary), flush=True)


if __name__ == "__main__":
    main()
