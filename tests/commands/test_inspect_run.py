"""`nmtkit inspect RUN [OTHER]`: a run card on the terminal, and in what two runs differ."""

import json
from pathlib import Path
from typing import Any

import pytest
from toy.cards import CARD, MACHINE, SESSION, SIGNATURE, run_card
from typer.testing import CliRunner

from nmtkit.cli import app
from nmtkit.commands.run_differences import differences
from nmtkit.commands.run_page import page
from nmtkit.run_folder import RunFolder, write_text
from nmtkit.training.card_files import card_text, write_card


def write(folder: Path, **parts: Any) -> Path:
    """Write a run folder that holds a card and scores, and nothing else."""
    run, content = RunFolder(folder), run_card(**parts)
    for test in content["tests"]:
        write_text(run.scores(test["name"], test["checkpoint"]), card_text(test))
    write_card(run, content, page)
    return folder


def inspect(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["inspect", *map(str, arguments)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


def test_a_card_on_the_terminal(tmp_path: Path) -> None:
    said = inspect(write(tmp_path / "run"))
    first, *rest = said.removesuffix("\n").split("\n")
    assert first == f"{tmp_path / 'run'}: en → de, finished at update 8, epoch 0.80 (train.stop.updates = 8)"
    sections = [line.split("  ")[0] for line in rest if not line.startswith(" ")]
    assert sections == ["scores", "training", "model", "data", "software", "machine", "sessions", "repeat"]
    for words in (
        "development set, average: BLEU 3.50, perplexity 40.00 (updates 4, 8)",
        "test: BLEU 4.50, chrF2 20.25 (average of updates 4, 8)",
        f"BLEU {SIGNATURE}",
        "160 pairs, 1,400 source and 1,500 target tokens seen, 0 updates not applied, precision fp32, seed 3",
        "25 min 00 s, 9,140 + 9,431 source + target tokens a second, in updates alone 10.0k + 10.5k",
        "energy, processor package-0: 0.0169 kWh",
        "transformer, 6,536 parameters (embeddings 1,536, encoder 2,000, decoder 3,000)",
        "toy: 196 of 200 pairs kept; dropped: ratio 3, max_pieces 1",
        "vocabulary: joint, bpe, 96 pieces, fingerprint ffffffffffff",
        "nmtkit 0.1.0, commit 0123456789ab",
        "torch 2.13.0+cpu",
        "A Processor (2 cores, 24 GiB), device cpu, 1 process, 2 threads, kernels",
        "2026-11-30 01:00:00 UTC, updates 0 to 8 in 25 min 07 s, ended by train.stop.updates = 8: "
        "nmtkit train --config 'a b.toml' --set train.seed=3",
        "nmtkit inspect . ../again",
    ):
        assert words in said


def test_what_deserves_a_look_is_said(tmp_path: Path) -> None:
    said = inspect(write(tmp_path / "run", training__skipped=2))
    assert "look at       2 updates not applied" in said


def test_a_name_that_would_move_what_stands_around_it_is_named(tmp_path: Path) -> None:
    assert "<U+202E>nmtkit" in inspect(write(tmp_path / "run", sessions__0__command="\u202enmtkit"))


def test_json_is_the_whole_card(tmp_path: Path) -> None:
    assert json.loads(inspect(write(tmp_path / "run"), "--json")) == CARD


def test_a_card_may_have_been_copied_from_elsewhere(tmp_path: Path) -> None:
    folder = write(tmp_path / "run")
    copy = (folder / "run.json").rename(tmp_path / "theirs.json")
    assert "test: BLEU 4.50" in inspect(copy)
    assert inspect(copy, copy).endswith("machine, training\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["{0}", "{0}", "{0}"], "3 runs: give one to see its card, or two to see in what they differ"),
        (["{0}", "--pair", "3"], "RUN, --pair N, --batch N or --line CORPUS:LINE: give one of them"),
        ([], "RUN, --pair N, --batch N or --line CORPUS:LINE: give one of them"),
        (["{0}", "--dev"], "--dev: goes with --pair only"),
        (["{0}", "--set", "train.seed=3"], "RUN: a run card holds its own settings; leave --config, --run and --set"),
    ],
)
def test_what_is_asked_for_is_one_thing(tmp_path: Path, arguments: list[str], says: str) -> None:
    folder = write(tmp_path / "run")
    assert says in inspect(*(each.format(folder) for each in arguments), code=2)


def test_a_folder_without_a_card_is_an_error(tmp_path: Path) -> None:
    assert f"{tmp_path}: has no run.json; give a run folder that nmtkit train wrote" in inspect(tmp_path, code=1)
    assert "damaged, changed by hand" in inspect(broken(write(tmp_path / "run")), tmp_path / "run", code=1)


def broken(folder: Path) -> Path:
    file = folder / "run.json"
    file.write_bytes(file.read_bytes().replace(b'"seed": 3', b'"seed": 4'))
    return folder


# In what two runs differ.

OTHER = {
    "config__train__seed": 4,
    "config__prepare__filters": [{"kind": "blank"}, {"kind": "ratio", "maximum": 3.0}],
    "config__corpus__folder": "elsewhere",
    "software__torch": "2.14.0",
    "data__corpora": [{"name": "toy", "read": 200, "kept": 150, "dropped": {"ratio": 50}}],
    "data__fingerprint": "9" * 64,
    "sessions": [{**SESSION, "machine": {**MACHINE, "threads": 1}, "began": "2026-12-01T00:00:00+00:00"}],
    "development__average__score": 3.0,
}


def test_equal_runs_differ_in_nothing() -> None:
    found = differences(CARD, run_card(config__corpus__folder="elsewhere", time__seconds=3.0))
    assert found.keys() == {
        "scores", "settings", "data", "vocabulary", "model", "software", "machine", "training"
    }  # fmt: skip
    assert not any(found.values())


def test_what_differs_is_listed_by_key(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one"), write(tmp_path / "other", **OTHER)
    lines = inspect(one, other).removesuffix("\n").split("\n")
    assert lines == [
        f"{one} | {other}",
        "scores",
        "  development set, average: score: 3.50 | 3.00 (-0.50)",
        "settings",
        "  prepare.filters[ratio].maximum: 9.00 | 3.00",
        "  train.seed: 3 | 4",
        "data",
        f"  fingerprint: {'d' * 12} | {'9' * 12}",
        "  corpora[toy].kept: 196 | 150",
        "  corpora[toy].dropped.ratio: 3 | 50",
        "  corpora[toy].dropped.max_pieces: 1 | –",
        "software",
        "  torch: 2.13.0+cpu | 2.14.0",
        "machine",
        "  threads: 2 | 1",
        "the same: vocabulary, model, training",
    ]


def test_differences_as_json(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one"), write(tmp_path / "other", **OTHER)
    found = json.loads(inspect(one, other, "--json"))
    assert found["runs"] == [str(one), str(other)]
    assert found["differences"]["data"]["fingerprint"] == ["d" * 64, "9" * 64]
    assert found["differences"]["training"] == {}


def test_scores_are_those_measured_last_and_compare_with_what_they_were_measured_on() -> None:
    test = CARD["tests"][0]
    earlier = {**test, "checkpoint": "00000008", "scored": "2026-11-01T00:00:00+00:00", "scores": []}
    other = {
        **test,
        "references_sha256": "c" * 64,
        "scores": [{**test["scores"][0], "value": 5.0, "signature": "tok:char"}, test["scores"][1]],
        "translate": {"search": {"kind": "beam", "beam": 8}, "batch_tokens": 4_096},
    }
    found = differences(CARD, run_card(tests=[other, earlier]))["scores"]
    assert [tuple(each) for each in found] == [
        ("test: BLEU", 4.5, 5.0),
        ("test: BLEU, signature", SIGNATURE, "tok:char"),
        ("test: references", "b" * 64, "c" * 64),
        ("test: translate.search.beam", 4, 8),
    ]


def test_a_metric_twice_is_told_apart() -> None:
    test = CARD["tests"][0]
    twice = {**test, "scores": [test["scores"][0], {**test["scores"][0], "value": 6.0, "signature": "case:lc"}]}
    other = {**twice, "scores": [{**score, "value": score["value"] + 1} for score in twice["scores"]]}
    found = differences(run_card(tests=[twice]), run_card(tests=[other]))["scores"]
    assert [tuple(each) for each in found] == [("test: BLEU", 4.5, 5.5), ("test: BLEU 2", 6.0, 7.0)]


def test_a_test_set_that_was_scored_in_one_run_only_takes_one_line(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one"), write(tmp_path / "other", tests=[])
    assert inspect(one, other).split("\n")[1:4] == [
        "scores",
        "  test: scored: yes | –",
        "the same: settings, data, vocabulary, model, software, machine, training",
    ]


def test_a_line_that_is_too_long_takes_three(tmp_path: Path) -> None:
    one = write(tmp_path / "one", config__train__note="x" * 60)
    other = write(tmp_path / "other", config__train__note="y" * 60)
    lines = inspect(one, other).split("\n")
    place = lines.index("  train.note:")
    assert lines[place + 1 : place + 3] == [f"    {'x' * 60}", f"    {'y' * 60}"]


def test_values_that_look_alike_are_shown_in_full(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one"), write(tmp_path / "other", development__average__perplexity=40.001)
    assert "  development set, average: perplexity: 40.0 | 40.001 (+0.00)" in inspect(one, other)
