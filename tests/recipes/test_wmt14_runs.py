"""The WMT14 recipes from the first to the last step, on small archives from faulty mirrors, struck and called again."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nmtkit.sample import Sample
from recipes.mirrors import Fault, nobody, serving
from recipes.wmt14_files import RECIPES, Pairs, french_pairs, write

PLACES = (
    "sampling",
    "== prepare",
    "learning a vocabulary",
    "== train",
    "update 4, epoch",
    "update 10: development set",
    "average of updates",
    "translating with",
    "== score",
)
"""What is said in the steps behind downloading and unpacking, where a run is struck."""
SMALLEST = ("--scale", "0.0001")
SMALL = ("--scale", "0.001")


class Recipe:
    """A recipe, its small archives, and a folder for what it makes."""

    def __init__(self, name: str, folder: Path, pairs: Pairs) -> None:
        self.name, self.folder = name, folder
        self.files = write(folder / "mirror", name, pairs)

    def start(self, made: str, *arguments: str | Path, mirrors: list[str]) -> "subprocess.Popen[str]":
        """Start it; all of its processes are a group."""
        options = ["--manifest", self.files.manifest, "--folder", self.folder / made, "--timeout", "1"]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.Popen(
            [RECIPES / self.name / "run.sh", *options, *arguments],
            env={**os.environ, "PATH": path, "PYTHON": sys.executable, "WMT14_MIRROR": " ".join(mirrors)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, made: str, *arguments: str | Path, mirrors: list[str]) -> subprocess.CompletedProcess[str]:
        process = self.start(made, *arguments, mirrors=mirrors)
        out, said = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, out, said)


@pytest.fixture(params=["wmt14-en-de", "wmt14-en-fr"])
def recipe(request, tmp_path, sample) -> Recipe:
    return made_recipe(request.param, tmp_path, sample)


def made_recipe(name: str, folder: Path, sample: Sample) -> Recipe:
    german = [(each.pair.source, each.pair.target) for each in sample.train[:3_000]]
    return Recipe(name, folder, german if name == "wmt14-en-de" else french_pairs(3_000))


def stamps_of(folder: Path) -> dict[Path, int]:
    """Return when each file that took long to make was written."""
    kinds = (".safetensors", ".bin", ".tgz", ".model", ".sgm")
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.suffix in kinds}


def check_results(done: subprocess.CompletedProcess[str], run: Path, recipe: str) -> dict[str, float]:
    """Check that a run is whole; return its scores."""
    assert done.returncode == 0, done.stderr
    language = recipe[-2:]
    assert (run / "translations" / f"newstest2014.{language}").read_bytes().count(b"\n") == 40
    results = json.loads((run / "results.json").read_text())
    scores = {score["name"]: score["value"] for score in results["scores"]}
    assert set(scores) >= {"BLEU", "BLEU-tok"} | ({"BLEU-split"} if language == "de" else set())
    for name in scores:
        assert re.search(rf"^{re.escape(name)}  \S*nrefs:1\|", done.stdout, re.M)
    assert re.search(r"paper +expected at this stage +yours", done.stdout)
    return scores


def dropped(run: Path, corpus: str) -> dict[str, int]:
    """Return how many pairs of a corpus were dropped, by filter."""
    corpora = json.loads((run / "prepare.json").read_text())["corpora"]
    (drops,) = [each["drops"] for each in corpora if each["name"] == corpus]
    return {name: each["count"] for name, each in drops.items()}


@pytest.mark.slow
def test_from_download_to_the_table_and_once_more(tmp_path, sample):
    recipe = made_recipe("wmt14-en-de", tmp_path, sample)
    with serving(recipe.files.folder) as mirror:
        first = recipe.run("made", *SMALLEST, mirrors=[nobody(), mirror.address])
        run = tmp_path / "made" / "run-scale-0.0001"
        check_results(first, run, recipe.name)
        assert first.stderr.count("does not answer") == 1
        stamps, asked = stamps_of(tmp_path / "made"), list(mirror.asked)
        again = recipe.run("made", *SMALLEST, mirrors=[mirror.address])
        assert (again.returncode, again.stdout) == (0, first.stdout)
        assert stamps_of(tmp_path / "made") == stamps
        assert mirror.asked == asked
    assert dropped(run, "commoncrawl") == {"invalid_utf8": 1, "blank": 2, "length": 1, "ratio": 1, "overlap": 0}


@pytest.mark.full
def test_every_fault_at_once(recipe, tmp_path):
    """Of seven mirrors each has a fault of its own, and the last is good."""
    archives = [str(path.relative_to(recipe.files.folder)) for path in recipe.files.folder.rglob("*") if path.is_file()]
    faults = (
        Fault("hang"),
        Fault("status", 404),
        Fault("page"),
        Fault("flip", 100),
        Fault("cut", 200),
        Fault("stall", 9),
    )
    addresses, servers = [nobody()], []
    try:
        for fault in (*faults, None):
            served = serving(recipe.files.folder)
            mirror = served.__enter__()
            servers.append(served)
            addresses.append(mirror.address)
            if fault is not None:
                mirror.always = dict.fromkeys(archives, fault)
                mirror.ranges = fault.kind != "cut"
        done = recipe.run("made", *SMALL, mirrors=addresses)
    finally:
        for served in reversed(servers):
            served.__exit__(None, None, None)
    check_results(done, tmp_path / "made" / "run-scale-0.001", recipe.name)
    for said in ("does not answer", "answers 404", "text/html", "is damaged or another file", "breaks off after"):
        assert said in done.stderr
    notes = json.loads((tmp_path / "made" / "data" / "downloads.json").read_text())
    assert {note["address"].rsplit("/wmt", 1)[0] for note in notes.values()} == {addresses[-1]}


@pytest.mark.full
def test_a_missing_line_stops_it_before_anything_is_prepared(recipe, tmp_path):
    right = json.loads(recipe.files.manifest.read_text())
    wrong = json.loads(recipe.files.manifest.read_text())
    for text in wrong["items"][1]["texts"].values():
        text["lines"] += 1
    (tmp_path / "wrong.json").write_text(json.dumps(wrong))
    folder = str(recipe.files.folder)
    done = recipe.run("made", *SMALLEST, "--manifest", tmp_path / "wrong.json", mirrors=[folder])
    assert done.returncode == 1
    assert re.search(r"commoncrawl.*holds another text than it should.*has 409 lines where .* has 410", done.stderr)
    assert not list((tmp_path / "made" / "data").glob("commoncrawl.*"))
    assert not (tmp_path / "made" / "run-scale-0.0001").exists()
    assert right["items"][1] != wrong["items"][1]
    done = recipe.run("made", *SMALLEST, mirrors=[folder])
    check_results(done, tmp_path / "made" / "run-scale-0.0001", recipe.name)


OF_TIME_AND_PLACE = (
    *(".lock", ".made-from", "downloads.json", ".checked.json", "state.json", "config.toml"),
    *("run.json", "run.html", "run.lock", "train.log", "metrics.jsonl", "learning_curve.png"),
)
"""Files that tell when something was done, how long it took, or where."""
LEFT_BY_A_KILL = ".tmp"
"""The hidden file that a translation is written to, which nothing reads before it has its name."""


def made(folder: Path) -> dict[str, str]:
    """Return digests of all that a run made: texts, sample, vocabulary, prepared data, weights, translations, table."""
    others = (*OF_TIME_AND_PLACE, LEFT_BY_A_KILL)
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(others)]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.full
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=["killed", "terminated", "Ctrl-C"]
)
def test_struck_in_every_step_it_comes_out_as_if_never_struck(recipe, tmp_path, number):
    """Killed with all of its processes; or terminated alone, whereupon it ends what it has started."""
    archives = [item["copies"][0]["path"] for item in json.loads(recipe.files.manifest.read_text())["items"]]
    unpacking = [f"unpacking .*/{re.escape(Path(archive).name)}" for archive in archives]
    code = {signal.SIGKILL: (-9,), signal.SIGTERM: (-15, 143), signal.SIGINT: (130,)}[number]
    with serving(recipe.files.folder) as mirror:
        straight = recipe.run("straight", *SMALLEST, mirrors=[mirror.address])
        check_results(straight, tmp_path / "straight" / "run-scale-0.0001", recipe.name)
        for place in (*archives, *unpacking, *PLACES):
            if place in archives:
                mirror.faults[place] = [Fault("slow", 20)]
            process = recipe.start("struck", *SMALLEST, mirrors=[mirror.address])
            for line in process.stderr:
                if re.search(place, line):
                    break
            time.sleep(0.3 if place in archives else 0.0)
            if number == signal.SIGKILL:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
            process.communicate()
            assert process.returncode in code, place
        done = recipe.run("struck", *SMALLEST, mirrors=[mirror.address])
    assert (done.returncode, done.stdout) == (0, straight.stdout)
    assert made(tmp_path / "struck") == made(tmp_path / "straight")


@pytest.mark.full
@pytest.mark.parametrize("form", ["archives", "texts"])
def test_given_files_need_no_mirror(recipe, tmp_path, form):
    given = tmp_path / "given"
    given.mkdir()
    if form == "archives":
        for path in recipe.files.folder.rglob("*"):
            if path.is_file():
                (given / path.name).write_bytes(path.read_bytes())
    else:
        made = recipe.run("first", "--stop-after", "unpack", mirrors=[str(recipe.files.folder)])
        assert made.returncode == 0, made.stderr
        for name in (name for item in json.loads(recipe.files.manifest.read_text())["items"] for name in item["texts"]):
            (given / Path(name).name).write_bytes((tmp_path / "first" / "data" / name).read_bytes())
    done = recipe.run("made", *SMALLEST, "--data", given, mirrors=[nobody()])
    check_results(done, tmp_path / "made" / "run-scale-0.0001", recipe.name)


@pytest.mark.full
def test_the_big_model_and_the_cleaning_at_small_scale(recipe, tmp_path):
    pytest.importorskip("eldc")
    done = recipe.run("made", *SMALL, "--size", "big", "--clean", mirrors=[str(recipe.files.folder)])
    check_results(done, tmp_path / "made" / "run-big-clean-scale-0.001", recipe.name)
    found = dropped(tmp_path / "made" / "run-big-clean-scale-0.001", "commoncrawl")
    assert found["same"] == 1
    assert "language" in found
