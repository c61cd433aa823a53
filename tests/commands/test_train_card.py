"""The run card that `nmtkit train` keeps and `nmtkit score` adds to, over real trainings."""

import hashlib
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import pytest
import torch
from toy.cards import CARD
from toy.projects import Project
from typer.testing import CliRunner

import nmtkit
from nmtkit.cli import app
from nmtkit.commands.run_repeat import repeating
from nmtkit.commands.score import score_run
from nmtkit.commands.score_output import Output
from nmtkit.commands.train_card import command_line
from nmtkit.data.store import PairStore
from nmtkit.errors import NmtkitError
from nmtkit.log import Log
from nmtkit.run_lock import RunLock
from nmtkit.training.card_files import lasting, read_card
from nmtkit.training.trainer import Trainer


@pytest.fixture(autouse=True)
def _no_picture(request: pytest.FixtureRequest) -> Iterator[None]:
    if "finished" in request.fixturenames:
        request.getfixturevalue("trained")  # with its picture
    with patch("nmtkit.training.reporting.draw_learning_curve"):
        yield


def card_of(project: Project) -> dict[str, Any]:
    return read_card(project.run.path)


def test_a_finished_run_has_a_card_and_a_page(trained: Project) -> None:
    card = card_of(trained)
    assert card["training"]["ended"] == "train.stop.updates = 8"
    assert (card["training"]["updates"], card["training"]["precision"]) == (8, "fp32")
    assert card["config"]["train"]["seed"] == trained.config().train.seed
    assert card["software"]["torch"] == torch.__version__
    (session,) = card["sessions"]
    assert (session["from_update"], session["to_update"]) == (0, 8)
    assert session["machine"]["device"] == "cpu"
    assert session["command"] is None  # a test called it
    page = ElementTree.fromstring(trained.run.card_page.read_bytes())
    assert len(list(page.iter("img"))) == 1
    assert "finished at update 8, epoch 0.80 (train.stop.updates = 8)" in "".join(page.itertext())


def test_a_card_made_by_hand_for_tests_has_the_parts_of_a_real_one(finished: Project) -> None:
    score(finished)
    card = card_of(finished)
    for part in ("software", "data", "vocabulary", "model", "training", "development", "time", "energy"):
        assert card[part].keys() == CARD[part].keys(), part
    assert card.keys() == CARD.keys()
    assert card["sessions"][0].keys() == CARD["sessions"][0].keys()
    assert card["sessions"][0]["machine"].keys() == CARD["sessions"][0]["machine"].keys()
    assert card["tests"][0].keys() == CARD["tests"][0].keys()
    assert card["development"]["average"].keys() == CARD["development"]["average"].keys()


def test_development_scores_are_those_of_the_records(trained: Project) -> None:
    development = card_of(trained)["development"]
    validations, (average,) = trained.records("validation"), trained.records("average")
    best = [record for record in validations if record["best"]][-1]
    for what, record in (("best", best), ("last", validations[-1]), ("average", average)):
        for key in ("update", "perplexity", "score", "signature"):
            assert development[what][key] == record[key], what
    assert development["average"]["updates"] == [4, 8]


def test_an_epoch_has_seen_every_token(fresh: Project) -> None:
    fresh.train("train.stop={updates=0, epochs=1}", "train.validation.every=0", "train.checkpoints.average=0")
    training, store = card_of(fresh)["training"], PairStore.open(fresh.run.data, "train")
    assert training["pairs"] == len(store)
    assert training["source_tokens"] == int(store.source.lengths.sum()) + len(store)
    assert training["target_tokens"] == int(store.target.lengths.sum()) + len(store)
    assert training["epochs"] == 1


def test_what_was_prepared_is_on_it(trained: Project) -> None:
    card = card_of(trained)
    prepared = json.loads(trained.run.report.read_bytes())
    (corpus,), (expected,) = card["data"]["corpora"], prepared["corpora"]
    assert (corpus["name"], corpus["read"], corpus["kept"]) == ("toy", expected["read"], expected["kept"])
    assert sum(corpus["dropped"].values()) == corpus["read"] - corpus["kept"]
    assert card["data"]["fingerprint"] == prepared["fingerprint"]
    assert card["vocabulary"]["source"]["size"] == prepared["vocabulary"]["source"]["size"]
    assert card["data"]["pairs"] == prepared["train"]["pairs"]
    parameters = sum(tensor.numel() for tensor in trained.weights(8).values())
    assert sum(card["model"]["parameters"].values()) == parameters


def test_an_interrupted_run_has_the_card_of_a_straight_one_but_for_its_sessions(
    fresh: Project, trained: Project
) -> None:
    fresh.train("train.stop.updates=4")
    half = card_of(fresh)
    assert (half["training"]["updates"], half["training"]["ended"]) == (4, "train.stop.updates = 4")
    fresh.train()
    cards = [lasting(card_of(project)) for project in (fresh, trained)]
    for card, project in zip(cards, (fresh, trained), strict=True):
        assert Path(card["config"]["corpus"].pop("folder")).samefile(project.folder)
    assert cards[0] == cards[1]
    sessions = card_of(fresh)["sessions"]
    assert [(each["from_update"], each["to_update"]) for each in sessions] == [(0, 4), (4, 8)]
    assert sessions[1]["changed"] == ["train.stop.updates: 4 in the run, now 8"]


def test_a_run_without_average_is_finished_on_its_card(fresh: Project) -> None:
    fresh.train("train.checkpoints.average=0")
    assert card_of(fresh)["training"]["ended"] == "train.stop.updates = 8"


def test_the_card_is_never_older_than_the_newest_checkpoint(fresh: Project) -> None:
    """Killed behind the last checkpoint, a run without average counts as finished, and nothing is written any more."""

    class Died(BaseException):
        pass

    with patch("nmtkit.training.trainer.prune", side_effect=Died), pytest.raises(Died):
        fresh.train("train.checkpoints={every=8, average=0}", "train.validation.every=8")
    assert fresh.updates() == [8]
    card = card_of(fresh)
    assert (card["training"]["updates"], card["training"]["ended"]) == (8, "train.stop.updates = 8")
    assert card["development"]["last"]["update"] == 8


def test_what_ended_a_training_early_is_on_its_card(fresh: Project) -> None:
    after_update = Trainer._after_update

    def fail(trainer: Trainer) -> str | None:
        if trainer.state.update == 3:
            raise NmtkitError("update 3: something is wrong; mend it")
        return after_update(trainer)

    with patch.object(Trainer, "_after_update", fail), pytest.raises(NmtkitError):
        fresh.train("train.checkpoints.every=2")
    (session,) = card_of(fresh)["sessions"]
    assert session["ending"] == "update 3: something is wrong; mend it"
    fresh.train("train.checkpoints.every=2")
    assert [each["ending"] for each in card_of(fresh)["sessions"]] == [session["ending"], "train.stop.updates = 8"]


@pytest.mark.parametrize("name", ["write_text", "measured_scores"])
def test_a_card_that_fails_ends_no_training(fresh: Project, name: str) -> None:
    module = "card_files" if name == "write_text" else "run_card"
    with patch(f"nmtkit.training.{module}.{name}", side_effect=OSError(28, "No space left on device")):
        fresh.train()
    assert fresh.updates() == [4, 8]
    assert "run.json could not be written: [Errno 28] No space left on device" in fresh.run.log.read_text()


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["/somewhere/bin/nmtkit", "train", "--set", "a b=3"], "nmtkit train --set 'a b=3'"),
        (["/somewhere/nmtkit/__main__.py", "train"], "nmtkit train"),
        (["nmtkit.exe", "train"], "nmtkit train"),
        (["/somewhere/pytest", "-q"], None),
        (["/somewhere/other/__main__.py"], None),
        ([""], None),
        ([], None),
    ],
)
def test_the_command_is_that_of_nmtkit(arguments: list[str], command: str | None) -> None:
    assert command_line(arguments) == command


def test_a_command_can_be_typed_again() -> None:
    given = ["train", "--config", "a 'b'.toml", "--set", 'corpus.dev={name="x"}', "caf\u00e9"]
    said = command_line(["nmtkit", *given])
    assert said is not None
    assert shlex.split(said) == ["nmtkit", *given]
    assert command_line(["nmtkit", "\udcff"]) == "nmtkit '\\xff'"  # a byte that is no UTF-8


@pytest.mark.slow
def test_the_commands_of_a_card_repeat_the_run(finished: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    score(finished)
    monkeypatch.chdir(finished.run.path)
    commands = [
        line for line in repeating(card_of(finished)) if " nmtkit " in f" {line}" and not line.startswith("pip ")
    ]
    assert len(commands) == 4
    for command in commands:
        words = shlex.split(command, comments=True)
        result = CliRunner().invoke(app, words[words.index("nmtkit") + 1 :])
        assert result.exit_code == 0, result.output
    assert result.output == (
        ". | ../again\nthe same: scores, settings, data, vocabulary, model, software, machine, training\n"
    )


# Scores.


def score(project: Project, *settings: str) -> None:
    score_run(project.run, project.config(*settings), project.folder, Log("quiet"), device="cpu", output=Output("json"))


def test_scores_are_put_on_the_card(finished: Project, capsys: pytest.CaptureFixture[str]) -> None:
    before = card_of(finished)
    assert before["tests"] == []
    score(finished, "translate.search.beam=3")
    shown = json.loads(capsys.readouterr().out)
    (test,) = card_of(finished)["tests"]
    assert test["scores"] == shown["sets"][0]["systems"][0]["scores"]
    assert (test["name"], test["checkpoint"], test["lines"]) == ("test", shown["checkpoint"], 20)
    assert test["updates"] == ([4, 8] if test["checkpoint"] == "average" else [int(test["checkpoint"])])
    assert test["translate"]["search"]["beam"] == 3
    assert test["nmtkit"] == nmtkit.__version__
    for file, what in ((finished.run.translation("test", test["checkpoint"]), "hypotheses"),
                       (finished.folder / "test.de", "references")):  # fmt: skip
        assert test[f"{what}_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert {key: value for key, value in card_of(finished).items() if key != "tests"} == {
        key: value for key, value in before.items() if key != "tests"
    }
    assert test["hypotheses_sha256"] in finished.run.card_page.read_text()


def test_each_checkpoint_keeps_its_scores(finished: Project) -> None:
    for checkpoint in ("4", "8", "4"):
        score(finished, f"translate.checkpoint='{checkpoint}'")
    assert [test["checkpoint"] for test in card_of(finished)["tests"]] == ["00000004", "00000008"]


def test_scores_stay_when_training_goes_on(finished: Project) -> None:
    score(finished, "translate.checkpoint='8'")
    scores = card_of(finished)["tests"]
    finished.train("train.stop.updates=12")
    card = json.loads(finished.run.card.read_bytes())
    assert (card["training"]["updates"], card["tests"]) == (12, scores)


def test_a_training_at_work_writes_the_card_itself(finished: Project) -> None:
    before = finished.run.card.read_bytes()
    with RunLock(finished.run.lock):
        score(finished)
    assert finished.run.card.read_bytes() == before
    assert len(card_of(finished)["tests"]) == 1  # the scores are there, and shown


def test_a_run_without_card_is_scored_all_the_same(finished: Project) -> None:
    finished.run.card.unlink()
    finished.run.card_page.unlink()
    score(finished)
    assert not finished.run.card.exists()


@pytest.mark.parametrize("what", ["a damaged card", "no room"])
def test_what_fails_about_the_card_is_a_warning(
    finished: Project, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if what == "no room":
        with patch("nmtkit.commands.score_records.write_text", side_effect=OSError(28, "No space left on device")):
            score(finished)
    else:
        finished.run.card.write_bytes(b"{}")
        score(finished)
    out, err = capsys.readouterr()
    assert json.loads(out)["sets"]
    says = {
        "no room": "test.average.json could not be written: [Errno 28] No space left on device",
        "a damaged card": "warning: the scores are not on the run card: ",
    }[what]
    assert says.replace("average", json.loads(out)["checkpoint"]) in err
