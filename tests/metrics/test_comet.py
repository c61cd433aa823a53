"""COMET by another interpreter, with a stand-in for the package: the pipe, and all that can go wrong."""

import hashlib
import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from toy import comet

import nmtkit
from nmtkit.errors import ConfigError, DataError
from nmtkit.metrics import comet_worker
from nmtkit.metrics.comet import CometConfig

SOURCES = ["one two", "three", "four\u2028five"]
HYPOTHESES = ["eins zwei", "drei drei drei drei", 'vi"er\\']
REFERENCES = ["eins zwei", "drei vier", "fünf"]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    comet.install(tmp_path, monkeypatch)
    return tmp_path


def score(config: CometConfig, hypotheses=HYPOTHESES, *references):
    return config.build("de")(hypotheses, *(references or (REFERENCES,)), sources=SOURCES)


def test_the_score_is_the_mean_of_the_segments_in_points_of_a_hundred(installed):
    found = score(comet.model(installed))
    assert found.value == pytest.approx(100 * ((1 - 0.002) + (1 - 0.001) + (0 - 0.002)) / 3)
    assert (found.name, found.higher_is_better) == ("COMET", True)


def test_the_model_is_asked_for_each_line_with_its_source(installed):
    config = comet.model(installed).model_copy(update={"batch_size": 5, "gpus": 1})
    score(config)
    asked = comet.asked(installed)
    assert asked["samples"] == [
        {"src": source, "mt": hypothesis, "ref": reference}
        for source, hypothesis, reference in zip(SOURCES, HYPOTHESES, REFERENCES, strict=True)
    ]
    assert (asked["batch_size"], asked["gpus"]) == (5, 1)
    assert str(Path(comet_worker.__file__).parent) not in asked["path"], "else comet would be our own module"


def test_the_signature_names_model_and_package(installed):
    config = comet.model(installed)
    digest = hashlib.sha256(Path(config.model).read_bytes()).hexdigest()
    assert score(config).signature == (
        f"nrefs:1|model:toy-model|sha256:{digest[:16]}|blank:0|scale:100|comet:9.8.7|version:nmtkit-{nmtkit.__version__}"
    )


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("models--Unbabel--wmt22-comet-da/snapshots/0a1b/checkpoints/model.ckpt", "wmt22-comet-da"),
        ("wmt20-comet-da/checkpoints/model.ckpt", "wmt20-comet-da"),
        ("own|model 1.ckpt", "own_model_1"),
    ],
)
def test_the_name_of_a_model_comes_from_where_it_lies(installed, path, name):
    moved = installed / path
    moved.parent.mkdir(parents=True, exist_ok=True)
    config = comet.model(installed)
    moved.write_bytes(Path(config.model).read_bytes())
    assert f"|model:{name}|" in score(config.model_copy(update={"model": str(moved)})).signature


def test_of_several_references_a_line_has_the_mean(installed):
    config = comet.model(installed)
    one, other = score(config, HYPOTHESES, REFERENCES), score(config, HYPOTHESES, ["zwei", "nichts", "nichts"])
    both = score(config, HYPOTHESES, REFERENCES, ["zwei", "nichts", "nichts"])
    assert both.value == pytest.approx((one.value + other.value) / 2)
    assert both.signature.startswith("nrefs:2|")


@pytest.mark.parametrize(("model_says", "counts"), [(0.9, 0.0), (-0.4, -0.4)])
def test_a_blank_hypothesis_scores_at_most_zero(installed, model_says, counts):
    metric = comet.model(installed, blank=model_says).build("de")
    values = metric.sentence_values(metric.measure(["eins", " \t", ""], REFERENCES, sources=SOURCES))
    assert values[1:].tolist() == pytest.approx([100 * counts] * 2)


def test_old_releases_answer_with_a_pair(installed):
    assert score(comet.model(installed, old=True)).value == pytest.approx(score(comet.model(installed)).value)


# What can go wrong


def problem(config: CometConfig) -> str:
    with pytest.raises(ConfigError) as caught:
        config.build("de")
    (line,) = caught.value.problems
    return line


@pytest.mark.parametrize("key", ["python", "model"])
def test_what_is_not_there_is_named_with_the_remedy(installed, key):
    config = comet.model(installed)
    gone = problem(config.model_copy(update={key: "/nowhere/to/be/found"}))
    assert f"COMET: {key} = '/nowhere/to/be/found': no such file" in gone
    assert "pip install unbabel-comet" in gone
    assert "begin it with / or ~" in problem(config.model_copy(update={key: "comet/thing"}))


def test_an_environment_without_the_package_is_told(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert problem(comet.model(tmp_path)).endswith(
        f"{sys.executable} has no package comet; run: {sys.executable} -m pip install unbabel-comet"
    )


def test_an_interpreter_that_is_none_is_told(installed):
    no_python = installed / "python"
    no_python.write_text("#!/bin/sh\necho 'out of order' >&2\nexit 7\n")
    config = comet.model(installed).model_copy(update={"python": str(no_python)})
    assert "cannot be run: Permission denied" in problem(config)
    no_python.chmod(no_python.stat().st_mode | stat.S_IXUSR)
    assert "cannot be run: exit code 7: out of order" in problem(config)
    no_python.write_text("#!/bin/sh\necho hello\n")
    assert "cannot be run: no answer" in problem(config)


def test_sources_are_needed(installed):
    metric = comet.model(installed).build("de")
    assert metric.needs_sources
    with pytest.raises(ConfigError, match="--source FILE"):
        metric(HYPOTHESES, REFERENCES)


@pytest.mark.parametrize(
    ("manner", "said"),
    [
        ({"raises": "no such layer"}, r"COMET failed \(exit code 1: RuntimeError: no such layer\)"),
        ({"signal": 9}, r"COMET failed \(signal 9"),
        ({"leaves": True}, r"COMET failed \(no answer"),
        ({"scores": [0.5, 0.5]}, "COMET answered with 2 scores for 3 segments"),
        ({"scores": [0.5] * 4}, "COMET answered with 4 scores for 3 segments"),
        ({"scores": []}, "COMET answered with 0 scores for 3 segments"),
        ({"scores": [0.5, float("nan"), 0.5]}, "COMET answered with scores that are no numbers"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_failure_is_told_and_nothing_is_scored(installed, manner, said):
    with pytest.raises(DataError, match=said):
        score(comet.model(installed, **manner))


def test_a_damaged_checkpoint_is_told(installed):
    config = comet.model(installed)
    Path(config.model).write_text("[")
    with pytest.raises(DataError, match=r"COMET failed \(exit code 1: json.*check that .*model\.ckpt is a whole"):
        score(config)


def test_the_worker_answers_nothing_but_json(installed):
    """What the package prints goes to stderr, in order."""
    config = comet.model(installed)
    segments = json.dumps({"src": "a", "mt": "b", "ref": "b"}).encode() + b"\n"
    done = subprocess.run(
        [sys.executable, comet_worker.__file__, config.model, "8", "0"], input=segments, capture_output=True, check=True
    )
    assert json.loads(done.stdout) == {"scores": [0.999], "version": "9.8.7"}
    assert done.stderr.decode().split("\n")[:2] == ["as chatty as the real one", "also past Python's own stdout"]
