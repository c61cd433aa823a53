"""The steps of the WMT14 recipes with a stand-in for nmtkit: what is called, what is not done again, what is said."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recipe_parts.wmt14_options import STEPS
from recipe_parts.wmt14_table import read_published

from recipes.mirrors import Fault, serving
from recipes.wmt14_files import RECIPES, french_pairs, write

EN_FR = RECIPES / "wmt14-en-fr"

NMTKIT = """#!/bin/sh
# A stand-in: notes how it was called and makes the files that matter to the recipe. HOLD names a command that waits.
echo "$@" >> "$CALLS"
run=$(expr "$*" : '.*--run \\([^ ]*\\)')
case " $* " in *" --plan "*) echo "a plan"; exit 0 ;; esac
if [ "$1" = "$HOLD" ]; then trap 'exit 143' TERM; touch "$CALLS.held"; while :; do sleep 0.05; done; fi
case $1 in
    prepare) mkdir -p "$run/data"; echo '{}' > "$run/data/manifest.json" ;;
    train)
        [ -d "$run/checkpoints/00000020" ] && exit "${CODE:-0}"
        printf '[train.checkpoints]\\naverage = %s\\n' "${AVERAGE:-5}" > "$run/config.toml"
        mkdir -p "$run/checkpoints/00000020"; touch "$run/checkpoints/00000020/weights.safetensors"
        echo '{"kind": "validation", "perplexity": 7.5, "score": 1.25, "metric": "BLEU"}' > "$run/metrics.jsonl"
        exit "${CODE:-0}" ;;
    average) mkdir -p "$run/checkpoints/average"; touch "$run/checkpoints/average/weights.safetensors" ;;
    translate)
        out=$(expr "$*" : '.*--output \\([^ ]*\\)'); n=0
        while [ $n -lt "${LINES_OUT:-40}" ]; do echo "line $n"; n=$((n + 1)); done > "$out" ;;
    score) cat "$SCORES" ;;
esac
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write(tmp_path_factory.mktemp("wmt14") / "mirror", "wmt14-en-fr", french_pairs(300))


@pytest.fixture
def mirror(files):
    with serving(files.folder) as served:
        yield served


class Driver:
    """Starts the recipe with the stand-in."""

    def __init__(self, folder: Path, mirror, files, recipe: Path = EN_FR) -> None:
        self.folder, self._files, self._recipe = folder, files, recipe
        programs = folder / "bin"
        programs.mkdir()
        (programs / "nmtkit").write_text(NMTKIT)
        (programs / "nmtkit").chmod(0o755)
        self.calls_file = folder / "calls"
        scores = [
            {"name": name, "value": 0.5, "signature": "s"} for name in read_published(EN_FR / "published.json").metrics
        ]
        (folder / "scores.json").write_text(json.dumps({"sets": [{"systems": [{"scores": scores}]}]}))
        self.environ = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHON": sys.executable,
            "CALLS": str(self.calls_file),
            "SCORES": str(folder / "scores.json"),
            "WMT14_MIRROR": mirror.address,
        }

    def start(self, *arguments: str | Path, **variables: str) -> "subprocess.Popen[str]":
        options = ["--manifest", self._files.manifest, "--folder", self.folder / "made"]
        return subprocess.Popen(
            [self._recipe / "run.sh", *options, *arguments],
            env={**self.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __call__(self, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, **variables)
        out, said = process.communicate(timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, out, said)

    @property
    def calls(self) -> list[str]:
        """The commands called so far, by their first words; a plan by that."""
        if not self.calls_file.exists():
            return []
        lines = self.calls_file.read_text().removesuffix("\n").split("\n")
        return ["plan" if "--plan" in line else line.split(" ")[0] for line in lines]

    def call(self, command: str) -> str:
        """Return the last call of a command."""
        lines = self.calls_file.read_text().removesuffix("\n").split("\n")
        return next(line for line in reversed(lines) if line.startswith(f"{command} ") and "--plan" not in line)


@pytest.fixture
def driver(tmp_path, mirror, files):
    return Driver(tmp_path, mirror, files)


def said_steps(said: str) -> list[str]:
    return [line.removeprefix("== ") for line in said.split("\n") if line.startswith("== ")]


def test_all_steps_once_and_no_more_the_second_time(driver, tmp_path):
    first = driver("--scale", "0.001")
    assert first.returncode == 0, first.stderr
    assert said_steps(first.stderr) == list(STEPS)
    assert driver.calls == ["prepare", "plan", "train", "average", "translate", "score"]
    run = tmp_path / "made" / "run-scale-0.001"
    assert first.stdout.startswith("WMT14 English-French, base, after update 20\n")
    assert "near 0" in first.stdout
    assert f"the same for programs: {run / 'results.json'}" in first.stderr
    results = json.loads((run / "results.json").read_text())
    assert (results["expected"], results["updates"]) == ("near 0", 20)
    again = driver("--scale", "0.001")
    assert (again.returncode, again.stdout) == (0, first.stdout)
    assert driver.calls[6:] == ["prepare", "train", "score"]


def test_disk_and_time_are_said_first(driver):
    done = driver("--scale", "0.001", "--stop-after", "download")
    assert said_steps(done.stderr) == ["download"]
    before = done.stderr[: done.stderr.index("== download")]
    for part in (
        "WMT14 English-French, base: 2,018 pairs, scale 0.001",
        "downloads",
        "unpacked text",
        "training",
        "free at",
    ):
        assert part in before


def test_what_is_done_is_not_said_to_be_needed(driver):
    assert driver("--stop-after", "unpack").returncode == 0
    started = driver("--stop-after", "prepare")
    before = started.stderr[: started.stderr.index("== download")]
    assert re.search(r"preparing +\S+ .B +some 0 s on two cores, and the vocabulary before that\n", before)
    assert re.search(r"training +\S+ .B +at most; the paper: 12 hours on 8 P100", before)
    assert "downloads" not in before
    assert driver().returncode == 0
    again = driver()
    assert again.stderr[: again.stderr.index("== download")] == "WMT14 English-French, base: 2,018 pairs\n"


def test_too_small_a_disk_is_said_before_anything_is_fetched(driver, files, mirror, tmp_path):
    content = json.loads(files.manifest.read_text())
    large = tmp_path / "large.json"
    large.write_text(json.dumps({**content, "unpacked_bytes": 10**18}))
    done = driver("--manifest", large)
    assert done.returncode == 1
    assert "make room, choose another disk with --folder or --run" in done.stderr
    assert mirror.asked == []
    ignoring = driver("--manifest", large, "--ignore-space", "--stop-after", "download")
    assert ignoring.returncode == 0, ignoring.stderr


def test_what_is_told_to_nmtkit(driver, tmp_path):
    done = driver(
        "--scale", "0.001", "--gpus", "2", "--set", "train.seed=3", "--set", "translate.search.beam=2", "--clean"
    )
    assert done.returncode == 0, done.stderr
    made = tmp_path / "made"
    train = driver.call("train")
    assert f"--run {made / 'run-clean-scale-0.001'}" in train
    assert done.stdout.startswith("WMT14 English-French, base, with --clean, after update 20\n")
    assert f'--set corpus.folder="{made / "data" / "sample-0.001"}"' in train
    assert "--set train.stop.updates=100 " in train
    assert '{kind = "language"}]' in train
    assert train.endswith("--set train.seed=3 --set translate.search.beam=2 --gpus 2")
    assert driver.call("prepare").split(" ", 1)[1] == train.split(" ", 1)[1].removesuffix(" --gpus 2")
    translate = driver.call("translate")
    assert "--checkpoint average" in translate
    assert "--set translate.search.beam=2" in translate
    assert "train.seed" not in translate
    assert all(f" --config {EN_FR / 'nmtkit.toml'} " in driver.call(name) for name in ("translate", "score"))
    assert driver.call("average").startswith("average --last 5 ")
    assert "newstest2014-fren-src.en.sgm --output" in translate
    assert driver.call("score").endswith("newstest2014-fren-ref.fr.sgm --json")


def test_full_scale_takes_the_texts_themselves(driver, tmp_path):
    done = driver("--size", "big", "--stop-after", "prepare", "--ignore-space")
    assert done.returncode == 0, done.stderr
    assert said_steps(done.stderr) == ["download", "unpack", "prepare"]
    made = tmp_path / "made"
    assert driver.call("prepare") == (
        f'prepare --config {EN_FR / "big.toml"} --run {made / "run-big"} --set corpus.folder="{made / "data"}"'
    )
    assert (
        f"sbatch --account=ACCOUNT --partition=PARTITION {RECIPES / 'slurm' / 'train.sbatch'} --config" in done.stderr
    )


def test_one_step_alone(driver):
    assert driver("--scale", "0.001", "--stop-after", "train").returncode == 0
    done = driver("--scale", "0.001", "--only", "average")
    assert said_steps(done.stderr) == ["average"]
    assert driver.calls[-1] == "average"
    missing = driver("--scale", "0.001", "--only", "score")
    assert missing.returncode == 1
    assert "translate first" in missing.stderr


def test_an_average_older_than_the_last_checkpoint_is_made_anew(driver, tmp_path):
    assert driver("--scale", "0.001").returncode == 0
    newer = tmp_path / "made" / "run-scale-0.001" / "checkpoints" / "00000040"
    newer.mkdir()
    (newer / "weights.safetensors").touch()
    time.sleep(0.02)
    done = driver("--scale", "0.001")
    assert driver.calls[6:] == ["prepare", "train", "average", "translate", "score"]
    assert "after update 40" in done.stdout


def test_a_translation_with_other_settings_is_made_anew(driver):
    assert driver("--scale", "0.001").returncode == 0
    wider = ("--scale", "0.001", "--set", "translate.search.beam=8")
    for settings, made in ((wider, True), (wider, False), (("--scale", "0.001"), True)):
        before = driver.calls.count("translate")
        assert driver(*settings).returncode == 0
        assert driver.calls.count("translate") - before == made


def test_the_average_is_over_as_many_as_training_was_told(driver):
    assert driver("--scale", "0.001", AVERAGE="7").returncode == 0
    assert driver.call("average").startswith("average --last 7 ")


def test_without_an_average_nothing_is_scored(driver):
    done = driver("--scale", "0.001", "--set", "train.checkpoints.average=0", AVERAGE="0")
    assert done.returncode == 2
    assert "train.checkpoints.average = 0: the recipe scores the average of the last checkpoints" in done.stderr
    assert driver.calls[-1] == "train"


def test_a_translation_by_another_config_is_made_anew(tmp_path, mirror, files):
    recipe = tmp_path / "recipes" / "wmt14-en-fr"
    shutil.copytree(RECIPES, recipe.parent, ignore=shutil.ignore_patterns("run*/", "data", "__pycache__"))
    driver = Driver(tmp_path, mirror, files, recipe)
    assert driver("--scale", "0.001").returncode == 0
    config = recipe / "nmtkit.toml"
    text = config.read_text(encoding="utf-8")
    assert text.count("\nbeam = 4\n") == 1
    config.write_text(text.replace("\nbeam = 4\n", "\nbeam = 5\n"), encoding="utf-8")
    assert driver("--scale", "0.001").returncode == 0
    assert driver.calls.count("translate") == 2


def test_a_translation_with_too_few_lines_is_not_scored(driver):
    done = driver("--scale", "0.001", LINES_OUT="39")
    assert done.returncode == 1
    assert "has 39 lines where the test set has 40" in done.stderr
    assert "score" not in driver.calls
    assert driver("--scale", "0.001").returncode == 0


@pytest.mark.parametrize("code", ["1", "138"])
def test_the_exit_code_of_nmtkit_is_that_of_the_recipe(driver, code):
    done = driver("--scale", "0.001", CODE=code)
    assert done.returncode == int(code)
    assert f"nmtkit train ended with exit code {code}" in done.stderr
    assert driver.calls[-1] == "train"


def test_given_data_needs_no_mirror(driver, mirror, tmp_path):
    assert driver("--stop-after", "unpack").returncode == 0
    asked = list(mirror.asked)
    done = driver("--data", tmp_path / "made" / "data", "--folder", tmp_path / "other", "--scale", "0.001")
    assert done.returncode == 0, done.stderr
    assert "downloads" not in done.stderr[: done.stderr.index("== download")]
    assert mirror.asked == asked


def test_a_manifest_without_a_text_of_the_config_is_refused(driver, files, tmp_path):
    content = json.loads(files.manifest.read_text())
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**content, "items": content["items"][1:]}))
    done = driver("--manifest", other)
    assert done.returncode == 2
    assert "has no text training/europarl-v7.fr-en.en" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
@pytest.mark.parametrize("step", ["prepare", "train", "average", "translate", "score"])
def test_struck_in_a_step_of_nmtkit_the_same_call_goes_on(driver, step, number):
    process = driver.start("--scale", "0.001", HOLD=step)
    held = driver.calls_file.with_name("calls.held")
    while not held.exists() and process.poll() is None:
        time.sleep(0.01)
    if number == signal.SIGKILL:  # as when the machine goes down
        os.killpg(process.pid, number)
    else:  # to the recipe alone, which passes it on and waits for what nmtkit still does
        process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == (-9 if number == signal.SIGKILL else 143)
    done = driver("--scale", "0.001")
    assert done.returncode == 0, done.stderr
    assert driver.calls[-1] == "score"
    assert driver.calls.count(step) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=["killed", "terminated", "Ctrl-C"]
)
def test_struck_while_downloading_the_same_call_goes_on(driver, mirror, number):
    path = "wmt13/training-parallel-un.tgz"
    mirror.faults[path] = [Fault("slow", 100)]
    process = driver.start("--scale", "0.001")
    while path not in [asked for asked, _ in mirror.asked] and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert ("the same command goes on" in said) == (number == signal.SIGINT)
    done = driver("--scale", "0.001")
    assert done.returncode == 0, done.stderr
    begins = [begin for asked, begin in mirror.asked if asked == path]
    assert len(begins) == 2
    assert begins[1] > 0
