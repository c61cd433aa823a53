"""`nmtkit train --profile`: what it prints, what it refuses, and that the run stays as it is."""

import json
import re
from collections.abc import Iterator
from unittest.mock import patch

import pytest
import torch
from toy.projects import Project
from typer.testing import CliRunner, Result

from nmtkit.cli import app
from nmtkit.commands.profile_report import facts, show
from nmtkit.data.batching import PlanSummary
from nmtkit.training.accounting import OTHER, Account, Share
from nmtkit.training.profiling import Profile

RNN = "model={kind='rnn', width=16, encoder_layers=1, decoder_layers=1, input_feeding=false}"


@pytest.fixture(autouse=True)
def _quick_peak() -> Iterator[None]:
    with patch("nmtkit.training.profiling.matrix_peak", return_value=2e9):
        yield


def profile(project: Project, *options: str) -> Result:
    place = ["--config", str(project.file), "--run", str(project.run.path), "--device", "cpu"]
    small = ["--set", "train.batch.tokens_per_update=66", "--set", "train.batch.tokens_per_tensor=66"]
    return CliRunner().invoke(app, ["train", *place, *small, *options])


def test_a_profile_is_printed_and_nothing_is_written(prepared: Project) -> None:
    before = prepared.snapshot()
    result = profile(prepared, "--profile", "2")
    assert result.exit_code == 0
    assert prepared.snapshot() == before
    assert "nothing is written into" in result.stderr
    assert "model: transformer of 7,488 parameters" in result.stderr
    report = result.stdout
    assert re.search(r"^computed +transformer on cpu in fp32, 1 thread, 2 updates$", report, re.M)
    assert re.search(r"^an update +\d+ source \+ \d+ target tokens, \d\.\d tensors, padding \d+\.\d%$", report, re.M)
    assert re.search(r"^time +[\d.,]+ ms an update; under the profiler [\d.,]+ ms, [+-][\d.]+%$", report, re.M)
    assert re.search(r"^tokens a second +[\d,]+ source, [\d,]+ target; under the profiler [\d,]+ target$", report, re.M)
    assert re.search(r"^peak memory +\d+\.\d\d GB$", report, re.M)
    assert re.search(r"^model FLOPs +[\d.]+ [MG]FLOP an update, [\d.]+ [MG]FLOP/s$", report, re.M)
    assert re.search(r"^matrix peak +2 GFLOP/s, by large products in fp32 just now$", report, re.M)
    assert re.search(r"^utilisation +\d+\.\d% of that peak$", report, re.M)
    for part in ("decoder cross-attention", "encoder feed-forward"):
        assert re.search(rf"^{part}( +[\d.,]+){{3}} +\d+\.\d%$", report, re.M)
    for phase in ("waiting for data", "optimizer", "other", "together"):
        assert re.search(rf"^{phase} +[\d.,]+ +\d+\.\d%$", report, re.M)
    assert not re.search(r"[ \x1b]$", report, re.M)
    assert "\x1b" not in report


def test_json_has_the_same_and_adds_up_whatever_the_run_has_trained(finished: Project) -> None:
    before = finished.snapshot()
    result = profile(finished, "--profile", "1", "--json", "--quiet", "--set", RNN)
    assert (result.exit_code, result.stderr) == (0, "")
    assert finished.snapshot() == before
    said = json.loads(result.stdout)
    assert (said["model"], said["device"], said["precision"], said["updates"]) == ("rnn", "cpu", "fp32", 1)
    assert said["source_tokens_per_second"] == pytest.approx(said["source_tokens"] / said["seconds"])
    assert said["target_tokens_per_second"] == pytest.approx(said["target_tokens"] / said["seconds"])
    assert said["model_flop_utilisation"] == pytest.approx(said["flops"] / said["seconds"] / 2e9)
    assert sum(said["phases"].values()) == pytest.approx(said["seconds_profiled"], rel=1e-6)
    for phase in ("forward", "backward"):
        assert sum(part[phase] for part in said["parts"]) == pytest.approx(said["phases"][phase])
    assert {"decoder attention", "encoder forwards"} <= {part["part"] for part in said["parts"]}
    assert len(said["operators"]) == 10
    seconds = [operator["seconds"] for operator in said["operators"]]
    assert seconds == sorted(seconds, reverse=True)


def test_it_is_refused_as_a_training_would_be(prepared: Project, fresh: Project) -> None:
    result = profile(prepared, "--profile", "1", "--set", "prepare.max_pieces=50")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "was prepared with other settings" in result.stderr
    fresh.run.manifest.unlink()
    assert "run `nmtkit prepare`" in profile(fresh, "--profile", "1").stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--json"], "--json: goes with --profile N or --plan; a training writes its figures to RUN/metrics.jsonl"),
        (["--profile", "0"], "Invalid value for '--profile'"),
        (["--profile", "1", "--device", "cuda:99"], "'cuda:99' was asked for, but "),
    ],
)
def test_options_that_are_wrong(prepared: Project, options: list[str], message: str) -> None:
    result = profile(prepared, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_too_little_memory_of_a_gpu_is_no_bug(prepared: Project) -> None:
    error = torch.cuda.OutOfMemoryError("CUDA out of memory. Tried\nmore")
    with patch("nmtkit.commands.train_profile.profile_updates", side_effect=error):
        result = profile(prepared, "--profile", "1")
    assert result.exit_code == 1
    assert (
        "memory is too small (CUDA out of memory. Tried); lower train.batch.tokens_per_tensor (now 66;" in result.stderr
    )


def test_there_must_be_an_output(prepared: Project) -> None:
    from nmtkit.commands.train_profile import profile as run
    from nmtkit.errors import DataError
    from nmtkit.log import Log

    with patch("sys.stdout", None), pytest.raises(DataError, match="standard output is closed"):
        run(prepared.config(), prepared.run, Log("quiet"), updates=1, device="cpu", as_json=False)


def gpu_profile() -> Profile:
    account = Account(kernels=True, seconds=0.5, waiting=0.006)
    parts = {"decoder attention": (0.04, 0.06), "dust": (0.0001, 0.0), "between the parts": (0.02, 0.03)}
    for name, (forward, backward) in parts.items():
        account.shares[Share("forward", name)] = forward
        account.shares[Share("backward", name)] = backward
    account.shares[OTHER] = 0.01
    account.operators["aten::mm", ((None, 8), (8, 16))].seconds = 0.1
    account.operators["aten::mm", ((None, 8), (8, 16))].flops = 5 * 10**9
    return Profile(PlanSummary(10, 2, 4, 100, 110, 120, 130), 0.4, account, 3 * 10**15, 9e15, None)


def test_the_report_of_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    said = facts(gpu_profile())
    assert said["phases"]["idle"] == pytest.approx((0.4 - 0.1601) / 2)
    assert sum(said["phases"].values()) == pytest.approx(said["seconds"])
    assert [part["part"] for part in said["parts"]] == ["decoder attention", "dust", "between the parts"]
    show({"model": "rnn", "device": "cuda", "precision": "bf16", "threads": 4, **said})
    report = capsys.readouterr().out
    assert "rnn on cuda in bf16, 2 updates\n" in report
    assert "peak memory      unknown\n" in report
    assert "model FLOPs      1.5 PFLOP an update, 7.5 PFLOP/s\n" in report
    assert "utilisation      83.3% of that peak\n" in report
    assert re.search(r"^decoder attention +20\.0 +30\.0 +50\.0 +25\.0%$", report, re.M)
    assert re.search(r"^smaller parts +0\.1 +0\.0 +0\.1 +0\.0%$", report, re.M)
    assert re.search(r"^idle +1(19|20)\.\d +60\.0%$", report, re.M)
    assert re.search(r"^mm +0\.0 +50\.0 +25\.0% +50\.0 +·×8 8×16$", report, re.M)
    assert "The processor waited 3.0 ms for data." in report
