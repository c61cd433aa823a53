"""Recipes load and run, and the commands in the documents exist. What they share is tested in recipes/."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from nmtkit import cli
from nmtkit.commands.init import SAMPLE_START, render
from nmtkit.config import load
from nmtkit.sample import LABELS, PHENOMENA

ROOT = Path(__file__).resolve().parent.parent
RECIPES = sorted(path for path in (ROOT / "recipes").iterdir() if path.is_dir() and not (path / "__init__.py").exists())
CONFIGS = sorted(ROOT.glob("recipes/*/*.toml"))
MULTI30K = ROOT / "recipes" / "multi30k-en-de"
QUICKSTART = ROOT / "recipes" / "quickstart"
SHARED_DATA = Path(os.environ.get("NMTKIT_SHARED_DATA", ROOT.parent / "shared" / "data"))

each_recipe = pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.name)
documents = pytest.mark.parametrize(
    "document", [ROOT / "README.md", *sorted(ROOT.glob("recipes/*/README.md"))], ids=lambda p: str(p.relative_to(ROOT))
)


@pytest.fixture(scope="module")
def shared_multi30k() -> Path:
    folder = SHARED_DATA / "multi30k"
    if not folder.is_dir():
        pytest.skip("needs the Multi30k files in ../shared/data or where NMTKIT_SHARED_DATA says")
    return folder


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_config_loads(path):
    config = load(path)
    assert config.corpus.train
    assert config.corpus.dev
    assert config.corpus.test


@each_recipe
def test_recipe_is_whole(recipe):
    assert (recipe / "README.md").exists()
    scripts = [*recipe.glob("*.sh"), *recipe.glob("*.sbatch")]
    assert scripts
    assert (recipe / "nmtkit.toml").exists() == (recipe / "run.sh").exists()  # on a cluster, of a text of one's own
    for script in scripts:
        subprocess.run(["bash", "-n", script], check=True)


def run_recipe(recipe: Path, folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [recipe / "run.sh", *arguments],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def stamps_of(folder: Path) -> dict[Path, int]:
    """Return when each file of weights was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.safetensors")}


# The quickstart


def test_the_settings_of_the_quickstart_are_those_that_init_writes():
    written = (QUICKSTART / "nmtkit.toml").read_text(encoding="utf-8")
    assert written == render("en", "de", "tiny", SAMPLE_START, labels=LABELS)


def test_the_first_command_of_the_readme_is_the_quickstart():
    first = re.search(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert first[1].split("\n")[-2] == "recipes/quickstart/run.sh"


@pytest.mark.slow
def test_the_quickstart_runs(tmp_path):
    """The whole script on the whole data, with a model that learned for some updates only."""
    short = {
        "train.stop.updates": "4",
        "train.validation.every": "4",
        "train.validation.translate": "false",
        "train.checkpoints.every": "2",
        "translate.search.max_length_ratio": "0.1",
        "translate.search.max_length_extra": "1",
    }
    settings = [word for key, value in short.items() for word in ("--set", f"{key}={value}")]
    first = run_recipe(QUICKSTART, tmp_path, "--folder", tmp_path / "try it", *settings)
    assert first.returncode == 0, first.stderr
    run = tmp_path / "try it" / "run"
    assert (run / "learning_curve.png").exists()
    assert (run / "translations" / "test.de").read_bytes().count(b"\n") == 1_000
    assert first.stdout.count("\n  reference   ") == 8
    for phenomenon in PHENOMENA:
        assert f"   {phenomenon} " in first.stdout
    assert "BLEU  nrefs:1|case:mixed|eff:no|tok:13a|" in first.stdout
    stamps = stamps_of(run)
    again = run_recipe(QUICKSTART, tmp_path, "--folder", tmp_path / "try it", *settings)
    assert (again.returncode, again.stdout) == (0, first.stdout)
    assert stamps_of(run) == stamps


# The documents


def commands_in(document: Path) -> list[list[str]]:
    """Return the words of each call of nmtkit in the shell blocks of a document, by parts of pipes."""
    found = []
    for block in re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", document.read_text(encoding="utf-8"), re.M | re.S):
        for line in block.replace("\\\n", " ").split("\n"):
            words = shlex.split(line.removeprefix("$ "), comments=True)
            while "nmtkit" in words:
                words = words[words.index("nmtkit") :]
                end = next((n for n, word in enumerate(words) if word in {"|", ">", "<", "&&", ";"}), len(words))
                found.append(words[1:end])
                words = words[end:]
    return found


def problems_of(words: list[str]) -> list[str]:
    """Return what a call of nmtkit uses that the command line does not know."""
    app = get_command(cli.app)
    command, problems = app, []
    for word in words:
        name = word.split("=")[0]
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        if command is app and not word.startswith("-"):
            if word not in app.commands:
                return [f"no command {word}"]
            command = app.commands[word]
        elif word.startswith("-") and word != "-" and name not in {*known, "--help"}:
            problems.append(f"no option {name} in {' '.join(words)}")
    return problems


@documents
def test_the_commands_of_documents_exist(document):
    assert [problem for words in commands_in(document) for problem in problems_of(words)] == []


def test_the_readme_shows_every_command_of_the_walk():
    shown = {words[0] for words in commands_in(ROOT / "README.md") if words}
    assert {"init", "prepare", "train", "translate", "score"} <= shown


@pytest.mark.parametrize("words", [["frobnicate"], ["train", "--frobnicate"], ["score", "--jason"]])
def test_a_command_that_does_not_exist_would_be_found(words):
    assert problems_of(words)


@documents
def test_links_to_files_lead_somewhere(document):
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (document.parent / target).exists()] == []


@pytest.mark.slow
def test_the_multi30k_recipe_runs(shared_multi30k, tmp_path):
    """The whole script on the whole data, with a model that learned for some updates only."""
    short = [
        ("train.stop.updates", "8"),
        ("train.validation.every", "4"),
        ("train.checkpoints.every", "4"),
        ("train.checkpoints.average", "2"),
        ("train.validation.translate", "false"),
        ("translate.search.max_length_ratio", "0.1"),
        ("translate.search.max_length_extra", "1"),
    ]
    settings = [word for key, value in short for word in ("--set", f"{key}={value}")]
    call = (MULTI30K, tmp_path, "--data", shared_multi30k, "--run", tmp_path / "run", *settings)
    first = run_recipe(*call)
    assert first.returncode == 0, first.stderr
    _, *scores = [line.split("\t") for line in first.stdout.removesuffix("\n").split("\n")]
    assert [(name, system, metric) for name, _, system, metric, *_ in scores] == [
        (name, "nmtkit", metric)
        for name in ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
        for metric in ("BLEU", "BLEU-tok", "BLEU-split", "chrF2", "chrF2++", "TER")
    ]
    stamps = stamps_of(tmp_path / "run")
    again = run_recipe(*call)
    assert (again.returncode, again.stdout) == (0, first.stdout)
    assert stamps_of(tmp_path / "run") == stamps
