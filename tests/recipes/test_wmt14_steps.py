"""The steps of the WMT14 recipes with a stand-in for nmtkit: what is called, what is not done again, what is said."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recipe_parts.saying import RecipeError
from recipe_parts.wmt14_options import STEPS, read_options
from recipe_parts.wmt14_settings import inline, read_experiment, scaled, training_arguments
from recipe_parts.wmt14_table import Stage, last_validation, read_published, stage_of, table

from nmtkit.config import load
from nmtkit.overrides import parse
from recipes.mirrors import Fault, serving
from recipes.wmt14_files import RECIPES, french_pairs, write

EN_FR = RECIPES / "wmt14-en-fr"
EN_DE = RECIPES / "wmt14-en-de"

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

    def __init__(self, folder: Path, mirror, files) -> None:
        self.folder, self._files = folder, files
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
            [EN_FR / "run.sh", *options, *arguments],
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
    assert first.stdout.startswith("WMT14 English-French, base, behind update 20\n")
    assert "near 0" in first.stdout
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
    assert f"--run {made / 'run-scale-0.001'}" in train
    assert f'--set corpus.folder="{made / "data" / "sample-0.001"}"' in train
    assert "--set train.stop.updates=100 " in train
    assert '{kind = "language"}]' in train
    assert train.endswith("--set train.seed=3 --set translate.search.beam=2 --gpus 2")
    assert driver.call("prepare").split(" ", 1)[1] == train.split(" ", 1)[1].removesuffix(" --gpus 2")
    translate = driver.call("translate")
    assert "--checkpoint average" in translate
    assert "--set translate.search.beam=2" in translate
    assert "train.seed" not in translate
    assert "newstest2014-fren-src.en.sgm --output" in translate
    assert driver.call("score").endswith("newstest2014-fren-ref.fr.sgm --json")


def test_full_scale_takes_the_texts_themselves(driver, tmp_path):
    done = driver("--size", "big", "--stop-after", "prepare")
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
    assert "behind update 40" in done.stdout


def test_a_translation_with_too_few_lines_is_not_scored(driver):
    done = driver("--scale", "0.001", LINES_OUT="39")
    assert done.returncode == 1
    assert "has 39 lines where the test set has 40" in done.stderr
    assert "score" not in driver.calls


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


# Settings


@pytest.mark.parametrize("recipe", [EN_DE, EN_FR], ids=["en-de", "en-fr"])
@pytest.mark.parametrize("size", ["base", "big"])
@pytest.mark.parametrize("scale", ["1", "0.1", "0.001", "1e-6"])
def test_settings_of_every_scale_are_good(recipe, size, scale, tmp_path):
    options = read_options(["--recipe", str(recipe), "--size", size, "--scale", scale, "--folder", str(tmp_path)])
    experiment = read_experiment(options)
    arguments = training_arguments(options, experiment, tmp_path)
    settings = [word for word in arguments[4:] if word != "--set"]
    config = load(experiment.config, settings)
    if options.scale < 1:
        assert (config.model.width, config.train.stop.updates) == (
            128,
            max(20, round(experiment.updates * float(scale))),
        )
    else:
        assert config.train.stop.updates == experiment.updates


PAPER = {
    # Vaswani et al. 2017, sections 5 and 6: pieces, updates, dropout, checkpoints averaged
    ("wmt14-en-de", "nmtkit.toml"): ("bpe", 37_000, 100_000, 0.1, 5, 512),
    ("wmt14-en-de", "big.toml"): ("bpe", 37_000, 300_000, 0.3, 20, 1024),
    ("wmt14-en-fr", "nmtkit.toml"): ("wordpiece", 32_000, 100_000, 0.1, 5, 512),
    ("wmt14-en-fr", "big.toml"): ("wordpiece", 32_000, 300_000, 0.1, 20, 1024),
}


@pytest.mark.parametrize("place", PAPER, ids="/".join)
def test_the_configs_are_the_papers(place):
    config = load(RECIPES / place[0] / place[1])
    kind, vocabulary, updates, dropout, averaged, width = PAPER[place]
    segmenter, model, train, search = config.prepare.segmenter, config.model, config.train, config.translate.search
    assert (segmenter.kind, segmenter.vocabulary_size, segmenter.joint) == (kind, vocabulary, True)
    assert (model.width, model.dropout, model.norm, model.share_embeddings) == (width, dropout, "post", "all")
    assert (model.attention_dropout, model.activation_dropout) == (0, 0)
    assert (train.stop.updates, train.batch.tokens_per_update, train.label_smoothing) == (updates, 25_000, 0.1)
    assert (train.schedule.kind, train.schedule.factor, train.schedule.warmup) == ("noam", 1.0, 4_000)
    assert (train.optimizer.beta1, train.optimizer.beta2, train.optimizer.epsilon) == (0.9, 0.98, 1e-9)
    assert (train.checkpoints.average, train.checkpoints.keep_last) == (averaged, averaged)
    # ten minutes of the paper's, at 0.4 and 1.0 seconds an update
    assert train.checkpoints.every == (1_500 if updates == 100_000 else 600)
    assert (search.beam, search.length_penalty) == (4, 0.6)
    assert (search.max_length_ratio, search.max_length_extra) == (1.0, 50)
    assert config.corpus.dev.name == "newstest2013"
    assert [test.name for test in config.corpus.test] == ["newstest2014"]


def test_what_is_written_as_toml_is_read_as_it_was_meant():
    for value in ['a "b" c\\d', 3, 0.5, 1e-9, True, [1, "x"], [{"kind": "ratio", "maximum": 9.0}]]:
        assert parse(f"key={inline(value)}").value == value


def test_updates_fall_with_the_scale_and_sizes_with_its_root():
    tables = read_experiment(read_options(["--recipe", str(EN_DE)])).tables
    found = dict(setting.split("=", 1) for setting in scaled(tables, 0.01))
    assert found["train.stop.updates"] == "1000"
    assert found["prepare.segmenter.vocabulary_size"] == "3700"
    assert found["train.batch.tokens_per_update"] == "2500"
    assert found["train.checkpoints.every"] == "15"


BAD_OPTIONS = {
    "a scale of nothing": ["--scale", "0"],
    "more than all": ["--scale", "1.5"],
    "no number": ["--scale", "half"],
    "no GPUs": ["--gpus", "0"],
    "an unknown step": ["--only", "lunch"],
    "an unknown size": ["--size", "huge"],
}


@pytest.mark.parametrize("arguments", BAD_OPTIONS.values(), ids=BAD_OPTIONS.keys())
def test_bad_options_end_with_the_code_for_it(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        read_options(["--recipe", str(EN_DE), *arguments])
    assert ended.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_unequal_sides_in_a_manifest_are_refused(tmp_path):
    content = json.loads((EN_DE / "files.json").read_text())
    content["items"][0]["texts"]["training/europarl-v7.de-en.de"]["lines"] += 1
    (tmp_path / "files.json").write_text(json.dumps(content))
    with pytest.raises(RecipeError, match=r"has 1,920,209 lines but .* has 1,920,210"):
        read_experiment(read_options(["--recipe", str(EN_DE), "--manifest", str(tmp_path / "files.json")]))


def test_both_recipes_say_the_same_of_the_files_that_both_use():
    copies = {}
    for recipe in (EN_DE, EN_FR):
        for item in json.loads((recipe / "files.json").read_text())["items"]:
            for copy in item["copies"]:
                assert copies.setdefault(copy["path"], copy) == copy
                assert ("sha256" in copy and len(copy["sha256"]) == 64) or len(copy["md5"]) == 32


def test_the_known_pairs():
    """4,520,620 of De-En and 40,842,333 of Fr-En, lines, blank ones included."""
    for recipe, pairs in ((EN_DE, 4_520_620), (EN_FR, 40_842_333)):
        experiment = read_experiment(read_options(["--recipe", str(recipe)]))
        assert sum(pair.lines for pair in experiment.train) == pairs
        assert (experiment.dev.lines, experiment.test.lines) == (3_000, 3_003)


# The table


def test_the_table_has_the_papers_figures_beside_ours(tmp_path):
    published = read_published(EN_DE / "published.json")
    scores = [
        {"name": name, "value": 26.125, "signature": f"of {name}", "low": 25.5, "high": 26.75}
        for name in published.metrics
    ]
    whole = table(published, "base", Stage(1.0, 100_000, 100_000), scores, {"perplexity": 4.925, "score": 25.7})
    rows = whole.split("\n")
    assert rows[0] == "WMT14 English-German, base, behind update 100,000"
    assert len({len(row) for row in rows[2:9]}) == 1
    assert "27.3" in whole
    assert whole.count("26.12 (25.50 to 26.75)") == len(published.metrics)
    assert "4.92" in whole
    part = table(published, "base", Stage(1.0, 2_000, 100_000), scores, {})
    assert "less: 2,000 of 100,000 updates" in part
    assert "about that" not in part


def test_the_stage_of_a_run(tmp_path):
    assert stage_of(tmp_path, 1.0, 100) == Stage(1.0, 0, 100)
    for name in ("00000010", "00000030", "average"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
    assert stage_of(tmp_path, 1.0, 100).updates == 30


def test_the_last_validation_is_found(tmp_path):
    metrics = tmp_path / "metrics.jsonl"
    assert last_validation(metrics) == {}
    records = [{"kind": "validation", "update": 1}, {"kind": "validation", "update": 2}, {"kind": "average"}]
    metrics.write_text("".join(f"{json.dumps(record)}\n" for record in records) + '{"kind": "valid')
    assert last_validation(metrics)["update"] == 2


@pytest.mark.parametrize("recipe", [EN_DE, EN_FR], ids=["en-de", "en-fr"])
def test_readmes_have_the_published_figures(recipe):
    readme = (recipe / "README.md").read_text(encoding="utf-8")
    published = read_published(recipe / "published.json")
    for figures in published.sizes.values():
        for figure in [
            *figures.paper.values(),
            *figures.expected.values(),
            *(value for _, value in figures.dev.values()),
        ]:
            assert figure in readme
    experiment = read_experiment(read_options(["--recipe", str(recipe)]))
    for pair in experiment.train:
        assert f"{pair.lines:,}" in readme
