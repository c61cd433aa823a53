"""The scripts of small recipes on small files of the real names: with a stand-in for nmtkit, and with nmtkit itself."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from toy.corpora import config_values, count_sentences, sentence_pair

from nmtkit.config import load

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = ("experiment.sh", "fetch", "set-up", "recipe_parts")
RECIPES = ("multi30k-en-fr", "tatoeba-en-de", "tanaka-en-ja", "distillation", "back-translation")
PAIRS = 60

STAND_IN = r"""#!/usr/bin/env bash
# nmtkit's stand-in: writes its call down, and what a command leaves.
set -euo pipefail
printf '%s\n' "$*" >> "$CALLS"
command=$1; shift
run= output= input= systems=()
while [ $# -gt 0 ]; do
    case $1 in
        --run) run=$2; shift 2 ;;
        --output) output=$2; shift 2 ;;
        --system) systems+=("${2%%=*}"); shift 2 ;;
        --set) if [[ $2 == *ja-mecab* && -z ${MECAB:-} ]]; then echo "no MeCab" >&2; exit 2; fi; shift 2 ;;
        --config | --seed | --format) shift 2 ;;
        -*) shift ;;
        *) input=$1; shift ;;
    esac
done
case $command in
    train)
        if [ ! -e "$run/checkpoints" ]; then
            mkdir -p "$run/checkpoints/00000008"
            touch "$run/checkpoints/00000008/weights.safetensors"
            echo "2026-11-30 model: transformer of 1,234 parameters (embeddings 34)" > "$run/train.log"
        fi ;;
    translate)
        if [[ " ${FAILING:-} " == *" $(basename "$output") "* ]]; then exit 1; fi
        gzip -cdf "$input" | sed 's/$/ !/' > "$output"
        echo "60 lines (0 blank, 0 cut) in 1 s: 1,031.5 lines/s, 600 pieces/s" >&2 ;;
    score)
        printf 'set\tlabel\tsystem\tmetric\tscore\tlow\thigh\tp\tp\tsignature\n'
        for system in "${systems[@]}"; do
            for name in test test_2016_flickr test_2017_flickr test_2017_mscoco; do
                printf '%s\t\t%s\tBLEU\t31.5\t30.25\t32.75\t\t\tnrefs:1\n' "$name" "$system"
            done
        done ;;
esac
"""


class Place(NamedTuple):
    """A copy of the recipes, whose manifests name the small files that `data` holds."""

    recipes: Path
    data: Path
    calls: Path
    path: str

    def run(self, recipe: str, *arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Call a recipe's script with the data."""
        return subprocess.run(
            [self.recipes / recipe / "run.sh", "--data", self.data, *arguments],
            env={**os.environ, "PATH": self.path, "CALLS": str(self.calls), **variables},
            capture_output=True,
            text=True,
            check=False,
            cwd=self.data,
        )

    def said(self) -> list[str]:
        """Return the calls of the stand-in so far, and forget them."""
        calls = self.calls.read_text().split("\n")[:-1]
        self.calls.write_text("")
        return calls


def texts(manifest: Path) -> dict[str, list[str]]:
    """Return small texts for the names of a manifest, line n of one side translating line n of the other."""
    content = json.loads(manifest.read_bytes())
    found = {}
    for name in (name for item in content["items"] for name in item["texts"]):
        plain = name.removesuffix(".gz")
        begin = 100 * sum(plain.split(".")[0].encode())  # both sides of a text begin alike, others elsewhere
        pairs = [sentence_pair((begin + 97 * number) % count_sentences()) for number in range(PAIRS)]
        if plain.endswith(".tsv"):
            found[name] = ["\t".join(pair) for pair in pairs]
        else:
            side = 0 if plain.endswith(".en") else 1
            found[name] = [pair[side] for pair in pairs]
    return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    recipes, data = tmp_path / "recipes", tmp_path / "data"
    data.mkdir()
    for name in (*RECIPES, *SHARED, "multi30k-en-de"):
        path = ROOT / "recipes" / name
        if path.is_dir():
            shutil.copytree(path, recipes / name, ignore=shutil.ignore_patterns("run*/", "data", "__pycache__"))
        else:
            recipes.mkdir(exist_ok=True)
            shutil.copy2(path, recipes / name)
    for manifest in recipes.glob("*/files.json"):
        content = json.loads(manifest.read_bytes())
        lines = texts(manifest)
        for item in content["items"]:
            for name in item["texts"]:
                text = "".join(f"{line}\n" for line in lines[name]).encode()
                item["texts"][name] = {"lines": PAIRS, "sha256": hashlib.sha256(text).hexdigest()}
                (data / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        manifest.write_text(json.dumps(content), encoding="utf-8")
    programs, calls = tmp_path / "bin", tmp_path / "calls"
    programs.mkdir()
    (programs / "nmtkit").write_text(STAND_IN, encoding="utf-8")
    (programs / "nmtkit").chmod(0o755)
    calls.touch()
    return Place(recipes, data, calls, f"{programs}{os.pathsep}{os.environ['PATH']}")


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def commands(calls: Sequence[str]) -> list[str]:
    return [call.split()[0] for call in calls]


@pytest.mark.parametrize("recipe", ["multi30k-en-fr", "tatoeba-en-de", "tanaka-en-ja"])
def test_a_recipe_goes_from_files_to_scores_and_does_nothing_twice(place: Place, tmp_path: Path, recipe: str) -> None:
    call = (recipe, "--run", tmp_path / "run", "--set", "train.seed=3")
    done = place.run(*call)
    assert done.returncode == 0, done.stderr
    said = place.said()
    tests = [test.name for test in load(ROOT / "recipes" / recipe / "nmtkit.toml").corpus.test]
    words = ["score"] if recipe == "tanaka-en-ja" else []
    assert commands(said) == ["prepare", "train", *["translate"] * len(tests), "score", *words]
    assert all("--set train.seed=3" in each for each in said if not each.startswith("translate"))
    for name in tests:
        assert len(lines_of(tmp_path / "run" / "translations" / f"{name}.txt")) == PAIRS
        assert f"{name}\t\tnmtkit\tBLEU\t31.5\t30.25\t32.75" in done.stdout
    again = place.run(*call)
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert commands(place.said()) == ["prepare", "train", "score", *words]
    weights = next((tmp_path / "run").rglob("weights.safetensors"))
    later = weights.stat().st_mtime + 100
    os.utime(weights, (later, later))
    place.run(*call)
    assert commands(place.said()).count("translate") == len(tests)


def test_japanese_is_written_without_spaces(place: Place, tmp_path: Path) -> None:
    done = place.run("tanaka-en-ja", "--run", tmp_path / "run")
    text = tmp_path / "run" / "text"
    for name in ("train", "dev", "test"):
        given = lines_of(place.data / f"{name}.ja")
        assert lines_of(text / f"{name}.ja") == [line.replace(" ", "") for line in given]
        assert lines_of(text / f"{name}.en") == lines_of(place.data / f"{name}.en")
    assert "no BLEU of words: no MeCab" in done.stderr
    assert done.stdout.count("\tBLEU\t") == 4
    with_words = place.run("tanaka-en-ja", "--run", tmp_path / "run", MECAB="yes")
    assert with_words.stdout.count("\tBLEU\t") == 8


def test_a_run_folder_is_named_from_where_the_script_is_called(place: Place) -> None:
    assert place.run("tanaka-en-ja", "--run", "made").returncode == 0
    text = place.data / "made" / "text"
    assert text.is_dir()
    assert f"--set corpus.folder={text} " in f"{place.said()[0]} "


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_wrong_file_ends_a_recipe_before_anything_is_done(place: Place, tmp_path: Path, recipe: str) -> None:
    for path in place.data.iterdir():
        path.write_bytes(gzip.compress(b"another text\n") if path.suffix == ".gz" else b"another text\n")
    done = place.run(recipe, "--run", tmp_path / "run")
    assert done.returncode == 1
    assert re.search(r"has 1 lines where .* has 60", done.stderr)
    assert place.said() == []


@pytest.mark.parametrize("recipe", [*RECIPES, "multi30k-en-de"])
def test_an_unknown_option_is_named_and_help_is_what_the_script_begins_with(place: Place, recipe: str) -> None:
    done = place.run(recipe, "--frobnicate")
    assert (done.returncode, done.stdout) == (2, "")
    assert "run.sh: unknown option --frobnicate; see run.sh --help" in done.stderr
    shown = place.run(recipe, "--help")
    assert shown.returncode == 0
    assert "run.sh " in shown.stdout
    assert "#" not in shown.stdout.replace("##", "")
    options = set(re.findall(r"^ {2,}(--[a-z-]+)", shown.stdout, re.MULTILINE))
    script = (place.recipes / recipe / "run.sh").read_text(encoding="utf-8")
    shared = (place.recipes / "experiment.sh").read_text(encoding="utf-8")
    known = re.findall(r"^ +(--[a-z-]+)\)", script if "case $1" in script else shared, re.MULTILINE)
    assert options == set(known)


# Distillation


@pytest.mark.slow
def test_the_student_learns_from_the_teachers_translations(place: Place, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = place.run("distillation", "--run", run, "--set", "train.seed=3")
    assert done.returncode == 0, done.stderr
    said = place.said()
    trained = [re.search(r"--run \S*/(\S+)", call)[1] for call in said if call.startswith("train ")]
    assert trained == ["teacher", "student", "control"]
    assert lines_of(run / "text" / "distilled.de") == [
        f"{line} !" for line in gzip.decompress((place.data / "train.en.gz").read_bytes()).decode().split("\n")[:-1]
    ]
    assert not (run / "text" / "distilled.de.parts").exists()
    rows = [line for line in done.stdout.split("\n") if line.startswith("| ")]
    assert rows[2] == "| teacher | 1,234 | beam | " + "31.50 (30.25 to 32.75) | " * 3 + "1031.5 | 1.00 |"
    assert [row.split(" | ")[0] for row in rows[2:]] == ["| teacher", "| student", "| control"] * 2
    assert "BLEU: nrefs:1" in done.stdout
    again = place.run("distillation", "--run", run, "--set", "train.seed=3")
    assert again.stdout == done.stdout
    assert commands(place.said()) == ["prepare", "train"] * 3 + ["score"]


@pytest.mark.slow
def test_a_teacher_may_be_there_already_and_the_control_be_left_out(place: Place, tmp_path: Path) -> None:
    teacher = tmp_path / "trained"
    place.run("multi30k-en-fr", "--run", teacher)
    place.said()
    done = place.run("distillation", "--run", tmp_path / "run", "--teacher", teacher, "--without-control")
    assert done.returncode == 0, done.stderr
    said = place.said()
    assert [call.split()[0] for call in said if call.split()[0] in ("prepare", "train")] == ["prepare", "train"]
    assert any(call.startswith(f"translate --run {teacher} ") for call in said)
    assert "| control" not in done.stdout
    other = place.run("distillation", "--run", tmp_path / "run")
    assert other.returncode == 2
    assert f"made from the teacher {teacher}, not from a teacher of its own; give another folder" in other.stderr


@pytest.mark.slow
def test_systems_are_timed_in_turn_and_a_failure_is_told(place: Place, tmp_path: Path) -> None:
    call = ("distillation", "--run", tmp_path / "run", "--without-control")
    failed = place.run(*call, FAILING="null")
    assert failed.returncode == 1
    place.said()
    assert place.run(*call).returncode == 0
    timed = [each.split("--run ")[1].split()[0].rpartition("/")[2] for each in place.said() if "/dev/null" in each]
    assert timed == ["teacher", "student"] * 6


# Back-translation


@pytest.mark.parametrize(("search", "options"), [("beam", ""), ("sampling", " --sample --seed 1")])
def test_german_alone_is_translated_back_and_tagged(place: Place, tmp_path: Path, search: str, options: str) -> None:
    run = tmp_path / "run"
    call = ("back-translation", "--run", run, "--pairs", "20", "--lines", "30", "--search", search)
    done = place.run(*call)
    assert done.returncode == 0, done.stderr
    said = place.said()
    pairs = [
        line.split("\t") for line in gzip.decompress((place.data / "train.tsv.gz").read_bytes()).decode().split("\n")
    ]
    text = run / "text"
    assert lines_of(text / "parallel.en") == [pair[0] for pair in pairs[:20]]
    assert lines_of(text / "parallel.de") == [pair[1] for pair in pairs[:20]]
    assert lines_of(text / "alone.de") == [pair[1] for pair in pairs[20:50]]
    assert lines_of(text / f"{search}.en") == [f"{pair[1]} !" for pair in pairs[20:50]]
    (back,) = [each for each in said if each.startswith("translate") and "reverse" in each]
    assert back.endswith(f"target.aaaaa{options}")
    trained = [re.search(r"--run \S*/(\S+)", each)[1] for each in said if each.startswith("train ")]
    assert trained == ["reverse", search, "without"]
    with_it, without = (each for each in said if each.startswith("train ") and "reverse" not in each)
    assert f"corpus.train[1].source={search}.en" in with_it
    assert 'corpus.train=[{name = "parallel"' in without
    assert f"{search}\tBLEU" in done.stdout
    again = place.run(*call)
    assert again.stdout == done.stdout
    assert commands(place.said()) == ["prepare", "train"] * 3 + ["score"]


def test_a_run_folder_is_for_one_amount_of_text(place: Place, tmp_path: Path) -> None:
    call = ("back-translation", "--run", tmp_path / "run", "--lines", "30", "--pairs")
    assert place.run(*call, "20").returncode == 0
    place.said()
    done = place.run(*call, "10")
    assert done.returncode == 2
    assert f"{tmp_path / 'run'} holds what was made from 20 pairs and 30 lines, not from 10 pairs and" in done.stderr
    assert place.said() == []


def test_an_interrupted_translation_goes_on_with_the_part_it_was_at(place: Place, tmp_path: Path) -> None:
    script = place.recipes / "back-translation" / "run.sh"
    script.write_text(script.read_text(encoding="utf-8").replace(" 20000 ", " 10 "), encoding="utf-8")
    call = ("back-translation", "--run", tmp_path / "run", "--pairs", "20", "--lines", "25", "--search", "sampling")
    assert place.run(*call, FAILING="target.aaaab").returncode == 1
    said = [each.split()[-4:] for each in place.said() if each.startswith("translate")]
    assert [Path(output).name for output, *_ in said] == ["target.aaaaa", "target.aaaab"]
    done = place.run(*call)
    assert done.returncode == 0, done.stderr
    back = [each.split()[-4:] for each in place.said() if "reverse" in each and each.startswith("translate")]
    assert [(Path(output).name, seed) for output, _, _, seed in back] == [("target.aaaab", "2"), ("target.aaaac", "3")]
    assert len(lines_of(tmp_path / "run" / "text" / "sampling.en")) == 25


def test_a_search_that_is_none_is_refused(place: Place) -> None:
    done = place.run("back-translation", "--search", "greedy")
    assert done.returncode == 2
    assert "--search greedy: no such search; choose beam or sampling" in done.stderr


# With nmtkit itself


def short(**more: object) -> list[str]:
    """Return settings by which everything is over in seconds."""
    toy = config_values()
    values: Mapping[str, object] = {
        "prepare.segmenter.vocabulary_size": 130,
        "prepare.segmenter.byte_fallback": "false",
        "prepare.filters": "[]",
        **{f"model.{key}": toy["model"][key] for key in ("encoder_layers", "decoder_layers", "width", "feed_forward")},
        "model.heads": 2,
        "train.stop.updates": 8,
        "train.stop.minutes": 0,
        "train.validation.every": 8,
        "train.checkpoints.every": 4,
        "train.checkpoints.average": 2,
        "translate.search.max_length_ratio": 0.5,
        "translate.search.max_length_extra": 5,
        **more,
    }
    return [word for key, value in values.items() for word in ("--set", f"{key}={value}")]


@pytest.mark.full
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_runs(place: Place, tmp_path: Path, recipe: str) -> None:
    """The whole script on small files, with a model that learned for some updates only."""
    more = {"back-translation": ["--pairs", "30"]}.get(recipe, [])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    call = (recipe, "--run", tmp_path / "run", *more, *short())
    first = place._replace(path=path).run(*call)
    assert first.returncode == 0, first.stderr
    assert "BLEU" in first.stdout
    weights = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.safetensors")}
    assert weights
    again = place._replace(path=path).run(*call)
    assert (again.returncode, again.stdout) == (0, first.stdout)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.safetensors")} == weights
