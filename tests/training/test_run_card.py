"""The run card while training goes on: what it holds, how sessions add up, and that nothing in it ends a training."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from toy.cards import CARD, SESSION, SIGNATURE, run_card

from nmtkit.data.manifest import Manifest, Stage
from nmtkit.errors import CheckpointError
from nmtkit.log import Log, MetricsWriter
from nmtkit.run_folder import RunFolder, write_text
from nmtkit.training.card_files import card_in, card_text, lasting, measured_scores, read_card, write_card
from nmtkit.training.energy import Counter, EnergyMeter, Found
from nmtkit.training.run_card import RunCard, data_facts
from nmtkit.training.state import TrainingState

FACTS = {key: CARD[key] for key in ("software", "config", "data", "vocabulary", "model")}
FACTS["training"] = {"precision": "fp32"}


def page(content: Mapping[str, Any], picture: bytes) -> str:
    return f"{content['training']['updates']} {picture!r}"


def open_card(
    run: RunFolder, *, joules: float = 2.0, config: Mapping[str, Any] | None = None, log: Log | None = None
) -> RunCard:
    """Return a card over a counter that has counted so many joules more each time that it is read."""
    count = iter(range(1_000))
    meter = EnergyMeter(Found([Counter("processor", lambda: next(count) * int(joules * 1e6))], ["GPU: none"]))
    session = {key: SESSION[key] for key in ("command", "folder", "machine")}
    facts = {**FACTS, "config": config or FACTS["config"]}
    return RunCard(run, facts, session, meter=meter, page=page, log=log or Log("quiet"))


def state(update: int, **values: Any) -> TrainingState:
    return TrainingState(
        update=update, source_tokens=100 * update, target_tokens=110 * update, seconds=10.0 * update, **values
    )


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "run")


def record(run: RunFolder, *records: dict[str, Any]) -> None:
    writer = MetricsWriter(run.metrics)
    for each in records:
        writer.write(each)
    writer.close()


def validation(update: int, score: float, *, best: bool) -> dict[str, Any]:
    scored = {"score": score, "metric": "BLEU", "signature": SIGNATURE}
    return {"kind": "validation", "update": update, "loss": 1.0, "perplexity": 2.7, **scored, "best": best}


def test_a_card_stands_from_the_beginning_and_follows(run: RunFolder) -> None:
    card = open_card(run)
    with card.session(state(0)):
        begun = read_card(run.path)
        assert begun["training"]["updates"] == 0
        assert begun["development"] == {}
        assert begun["time"]["source_tokens_per_second"] is None
        assert begun["sessions"][0]["ending"] is None
        record(run, validation(4, 3.0, best=True), validation(8, 2.0, best=False))
        run.learning_curve.write_bytes(b"PNG")
        card.write(state(8))
        assert run.card_page.read_text() == "8 b'PNG'"
    found = read_card(run.path)
    assert {key: found[key] for key in FACTS if key != "training"} == {
        key: FACTS[key] for key in FACTS if key != "training"
    }
    assert found["training"]["precision"] == "fp32"
    assert (found["training"]["source_tokens"], found["training"]["target_tokens"]) == (800, 880)
    assert found["training"]["ended"] is None
    assert (found["time"]["seconds"], found["time"]["target_tokens_per_second"]) == (80.0, 11.0)
    assert found["development"]["best"] == {
        "update": 4, "perplexity": 2.7, "metric": "BLEU", "score": 3.0, "signature": SIGNATURE
    }  # fmt: skip
    assert found["development"]["last"]["update"] == 8
    assert "average" not in found["development"]


def test_the_limit_that_ended_training_and_the_average_are_on_it(run: RunFolder) -> None:
    card = open_card(run)
    with card.session(state(0)):
        average = {"kind": "average", "update": 4, "updates": [2, 4], "perplexity": 2.5, "seconds": 1.0}
        record(run, average)
        card.write(state(8), "train.stop.updates = 8")
        assert "average" not in read_card(run.path)["development"]  # it was overtaken
        record(run, {**average, "update": 8, "updates": [4, 8]})
        card.write(state(8), "train.stop.updates = 8")
    found = read_card(run.path)
    assert found["development"]["average"] == {"update": 8, "updates": [4, 8], "perplexity": 2.5}
    assert found["training"]["ended"] == "train.stop.updates = 8"
    assert found["sessions"][-1]["ending"] == "train.stop.updates = 8"


def test_the_rate_of_updates_is_that_of_the_records(run: RunFolder) -> None:
    rates = (("a", None), ("b", 100.0), ("c", 300.0), ("d", 200.0))
    record(
        run,
        *(
            {"kind": "train", "update": n, "source_tokens_per_second": rate, "target_tokens_per_second": rate}
            for n, (_, rate) in enumerate(rates, 1)
        ),
    )
    with open_card(run).session(state(4)):
        assert read_card(run.path)["time"]["source_tokens_per_second_of_updates"] == 200.0


def test_sessions_add_up(run: RunFolder) -> None:
    """The second goes on from a checkpoint behind which the first had come further when it was killed."""
    first = open_card(run)
    with first.session(state(0)):
        first.write(state(5))
    second = open_card(run, joules=3.0)
    with second.session(state(4)):
        second.write(state(8))
    found = read_card(run.path)
    assert [(each["from_update"], each["to_update"]) for each in found["sessions"]] == [(0, 5), (4, 8)]
    assert [each["energy"]["joules"]["processor"] for each in found["sessions"]] == [4.0, 6.0]
    assert found["energy"] == {"joules": {"processor": 10.0}, "unread": ["GPU: none"]}
    assert found["sessions"][0]["command"] == SESSION["command"]


def test_a_mishap_is_named(run: RunFolder) -> None:
    def stopped() -> None:
        card = open_card(run)
        with card.session(state(0)):
            card.write(state(3))
            raise CheckpointError("stopped by SIGTERM behind update 3; the same\ncommand")

    with pytest.raises(CheckpointError):
        stopped()
    (session,) = read_card(run.path)["sessions"]
    assert session["ending"] == "stopped by SIGTERM behind update 3; the same"
    assert session["to_update"] == 3
    assert read_card(run.path)["training"]["ended"] is None


def test_changed_settings_are_noted(run: RunFolder) -> None:
    with open_card(run).session(state(0)):
        pass
    other = {**FACTS["config"], "train": {"seed": 3, "label_smoothing": 0.2}}
    with open_card(run, config=other).session(state(4)):
        pass
    assert [each["changed"] for each in read_card(run.path)["sessions"]] == [
        [],
        ["train.label_smoothing: 0.1 in the run, now 0.2"],
    ]


@pytest.mark.parametrize("same", [True, False])
def test_a_training_from_the_beginning_keeps_the_sessions_of_the_same_settings(run: RunFolder, same: bool) -> None:
    """Killed before its first checkpoint, a training begins anew; another one in its place is another."""
    with open_card(run).session(state(0)):
        pass
    config = FACTS["config"] if same else {**FACTS["config"], "train": {"seed": 4}}
    with open_card(run, config=config).session(state(0)):
        pass
    assert len(read_card(run.path)["sessions"]) == (2 if same else 1)


def test_equal_trainings_have_equal_cards_but_for_what_passes(run: RunFolder, tmp_path: Path) -> None:
    interrupted, straight = run, RunFolder(tmp_path / "straight")
    for folder, stops in ((interrupted, (3, 8)), (straight, (8,))):
        begin = 0
        for stop in stops:
            card = open_card(folder)
            with card.session(state(begin)):
                card.write(state(stop), "train.stop.updates = 8" if stop == 8 else None)
            begin = stop
    cards = [read_card(each.path) for each in (interrupted, straight)]
    assert cards[0] != cards[1]
    assert lasting(cards[0]) == lasting(cards[1])


def test_a_card_that_cannot_be_written_is_a_warning(
    run: RunFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    card = open_card(run)

    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device", str(run.card))

    with card.session(state(0)):
        monkeypatch.setattr("nmtkit.training.card_files.write_text", no_room)
        card.write(state(4))
        card.write(state(8))  # the same is not said again
    assert read_card(run.path)["training"]["updates"] == 0  # the one before stays
    said = capsys.readouterr().err
    assert said.count("warning: ") == 1
    assert f"warning: {run.card} could not be written: [Errno 28] No space left on device" in said


def test_the_last_of_a_disk_is_left_to_checkpoints(
    run: RunFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmtkit.training.run_card.ROOM", 2**60)
    with open_card(run).session(state(0)):
        pass
    assert not run.card.exists()
    assert "run.json could not be written: less than" in capsys.readouterr().err


def test_a_page_that_cannot_be_made_is_a_warning(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object) -> str:
        raise KeyError("new")

    meter = EnergyMeter(Found([], []))
    with RunCard(run, FACTS, dict(SESSION), meter=meter, page=broken, log=Log("quiet")).session(state(0)):
        pass
    assert "run.json could not be written: 'new'" in capsys.readouterr().err


def test_a_damaged_card_is_written_anew_with_a_warning(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    with open_card(run).session(state(0)):
        pass
    run.card.write_bytes(run.card.read_bytes().replace(b'"seed": 3', b'"seed": 4'))
    with pytest.raises(CheckpointError, match=r"run\.json: no run card that this version can read: damaged, changed"):
        read_card(run.path)
    with open_card(run).session(state(4)):
        pass
    assert "damaged or changed, so what it says of earlier sessions is lost" in capsys.readouterr().err
    assert len(read_card(run.path)["sessions"]) == 1


def test_what_was_sealed_is_read_back() -> None:
    content = run_card()
    data = card_text(content).encode()
    assert card_in(data) == content
    assert json.loads(data)["checksum"]
    assert card_in(data.replace(b"transformer", b"transformed")) is None
    assert card_in(data.replace(b'"format": 1', b'"format": 2')) is None
    for broken in (data[:-9], b"", b"[]", b"3", b"null", b"[" * 5_000 + b"]" * 5_000, b"\xff"):
        assert card_in(broken) is None


def test_scores_are_those_beside_the_translations(run: RunFolder) -> None:
    test = CARD["tests"][0]
    write_card(run, run_card(tests=[]), page)
    assert read_card(run.path)["tests"] == []
    write_text(run.scores("test", "average"), card_text(test))
    write_text(run.scores("a/b", "00000008"), card_text({**test, "name": "a/b"}))
    write_text(run.scores("broken", "average"), card_text(test)[:-30])
    run.translation("test", "average").write_text("eine Zeile\n")
    assert [each["name"] for each in measured_scores(run)] == ["a/b", "test"]
    assert read_card(run.path)["tests"] == measured_scores(run)
    assert read_card(run.card)["tests"] == []  # the file itself, which may have been copied to another machine


@pytest.mark.parametrize(
    ("place", "says"),
    [("nowhere", "nowhere: no such folder or file; give a run folder"), (".", "has no run.json; give a run folder")],
)
def test_where_there_is_no_card(tmp_path: Path, place: str, says: str) -> None:
    with pytest.raises(CheckpointError, match=says):
        read_card(tmp_path / place)


def test_what_was_dropped_is_counted_by_filter() -> None:
    drops = {"blank": {"count": 0, "first_lines": []}, "ratio": {"count": 3, "first_lines": [4, 5, 6]}}
    text = {"corpora": [{"name": "toy", "read": 20, "kept": 17, "drops": drops}], "held_out": []}
    side = {"pieces": 90, "unknown": 1}
    train = {"pairs": 15, "source": side, "target": side, "too_long": [{"count": 2, "first_lines": [7, 8]}]}
    vocabulary = {"kind": "bpe", "joint": False, **{s: {"size": 9, "fingerprint": s} for s in ("source", "target")}}
    reports = {"text": text, "train": train, "vocabulary": vocabulary}
    facts = {"corpus toy, source": "train.en, 9 bytes", "train.seed": "1", "version of numpy": "2.4"}
    stages = {name: Stage("key", report=report) for name, report in reports.items()}
    found = data_facts(Manifest(facts, stages, complete=True))
    assert found["data"]["corpora"] == [
        {"name": "toy", "read": 20, "kept": 15, "dropped": {"ratio": 3, "max_pieces": 2}}
    ]
    assert found["data"]["files"] == {"toy, source": "train.en, 9 bytes"}
    assert found["data"]["prepared_with"] == {"numpy": "2.4"}
    assert found["vocabulary"]["target"] == {"size": 9, "fingerprint": "target"}
