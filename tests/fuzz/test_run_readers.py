"""Files of a run are read as they were written; damaged ones are told, never half believed."""

import json
import math
import os
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from toy.projects import Project
from toy.training import ORIGIN, WIDTH_16

from fuzz.cases import each_tier, try_cases
from fuzz.damage import Damage, altered_json, damages
from fuzz.messages import check_message
from fuzz.text import documents
from nmtkit.appending import PROGRESS, Appender
from nmtkit.commands.prepare import prepare
from nmtkit.commands.train_data import open_data
from nmtkit.data.epochs import Batches
from nmtkit.data.manifest import Manifest, load_manifest
from nmtkit.data.mixing import CorpusRange
from nmtkit.data.position import Position
from nmtkit.data.settings import BatchConfig
from nmtkit.errors import CheckpointError, NmtkitError
from nmtkit.log import Log, duration
from nmtkit.metrics.base import Score
from nmtkit.training.checkpoints import average_is_current, best_first, read_state
from nmtkit.training.fitting import check_model, check_vocabularies
from nmtkit.training.state import TrainingState
from nmtkit.training.tensor_folder import STATE, WEIGHTS, state_text

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
            data = open_data(config, fresh.folder, fresh.run, (0, 0))
        except NmtkitError as error:
            check_message(error, fresh.run.data, "run `nmtkit prepare`")
            assert found != whole
        else:
            assert found == whole
            assert data.fingerprint == whole.stages["train"].digest

    try_cases(check, tier)
    prepare(config, fresh.folder, fresh.run, Log("quiet"))
    assert load_manifest(file) == whole


STATE_CONTENT: dict[str, Any] = {
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

    @given(content=st.one_of(altered_json(STATE_CONTENT).map(resealed), st.builds(apply, damages()), documents(3)))
    @example(content=state_text(STATE_CONTENT).encode())
    @example(content=json.dumps(STATE_CONTENT).encode())
    @example(content=DEEP)
    @example(content=state_text(with_state(seconds=math.nan)).encode())
    @example(content=state_text(with_state(seconds=1e999)).encode())
    @example(content=state_text(with_state(score={**STATE_CONTENT["state"]["score"], "value": 10**400})).encode())
    @example(content=state_text({**STATE_CONTENT, "made_at": math.inf}).encode())
    @example(content=state_text({**STATE_CONTENT, "origin": {"source_vocabulary": "a\nb\x1b[31m"}}).encode())
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
            check_model(folder / WEIGHTS, WIDTH_16)
        except CheckpointError as error:
            check_message(error, folder)

    try_cases(check, tier)


def apply(damage: Damage) -> bytes:
    """Return a damaged state."""
    return damage(state_text(STATE_CONTENT).encode())


def resealed(content: bytes) -> bytes:
    """Return a state as it would have been written, with the right checksum, where it is an object at all."""
    try:
        state = json.loads(content)
    except (ValueError, RecursionError):
        return content
    return state_text(state).encode() if isinstance(state, dict) else content


def with_state(**values: Any) -> dict[str, Any]:
    """Return the content of a state.json with some values of the training state replaced."""
    return {**STATE_CONTENT, "state": {**STATE_CONTENT["state"], **values}}


@each_tier
def test_the_progress_of_a_preparation(tier: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not committed just so is begun anew."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    file = tmp_path / PROGRESS
    state = {"corpus": 1, "last": 70, "counts": [{"read": 70, "drops": {"blank": {"count": 1, "first": [3]}}}]}
    with Appender(tmp_path, "key", ["text"]) as files:
        files.write("text", b"whole")
        files.commit(state)
        files.write("text", b"lost")
    written = file.read_bytes()
    content = json.loads(written)

    @given(content=st.one_of(altered_json(content), damages().map(lambda damage: damage(written)), documents(3)))
    @example(content=written)
    @example(content=DEEP)
    @example(content=json.dumps({**content, "state": {}}).encode())
    @example(content=json.dumps({**content, "sizes": {"text": 2}}).encode())
    def check(content: bytes) -> None:
        file.write_bytes(content)
        (tmp_path / "text").write_bytes(b"wholelost")
        with Appender(tmp_path, "key", ["text"]) as files:
            assert files.state in (state, None)
            assert files.size("text") == (0 if files.state is None else 5)
            assert content != written or files.state == state

    try_cases(check, tier)


LENGTHS = np.arange(2_000, dtype=np.int32) % 30 + 1


def batches(tokens: int) -> Batches:
    """Return batches over two corpora, the smaller one seen twice and a half."""
    corpora = [CorpusRange(0, 1_500), CorpusRange(1_500, 2_000, 2.5)]
    config = BatchConfig(tokens_per_update=tokens, tokens_per_tensor=tokens // 4, window=300)
    return Batches(LENGTHS, LENGTHS, corpora, config, seed=1)


def reached() -> dict[str, Any]:
    """Return a position in the middle of a window that was worked on under two budgets, as JSON holds it."""
    begun = next(islice(batches(400).steps(Position()), 30, None)).behind
    return next(islice(batches(800).steps(begun), 1, None)).behind.to_json()


@each_tier
def test_a_position(tier: str) -> None:
    """Training goes on behind it, from there to the end of the epoch, or refuses it."""
    content = reached()
    whole = Position.from_json(content)
    assert len(whole.legs) == 2

    @given(content=altered_json(content), tokens=st.sampled_from([400, 800]))
    @example(content=json.dumps(content).encode(), tokens=400)
    @example(content=json.dumps({**content, "weights": [math.inf, 1.0]}).encode(), tokens=400)
    @example(content=json.dumps({**content, "weights": [1e308, 1.0]}).encode(), tokens=400)
    @example(content=json.dumps({**content, "begin": 10**400}).encode(), tokens=400)
    @example(content=json.dumps({**content, "epoch": 10**30}).encode(), tokens=400)
    @example(content=json.dumps({**content, "size": 2**63}).encode(), tokens=400)
    @example(content=json.dumps({"epoch": 0, "weights": [], "legs": [], "begin": 3}).encode(), tokens=400)
    @example(content=json.dumps(leg(tokens_per_update=0, tokens_per_tensor=0)).encode(), tokens=400)
    @example(content=json.dumps(leg(updates=10**30)).encode(), tokens=400)
    @example(content=json.dumps(leg(tokens_per_update=10**30, tokens_per_tensor=10**30)).encode(), tokens=400)
    def check(content: bytes, tokens: int) -> None:
        made = batches(tokens)
        try:
            position = Position.from_json(json.loads(content))
            largest = made.largest(position)
        except (KeyError, TypeError, ValueError, RecursionError):
            assert content != json.dumps(whole.to_json()).encode()
            return
        assert all(len(tensor) for tensor in largest)
        seen = position.seen
        for step in islice(made.steps(position), 300):
            seen += step.update.pairs
            if step.behind.epoch > position.epoch:
                break
            assert step.behind.seen == seen
        if position.weights in ((), whole.weights):
            assert seen == made.pairs_per_epoch()

    try_cases(check, tier)


def leg(**values: int) -> dict[str, Any]:
    """Return the content of a position with some values of its first leg replaced."""
    content = reached()
    content["legs"][0].update(values)
    return content
