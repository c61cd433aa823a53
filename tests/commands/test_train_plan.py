"""`nmtkit train --plan`: what it prints with and without prepared data, what it refuses; and it changes nothing."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from toy.corpora import config_toml
from toy.projects import Project
from typer.testing import CliRunner, Result

from nmtkit.cli import app
from nmtkit.commands.plan_report import show
from nmtkit.commands.train_plan import Given, Hardware, plan
from nmtkit.errors import DataError
from nmtkit.log import Log
from nmtkit.training.membership import Membership

BIG = {
    "model": {"kind": "transformer", "preset": "big"},
    "prepare.segmenter": {"kind": "bpe", "vocabulary_size": 37_000},
    "prepare.max_pieces": 256,
    "train.batch": {"tokens_per_update": 25_000, "tokens_per_tensor": 4_096},
    "train.precision": "auto",
    "train.stop": {"updates": 300_000},
    "train.checkpoints": {"every": 1_000, "keep_last": 20, "average": 20},
}


def call(project: Project, *options: str) -> Result:
    place = ["--config", str(project.file), "--run", str(project.run.path)]
    return CliRunner().invoke(app, ["train", "--plan", *place, *options])


def planned(project: Project, *options: str) -> dict[str, Any]:
    result = call(project, "--json", "--device", "cpu", *options)
    assert (result.exit_code, result.stderr) == (0, "")
    said: dict[str, Any] = json.loads(result.stdout)
    return said


def test_of_several_processes_one_prints_the_plan(prepared: Project) -> None:
    """As where torchrun starts what would train."""
    place = ["--config", str(prepared.file), "--run", str(prepared.run.path)]
    said = []
    for rank in "01":
        environ = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
        meet = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
        result = CliRunner().invoke(app, ["train", "--plan", "--device", "cpu", *place], env=environ | meet)
        assert (result.exit_code, result.stderr) == (0, "")
        said.append(result.stdout)
    assert re.search(r"^planned +transformer on 2 processes on the processor, ", said[0], re.M)
    assert said[1] == ""


@pytest.fixture
def big(tmp_path: Path) -> Project:
    """The paper's largest model, and no text at all."""
    (tmp_path / "nmtkit.toml").write_text(config_toml(BIG), encoding="utf-8")
    return Project(tmp_path)


def test_a_plan_is_printed_and_nothing_is_written(prepared: Project) -> None:
    before = prepared.snapshot()
    result = call(prepared, "--device", "cpu", "--tokens-per-second", "1000")
    assert (result.exit_code, result.stderr) == (0, "")
    assert prepared.snapshot() == before
    report = result.stdout
    assert re.search(r"^planned +transformer on the processor, in fp32$", report, re.M)
    assert re.search(r"^vocabulary +120 pieces \(.*data\)$", report, re.M)
    assert re.search(r"^an update +on average \d+ pairs, \d+ source and \d+ target tokens \(at most 400 ", report, re.M)
    assert re.search(r"^each device +\d\.\d tensors one after another in an update; the largest are of ", report, re.M)
    assert re.search(r"^an epoch +200 pairs in \d+ updates$", report, re.M)
    assert re.search(r"^embeddings +1,920 +25\.6%$", report, re.M)
    assert re.search(r"^together +7,488$", report, re.M)
    for part in ("weights", "gradients", "optimizer", "activations", "loss and way back", "base", "together"):
        assert re.search(rf"^{part} +\d", report, re.M), part
    assert re.search(r"^training +8 updates \(train\.stop\.updates = 8\), [\d.]+ epochs, some ", report, re.M)
    assert re.search(r"^speed +1,000 target tokens a second, 0\.\d+ s an update \(--tokens-per-second\)$", report, re.M)
    assert re.search(r"^time +\d s, until \d{4}-\d\d-\d\d \d\d:\d\d if it begins now$", report, re.M)
    assert re.search(r"^checkpoints +[\d.]+ GB on the disk while training goes well, at most ", report, re.M)
    assert "MALLOC_MMAP_THRESHOLD_" in report
    assert not re.search(r"[ \x1b]$", report, re.M)


def test_json_agrees_with_what_a_training_does(trained: Project) -> None:
    said = planned(trained)
    assert said["parameters"] == 7_488 == sum(said["parameters_by_part"].values())
    updates = trained.records("train")
    assert said["training"]["epochs"] == pytest.approx(updates[-1]["epoch"], rel=0.05)
    assert said["update"]["padding"] == pytest.approx(updates[0]["padding"], abs=0.05)
    assert said["training"]["updates"] == said["training"]["behind"] == 8
    assert said["training"]["seconds_left"] == 0.0
    memory = said["memory"]["replicate"]
    assert memory["together"] == sum(memory["parts"].values())
    assert memory["tensor"]["pairs"] * memory["tensor"]["target"] <= 200
    weights = said["checkpoints"]["weights"]
    assert sum(tensor.numel() * 4 for tensor in trained.weights(8).values()) == weights


def test_big_on_eight_gpus_needs_neither_gpus_nor_text(big: Project) -> None:
    with patch("torch.cuda.is_available", side_effect=AssertionError), patch("torch.cuda.init", AssertionError):
        result = call(big, "--gpus", "8", "--tokens-per-second", "200000", "--json")
    said = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert said["parameters"] == 214_245_376
    assert said["vocabulary"] == {"source": 37_000, "target": 37_000, "by": "prepare.segmenter.vocabulary_size"}
    assert (said["device"], said["processes"], said["precision"]) == ("cuda", 8, "bf16")
    assert "is not prepared" in said["no_text"]
    assert said["epoch"] is None
    replicate, shard = said["memory"]["replicate"], said["memory"]["shard"]
    assert replicate["parts"]["optimizer"] == 8 * 214_245_376
    assert shard["parts"]["optimizer"] == 214_245_376
    assert 5e9 < shard["together"] < replicate["together"] < 9e9
    # Each GPU gets an eighth of 25,000 positions, a sixteenth more at most.
    assert replicate["tensor"]["pairs"] * replicate["tensor"]["target"] <= 25_000 / 8 * 17 / 16
    training = said["training"]
    assert training["seconds_left"] == 300_000 * 25_000 / 200_000
    assert (datetime.fromisoformat(training["end"]) - datetime.now().astimezone()).days == 0
    assert said["checkpoints"]["weights"] == 4 * 214_245_376


def test_big_in_words(big: Project) -> None:
    report = call(big, "--gpus", "8", "--set", "train.parallel=shard", "--set", "train.freeze=['embeddings']").stdout
    assert re.search(r"^planned +transformer on 8 GPUs, a part of the model on each, in bf16$", report, re.M)
    assert re.search(r"^an update +at most 25,000 source and as many target tokens, padding included$", report, re.M)
    assert re.search(r"^an epoch +not known: .* is not prepared$", report, re.M)
    assert re.search(r"^not frozen +176,357,376$", report, re.M)
    assert re.search(r"^GB of each device +replicate +shard \(chosen\)$", report, re.M)
    assert re.search(r"^fits a GPU of +\d+ GB +\d+ GB$", report, re.M)
    assert re.search(r"^training +300,000 updates \(train\.stop\.updates = 300000\), some 7\.5e\+09 ", report, re.M)
    assert re.search(r"^speed +not known; give --tokens-per-second$", report, re.M)
    assert not re.search(r"^time ", report, re.M)
    assert re.search(r"^the machine +[\d.]+ GB of its memory for a copy of a checkpoint$", report, re.M)
    assert "was not measured" in report


def test_accumulation_falls_with_the_number_of_processes(prepared: Project) -> None:
    alone, three = planned(prepared), planned(prepared, "--processes", "3")
    assert alone["update"]["tensors"] == pytest.approx(alone["update"]["tensors_of_a_process"], rel=0.3)
    assert three["update"]["tensors_of_a_process"] < alone["update"]["tensors_of_a_process"]
    assert {name: alone["update"][name] for name in ("target_tokens", "padding")} == {
        name: three["update"][name] for name in ("target_tokens", "padding")
    }
    report = call(prepared, "--processes", "3").stdout
    assert re.search(r"^planned +transformer on 3 processes on the processor, all of the model on each", report, re.M)
    assert re.search(r"^all processes +\d", report, re.M)


def test_recomputation_and_precision_tell(prepared: Project) -> None:
    plain = planned(prepared)["memory"]["replicate"]["parts"]
    recomputed = planned(prepared, "--set", "train.recompute=true")["memory"]["replicate"]["parts"]
    bf16 = planned(prepared, "--set", "train.precision=bf16")["memory"]["replicate"]["parts"]
    assert recomputed["activations"] < plain["activations"]
    assert bf16["activations"] < plain["activations"]
    assert bf16["rounded weights"] > 0
    assert "rounded weights" not in plain


def test_other_settings_than_those_of_the_data_plan_without_it(prepared: Project) -> None:
    said = planned(prepared, "--set", "prepare.max_pieces=50")
    assert "was prepared with other settings" in said["no_text"]
    assert "pairs" not in said["update"]


@pytest.mark.parametrize(
    ("settings", "options", "size", "by"),
    [
        ({"kind": "bytes"}, [], 260, 'prepare.segmenter.kind = "bytes"'),
        ({"kind": "characters"}, ["--vocabulary", "99"], 99, "--vocabulary"),
    ],
)
def test_sizes_of_vocabularies_without_text(
    tmp_path: Path, settings: dict[str, Any], options: list[str], size: int, by: str
) -> None:
    (tmp_path / "nmtkit.toml").write_text(config_toml({"prepare.segmenter": settings}), encoding="utf-8")
    said = planned(Project(tmp_path), *options)
    assert said["vocabulary"] == {"source": size, "target": size, "by": by}


def test_a_rate_is_measured(prepared: Project) -> None:
    with patch("nmtkit.commands.plan_pace.SECONDS", 0.0):
        result = call(prepared, "--device", "cpu", "--measure", "--json")
    assert "measuring for some 0 seconds" in result.stderr
    training = json.loads(result.stdout)["training"]
    assert training["pace_by"] == "measured now"
    assert training["seconds_per_update"] > 0
    rate = json.loads(result.stdout)["update"]["target_tokens"] / training["seconds_per_update"]
    assert training["target_tokens_per_second"] == pytest.approx(rate)


def test_an_earlier_training_tells_the_rate(finished: Project) -> None:
    more = ["--set", "train.stop.updates=20"]
    training = planned(finished, *more)["training"]
    assert training["pace_by"].endswith("metrics.jsonl, validations and checkpoints included")
    assert (training["behind"], training["updates"]) == (8, 20)
    assert training["seconds_left"] == pytest.approx(12 * training["seconds_per_update"])
    others = {
        ("--set", "train.batch.tokens_per_update=300"): "was trained with another train.batch.tokens_per_update",
        ("--processes", "2"): "was trained elsewhere (1 × cpu)",
    }
    for options, reason in others.items():
        assert reason in planned(finished, *options)["training"]["pace_by"]
    finished.run.metrics.write_text("", encoding="utf-8")
    assert "has too few records" in planned(finished)["training"]["pace_by"]
    finished.run.card.write_text("{}", encoding="utf-8")
    assert "cannot be read" in planned(finished)["training"]["pace_by"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--measure", "--gpus", "2"], "--measure: measures the processor of this machine, but the plan is for GPUs"),
        (["--measure", "--tokens-per-second", "9"], "--measure and --tokens-per-second: either"),
        (["--gpus", "2", "--processes", "2"], "--gpus and --processes: the one asks for GPUs"),
        (["--gpus", "2", "--device", "cpu"], "--gpus 2: --device cpu computes on none; give --processes 2, or another"),
        (
            ["--gpus", "2", "--device", "cuda:1"],
            "--gpus 2: takes the first 2 GPUs, not --device cuda:1; leave",
        ),
        (
            ["--processes", "2", "--device", "cuda"],
            "--processes 2: asks for the processor, --device cuda does not",
        ),
        (["--device", "gpu"], 'device: \'gpu\' is none; choose "auto", "cpu", "cuda" or "cuda:N"'),
        (["--profile", "2"], "--plan and --profile: the one computes nothing"),
        (["--vocabulary", "99"], "--vocabulary 99: "),
        (["--tokens-per-second", "0"], "Invalid value for '--tokens-per-second'"),
        (["--set", "train.freeze=['nothing']"], "names no part of the model"),
        (["--device", "cpu", "--set", "train.precision=fp16"], '"fp16" is for a GPU'),
    ],
)
def test_options_that_are_wrong(prepared: Project, options: list[str], message: str) -> None:
    result = call(prepared, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_what_cannot_be_known_without_text(tmp_path: Path) -> None:
    (tmp_path / "nmtkit.toml").write_text(config_toml({"prepare.segmenter": {"kind": "characters"}}), encoding="utf-8")
    result = call(Project(tmp_path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "give --vocabulary N, or run `nmtkit prepare` first" in result.stderr
    result = call(Project(tmp_path), "--vocabulary", "50", "--measure", "--device", "cpu")
    assert result.exit_code == 2
    assert "--measure: needs text, but" in result.stderr


@pytest.mark.parametrize("option", [["--measure"], ["--vocabulary", "50"], ["--tokens-per-second", "5"]])
def test_options_that_go_with_a_plan_alone(prepared: Project, option: list[str]) -> None:
    result = CliRunner().invoke(app, ["train", "--config", str(prepared.file), *option])
    assert result.exit_code == 2
    assert f"{option[0]}: goes with --plan" in result.stderr


def test_processes_that_another_program_starts_are_counted(prepared: Project) -> None:
    member = Membership(0, 16, 0, 8, "host", 29_500, "torchrun")
    with patch("nmtkit.training.membership.membership", return_value=member):
        assert planned(prepared)["processes"] == 16


def test_there_must_be_an_output(prepared: Project) -> None:
    with patch("sys.stdout", None), pytest.raises(DataError, match="standard output is closed"):
        plan(prepared.config(), prepared.run, Log("quiet"), Given(Hardware("cpu")), as_json=False)


def test_a_model_too_large_for_any_gpu_and_a_training_without_an_end(
    big: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    said = json.loads(call(big, "--gpus", "1", "--json").stdout)
    said["memory"]["replicate"]["together"] = 10**12
    said["training"] |= {"updates": None, "limit": None, "epochs": None}
    show(said)
    report = capsys.readouterr().out
    assert re.search(r"^fits a GPU of +none$", report, re.M)
    assert re.search(r"^training +until the first limit of train\.stop, which cannot be foreseen$", report, re.M)
