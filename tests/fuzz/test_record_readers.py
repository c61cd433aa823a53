"""Records of a training and its lock: what is whole is taken, what is broken is told or goes."""

import json
import math
import warnings
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuzz.cases import each_tier, try_cases
from fuzz.damage import altered_json, damages
from fuzz.messages import check_message
from fuzz.text import documents
from nmtkit.errors import CheckpointError
from nmtkit.run_lock import RunLock
from nmtkit.training.curve import draw_learning_curve
from nmtkit.training.records import drop_later_records

DEEP = b"[" * 5_000 + b"]" * 5_000

TRAIN: dict[str, Any] = {"kind": "train", "update": 4, "perplexity": 90.0, "learning_rate": 1e-3}
RECORDS: list[dict[str, Any]] = [
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
        return bool(record["update"] <= validated)
    made_again = record["kind"] == "average" and record["update"] == update and not average_stands
    return bool(record["update"] <= update) and not made_again


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
