"""Training speed and memory beside other toolkits: same text, same model, same budget, same two cores; JSON lines.

    python tests/benchmarks/training_peers.py --peers SCRIPTS --work WORK --text TEXT
    python tests/benchmarks/training_peers.py --peers SCRIPTS --work WORK --text TEXT \\
        --length news long --peer eole eole:bf16 opennmt_py fairseq --updates 60

SCRIPTS holds the peers' `run_NAME.sh` and `prep.py`; in WORK they keep their virtual environments and all that they
write; TEXT is what `prep.py` segments. Task A is the preset `tiny`, B is `base`. Everybody reads the same pieces, which
stand between spaces, makes updates of at most 4,096 positions a side, and counts target tokens without padding, end
marks included; the first updates (A: 20, B: 4) are left out. What nmtkit does is `nmtkit prepare`, once, and
`nmtkit train`, each measurement a fresh process, as with the peers; `auto` is the precision it chooses by itself.

All take turns, and in each repeat another one begins. `seconds` is a whole command, start-up included. `share_of_peak`
compares the operations that the model asks for, padding not counted, with the processor's own matrix products in the
same format, measured before each repeat. `peak_mib` is the resident memory of the largest process. At the end come
medians, and the ratios of nmtkit to the fastest peer, in any precision and in fp32, and to the least memory of a
peer on PyTorch. With --results each measurement is kept in a file and not repeated.

`--length news` is text whose sentences have 28 pieces on average (deviation 16, at most 100), `long` has 256 to 512:
lines of TEXT joined. fairseq, OpenNMT-py and eole train on all of it; Sockeye needs an option for that, which it gets,
and Marian's script leaves `long` out. There OpenNMT-py and eole hold a pool of 29,000 sentences, which is most of
their memory.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from kept import Kept
from peers import Peer, Places, link_environments, measure, segment
from processes import Finished, end_when_told, run
from segmented import (
    CONTROLS,
    TEXTS,
    Pair,
    check_prepared,
    facts,
    make_text,
    operations_per_token,
    read_pairs,
    read_pieces,
    write_project,
)

from nmtkit.models.transformer.settings import PRESETS

TOKENS = 4_096
"""Positions of an update, which the peers' scripts have as well."""
THREADS = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
DEFAULT_PEERS = ("eole:bf16", "eole", "opennmt_py", "fairseq", "marian", "sockeye")
Record = dict[str, Any]


class Task(NamedTuple):
    """What a task means to the peers' scripts."""

    preset: str
    updates: int
    every: int
    """Updates of a window; the first window is left out."""


TASKS = {"A": Task("tiny", 120, 20), "B": Task("base", 24, 4)}


class Bench(NamedTuple):
    """A text, ready for everybody."""

    length: str
    places: Places
    longest: int
    """Pieces of the longest sentence; 0 for captions."""
    project: Path
    operations: dict[str, float]
    """By task: operations for each target token."""

    @property
    def prepared(self) -> Path:
        """A run folder with prepared data, which every training copies."""
        return self.project.parent / "prepared"


class Subject(NamedTuple):
    """What is measured: a peer, or nmtkit in a precision."""

    name: str
    wanted: str
    peer: Peer | None


def set_up(arguments: argparse.Namespace, length: str) -> Bench:
    """Make what a text needs: its lines, environments beside them, data prepared by nmtkit."""
    home = Places(arguments.peers, arguments.text, arguments.work)
    segment(home)
    places = home
    if length != "captions":
        places = home._replace(work=home.work / length)
        link_environments(home.work, places.work)
        make_text(length, home.work / "data", places.work / "data")
    pairs = read_pairs(places.work / "data")
    project = write_project(places.work / "nmtkit", places.work / "data", TOKENS)
    vocabulary = len(read_pieces(places.work / "data")) + CONTROLS
    longest = 0 if length == "captions" else max(len(side) for pair in pairs for side in pair)
    by_task = {name: operations(pairs, task, vocabulary) for name, task in TASKS.items()}
    bench = Bench(length, places, longest, project, by_task)
    shutil.rmtree(bench.prepared, ignore_errors=True)
    nmtkit("prepare", bench, bench.prepared)
    check_prepared(bench.prepared, pairs)
    print(json.dumps({"kind": "text", "length": length, **facts(pairs)}), flush=True)
    return bench


def operations(pairs: Sequence[Pair], task: Task, vocabulary: int) -> float:
    """Return the operations of a task per target token."""
    preset = PRESETS[task.preset]
    sizes = {"layers": preset["encoder_layers"], "width": preset["width"], "feed_forward": preset["feed_forward"]}
    return operations_per_token(pairs, vocabulary, **sizes)


def nmtkit(command: str, bench: Bench, folder: Path, settings: dict[str, object] | None = None) -> Finished:
    """Run a command of nmtkit in a run folder."""
    options = [part for key, value in (settings or {}).items() for part in ("--set", f"{key}={value}")]
    start: list[str | Path] = [
        sys.executable,
        "-m",
        "nmtkit",
        command,
        "--config",
        bench.project,
        "--run",
        folder,
        "--quiet",
    ]
    done = run([*start, *options], THREADS)
    if done.code:
        raise SystemExit(done.complaint)
    return done


def measure_ours(bench: Bench, name: str, precision: str, updates: int | None) -> Record:
    """Train with nmtkit and return what its metrics.jsonl says."""
    task, folder = TASKS[name], bench.project.parent / "run"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(bench.prepared, folder)
    settings = {
        "model.preset": task.preset,
        "train.precision": precision,
        "train.stop.updates": updates or task.updates,
        "train.log_every": task.every,
    }
    done = nmtkit("train", bench, folder, settings)
    lines = (folder / "metrics.jsonl").read_bytes().decode().strip().split("\n")
    windows = [record for record in map(json.loads, lines) if record["kind"] == "train"]
    rates = [record["target_tokens_per_second"] for record in windows[1:]]
    seconds = [after["seconds"] - before["seconds"] for before, after in pairwise(windows)]
    tokens = sum(rate * time for rate, time in zip(rates, seconds, strict=True))
    state = json.loads(next((folder / "checkpoints").glob("*/state.json")).read_bytes())
    shutil.rmtree(folder)
    return {
        "precision": state["origin"]["precision"],
        "target_tokens_per_second": round(statistics.mean(rates)),
        "target_tokens_per_update": round(tokens / (len(rates) * task.every)),
        "padding": round(statistics.mean(record["padding"] for record in windows[1:]), 4),
        "peak_mib": round(done.largest_mib),
        "peak_mib_together": round(done.together_mib),
        "seconds": round(done.seconds, 1),
    }


def matrix_peak() -> dict[str, float]:
    """Return billions of operations a second by number format."""
    done = run([sys.executable, Path(__file__).with_name("matrix_peak.py")], THREADS)
    if done.code:
        raise SystemExit(done.complaint)
    print(done.output.strip(), flush=True)
    return {name: value for name, value in json.loads(done.output).items() if name in {"fp32", "bf16"}}


def measurement(bench: Bench, task: str, subject: Subject, arguments: argparse.Namespace) -> Record:
    """Measure once, whoever it is."""
    if subject.peer is None:
        return measure_ours(bench, task, subject.wanted, arguments.updates)
    found = measure(subject.peer, bench.places, task, arguments.updates, longest=bench.longest)
    return {"precision": subject.peer.precision, **found}


def measurements(arguments: argparse.Namespace, benches: Sequence[Bench]) -> Iterator[Record]:
    """Yield every measurement, in turns."""
    kept = Kept(arguments.results)
    subjects = [Subject("nmtkit", precision, None) for precision in arguments.precision]
    subjects += [Subject(peer.name, peer.precision, peer) for peer in arguments.peer]
    for repeat in range(arguments.repeats):
        peaks = matrix_peak()
        turn = repeat % len(subjects)
        for bench in benches:
            for task in arguments.task:
                for subject in [*subjects[turn:], *subjects[:turn]]:
                    of = {"length": bench.length, "task": task, "name": subject.name, "wanted": subject.wanted}
                    record = kept.find(**of, repeat=repeat, updates=arguments.updates)
                    if record is None:
                        record = {**of, "repeat": repeat, "updates": arguments.updates}
                        record |= measurement(bench, task, subject, arguments)
                        if "error" not in record:
                            used = record["target_tokens_per_second"] * bench.operations[task] / 1e9
                            record["share_of_peak"] = round(used / peaks[record["precision"]], 3)
                            kept.add(record)
                    print(json.dumps({"kind": "measurement", **record}), flush=True)
                    yield record


def summaries(records: Sequence[Record]) -> Iterator[Record]:
    """Yield medians of what was measured together, and behind them the ratios."""
    records = [record for record in records if "error" not in record]
    for length, task in dict.fromkeys((record["length"], record["task"]) for record in records):
        here = [record for record in records if (record["length"], record["task"]) == (length, task)]
        found = []
        for name, precision in dict.fromkeys((record["name"], record["precision"]) for record in here):
            own = [record for record in here if (record["name"], record["precision"]) == (name, precision)]
            rates = [record["target_tokens_per_second"] for record in own]
            median = {
                key: statistics.median(record[key] for record in own)
                for key in ("target_tokens_per_second", "target_tokens_per_update", "padding", "share_of_peak",
                            "peak_mib", "peak_mib_together")
                if all(record.get(key) is not None for record in own)
            }  # fmt: skip
            spread = {"lowest": min(rates), "highest": max(rates), "repeats": len(own)}
            found.append({"length": length, "task": task, "name": name, "precision": precision, **median, **spread})
        yield from ({"kind": "median", **median} for median in found)
        yield {"kind": "ratio", "length": length, "task": task, **ratios(found)}


def ratios(medians: Sequence[Record]) -> Record:
    """Return how nmtkit compares: speed with the fastest peer, memory with the smallest on PyTorch."""
    ours = [median for median in medians if median["name"] == "nmtkit"]
    theirs = [median for median in medians if median["name"] != "nmtkit"]
    found: Record = {}
    for key, kind in (("speed", ("fp32", "bf16")), ("speed_fp32", ("fp32",))):
        mine = max(_rates(ours, kind), default=None)
        peer = max(_rates(theirs, kind), default=None)
        if mine and peer:
            found[key] = {"ratio": round(mine[0] / peer[0], 3), "nmtkit": mine[1], "fastest_peer": peer[1]}
    memory = [(median["peak_mib"], _label(median)) for median in theirs if Peer(median["name"]).is_pytorch]
    if ours and memory:
        least = min(memory)
        by_precision = {median["precision"]: round(median["peak_mib"] / least[0], 3) for median in ours}
        found["memory"] = {"ratios": by_precision, "smallest_peer": least[1]}
    return found


def _rates(medians: Sequence[Record], precisions: Sequence[str]) -> list[tuple[float, str]]:
    chosen = [median for median in medians if median["precision"] in precisions]
    return [(median["target_tokens_per_second"], _label(median)) for median in chosen]


def _label(median: Record) -> str:
    return f"{median['name']} {median['precision']}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, required=True, help="folder of the peers' scripts")
    parser.add_argument("--work", type=Path, required=True, help="folder of their environments, data and models")
    parser.add_argument("--text", type=Path, required=True, help="folder of the text that prep.py segments")
    parser.add_argument("--peer", type=Peer.parse, nargs="*", default=[Peer.parse(name) for name in DEFAULT_PEERS])
    parser.add_argument("--precision", nargs="*", default=["auto", "fp32"], help="of nmtkit")
    parser.add_argument("--length", nargs="+", choices=TEXTS, default=["captions"])
    parser.add_argument("--task", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--updates", type=int, help="instead of 120 (A) and 24 (B); at least two windows of 20 and 4")
    parser.add_argument("--cores", type=int, nargs=2, default=sorted(os.sched_getaffinity(0))[:2])
    parser.add_argument("--results", type=Path, help="file in which measurements are kept")
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    arguments = _arguments()
    end_when_told()
    os.sched_setaffinity(0, arguments.cores)
    arguments.work.mkdir(parents=True, exist_ok=True)
    benches = [set_up(arguments, length) for length in arguments.length]
    for summary in summaries(list(measurements(arguments, benches))):
        print(json.dumps(summary), flush=True)


if __name__ == "__main__":
    main()
