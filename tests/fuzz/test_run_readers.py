"""Files of a run are read as they were written; damaged ones are told, never half believed."""

import json
import math
import warnings
from dataclasses import asdict
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from toy.projects import Project
from toy.training import ORIGIN

from fuzz.cases import each_tier, try_cases
from fuzz.damage import Damage, altered_json, damages
from fuzz.messages import check_message
from fuzz.text import documents
from nmtkit.commands.prepare import prepare
from nmtkit.commands.train_data import open_data
from nmtkit.data.manifest import Manifest, load_manifest
from nmtkit.errors import CheckpointError, NmtkitError
from nmtkit.log import Log, duration
from nmtkit.metrics.base import Score
from nmtkit.run_lock import RunLock
from nmtkit.training.checkpoints import average_is_current, best_first, check_vocabularies, read_state
from nmtkit.training.curve import draw_learning_curve
from nmtkit.training.records import drop_later_records
from nmtkit.training.state import TrainingState
from nmtkit.training.tensor_folder import STATE, WEIGHTS

DEEP = b"[" * 5_000 + b"]" * 5_000


@each_tier
def test_a_manifest(tier: str, fresh: Project) -> None:
    """What was not written by `prepare` just so is as good as no manifest, so all is prepared again."""
    file, config = fresh.run.manifest, fresh.config()
    written = file.read_bytes()
    whole = load_manifest(file)
    content = json.loads(written)

    @given(content=st.one_of(altered_json(content), damages().map(lambda damage: damage(written)), documents(3)))
    @example(content=written)
    @example(content=DEEP)
    @example(content=json.dumps({**content, "stages": {}}).encode())  # complete, but of nothing
    @example(content=json.dumps({**content, "facts": {}, "stages": {"text": {"key": 3, "files": 3}}}).encode())
    def check(content: bytes) -> None:
        file.write_bytes(content)
        found = load_manifest(file)
        assert found in (whole, Manifest())
        try:
            data = open_data(config, fresh.folder, fresh.run)
        except NmtkitError as error:
            check_message(error, fresh.run.data, "run `nmtkit prepare`")
            assert found != whole
        else:
            assert found == whole
            assert data.fingerprint == whole.stages["train"].digest

    try_cases(check, tier)
    prepare(config, fresh.folder, fresh.run, Log("quiet"))
    assert load_manifest(file) == whole


STATE_CONTENT = {
    "state": TrainingState(
        update=8, pairs=90, seconds=1.5, validated=8, score=Score("BLEU", 1.5, "v", True), best_update=8
    ).to_json(),
    "origin": asdict(ORIGIN),
    "regular": True,
    "made_at": 8,
}


@each_tier
def test_the_state_of_a_checkpoint(tier: str, finished: Project) -> None:
    """The checkpoint is left out, or what it says can be counted, compared and written."""
    folder, average = finished.run.checkpoints / "00000008", finished.run.average

    @given(content=st.one_of(altered_json(STATE_CONTENT), st.builds(apply, damages()), documents(3)))
    @example(content=json.dumps(STATE_CONTENT).encode())
    @example(content=DEEP)
    @example(content=json.dumps(with_state(seconds=math.nan)).encode())
    @example(content=json.dumps(with_state(seconds=1e999)).encode())
    @example(content=json.dumps(with_state(score={**STATE_CONTENT["state"]["score"], "value": 10**400})).encode())
    @example(content=json.dumps({**STATE_CONTENT, "made_at": math.inf}).encode())
    @example(content=json.dumps({**STATE_CONTENT, "origin": {"source_vocabulary": "a\nb\x1b[31m"}}).encode())
    def check(content: bytes) -> None:
        for place in (folder, average):
            (place / STATE).write_bytes(content)
        try:
            checkpoint = read_state(folder)
        except CheckpointError as error:
            check_message(error, folder / STATE)
        else:
            state = checkpoint.state
            numbers = (state.update, state.epoch, state.pairs, state.skipped, state.validations_without_gain)
            assert all(type(number) is int and number >= 0 for number in numbers)
            assert duration(state.seconds)
            for score in (state.score, state.best):
                assert score is None or f"{score.value:.2f}"
            assert best_first([checkpoint, checkpoint]) in ([], [checkpoint, checkpoint])
        warnings_: list[str] = []
        assert average_is_current(finished.run, 8, warnings_.append) in (True, False)
        for warning in warnings_:
            check_message(CheckpointError(warning), average)
        try:
            check_vocabularies(folder / WEIGHTS, "source", "target")
        except CheckpointError as error:
            check_message(error, folder)

    try_cases(check, tier)


def apply(damage: Damage) -> bytes:
    """Return a damaged state."""
    return damage(json.dumps(STATE_CONTENT, indent=2).encode())


def with_state(**values: Any) -> dict[str, Any]:
    """Return the content of a state.json with some values of the training state replaced."""
    return {**STATE_CONTENT, "state": {**STATE_CONTENT["state"], **values}}


TRAIN = {"kind": "train", "update": 4, "perplexity": 90.0, "learning_rate": 1e-3}
RECORDS = [
    TRAIN,
    {**TRAIN, "update": 6},
    {"kind": "validation", "update": 6, "perplexity": 50.0, "score": 2.5, "metric": "BLEU", "best": True},
    {"kind": "average", "update": 6, "perplexity": 40.0, "score": 3.5},
    {**TRAIN, "update": 8},
]
SURROGATE = b'{"kind": "train", "update": 1, "x": "\xed\xa0\x80"}'
"""JSON to Python, but no UTF-8."""
WHOLE_LINES = [json.dumps(record).encode() for record in RECORDS]


def record_files() -> st.SearchStrategy[bytes]:
    """Return the bytes of metrics.jsonl: whole records among altered and broken ones."""
    line = st.one_of(
        st.sampled_from(WHOLE_LINES),
        st.sampled_from(RECORDS).flatmap(altered_json),
        st.builds(lambda damage, line: damage(line), damages(), st.sampled_from(WHOLE_LINES)),
        documents(2),
    )
    return st.lists(line, max_size=8).map(b"\n".join)


@each_tier
def test_records_of_a_training(tier: str, tmp_path: Path) -> None:
    """Whole records of the past stay, in order; what is broken goes; nothing is made up."""
    file = tmp_path / "metrics.jsonl"

    @given(
        content=record_files(),
        update=st.integers(0, 10),
        validated=st.sampled_from([0, 6]),
        average_stands=st.booleans(),
    )
    @example(content=DEEP, update=8, validated=6, average_stands=True)
    @example(content=SURROGATE + b"\nhalf", update=8, validated=6, average_stands=True)
    @example(content=SURROGATE.decode("latin-1").encode("utf-16-le"), update=8, validated=6, average_stands=True)
    def check(content: bytes, update: int, validated: int, average_stands: bool) -> None:
        file.write_bytes(content)
        drop_later_records(file, update, validated=validated, average_stands=average_stands)
        before, after = content.split(b"\n"), file.read_bytes().split(b"\n")
        remaining = iter(before)
        assert all(line in remaining for line in after if line), "kept in order"
        whole = [line for line in before if line in WHOLE_LINES]
        stays = [line for line in whole if stays_behind(json.loads(line), update, validated, average_stands)]
        assert [line for line in after if line in WHOLE_LINES] == stays
        assert all(json.loads(line)["update"] <= max(update, validated) for line in after if line)

    try_cases(check, tier)


def stays_behind(record: dict[str, Any], update: int, validated: int, average_stands: bool) -> bool:
    """Tell whether a whole record belongs to a training that goes on behind `update`."""
    if record["kind"] == "validation":
        return record["update"] <= validated
    made_again = record["kind"] == "average" and record["update"] == update and not average_stands
    return record["update"] <= update and not made_again


@each_tier
def test_a_learning_curve(tier: str, tmp_path: Path) -> None:
    """Whatever metrics.jsonl holds, there is a picture."""
    file, picture = tmp_path / "metrics.jsonl", tmp_path / "curve.png"

    @given(content=record_files())
    @example(content=DEEP + b"\n" + lines_of({**TRAIN, "update": 10**400}, {**TRAIN, "perplexity": 10**400}, TRAIN))
    @example(content=lines_of({**TRAIN, "perplexity": 1e308}, {**RECORDS[2], "metric": "$\\x$", "score": math.inf}))
    @example(content=lines_of({**RECORDS[2], "metric": "$\\x$"}, {**RECORDS[3], "score": math.inf}))
    def check(content: bytes) -> None:
        file.write_bytes(content)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from")
            draw_learning_curve(file, picture)
        assert picture.read_bytes().startswith(b"\x89PNG")
        picture.unlink()

    try_cases(check, tier)


def lines_of(*records: dict[str, Any]) -> bytes:
    """Return records as metrics.jsonl holds them."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@each_tier
def test_a_lock_file(tier: str, tmp_path: Path) -> None:
    path = tmp_path / "run.lock"

    @given(content=st.one_of(st.binary(max_size=30), documents(2), st.integers(0, 10**9).map(lambda n: b"%d\n" % n)))
    @example(content=b"12\n34\x1b[31m")
    def check(content: bytes) -> None:
        path.write_bytes(content)
        with path.open("rb") as other:
            flock(other, LOCK_EX)
            with pytest.raises(CheckpointError) as refused, RunLock(path):
                pass
        check_message(refused.value, tmp_path, "is at work in this folder")
        assert path.read_bytes() == content
        with RunLock(path):
            pass

    try_cases(check, tier)
