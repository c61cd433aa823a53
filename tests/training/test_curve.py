"""The learning curve is drawn from whatever metrics.jsonl holds."""

import json
import struct
import sys

import pytest

from nmtkit.training.curve import draw_learning_curve, read_records


def train(update, **values):
    return {"kind": "train", "update": update, "perplexity": 900 / update, "learning_rate": 1e-4 * update, **values}


def validation(update, **values):
    record = {"kind": "validation", "update": update, "perplexity": 800 / update, "score": 0.3 * update}
    return {**record, "metric": "BLEU", "best": False, **values}


AVERAGE = {"kind": "average", "updates": [100, 200], "perplexity": 3.0, "score": 61.0}

CASES = {
    "whole": [train(50), train(100), validation(100), train(200), validation(200, best=True), AVERAGE],
    "none": [],
    "one of training": [train(100)],
    "one of validation": [validation(100, best=True)],
    "no development set": [train(100), train(200), {"kind": "average", "updates": [100, 200]}],
    "no translation": [train(100), validation(100, score=None, metric=None)],
    "not finite": [train(1, perplexity=float("inf")), train(2, perplexity=float("nan")), train(3)],
    "nothing finite": [train(1, perplexity=float("inf"), rate=None)],
    "unknown kinds": [{"kind": "other", "update": 3}, {"update": 3}, 7, train(100)],
}


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.mark.parametrize("records", CASES.values(), ids=CASES.keys())
def test_draws(records, tmp_path):
    picture = tmp_path / "learning_curve.png"
    draw_learning_curve(write(tmp_path / "metrics.jsonl", records), picture)
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    assert width >= 900
    assert height >= 500
    assert sorted(path.name for path in tmp_path.iterdir()) == ["learning_curve.png", "metrics.jsonl"]


def test_draws_without_a_file(tmp_path):
    draw_learning_curve(tmp_path / "metrics.jsonl", tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 0


def test_replaces_an_older_picture_and_adds_a_panel_for_scores(tmp_path):
    metrics, picture = tmp_path / "metrics.jsonl", tmp_path / "curve.png"
    draw_learning_curve(write(metrics, [train(100)]), picture)
    (before,) = struct.unpack(">I", picture.read_bytes()[20:24])
    draw_learning_curve(write(metrics, [train(100), validation(100)]), picture)
    (after,) = struct.unpack(">I", picture.read_bytes()[20:24])
    assert after > before


def test_a_line_cut_short_is_left_out(tmp_path):
    metrics = write(tmp_path / "metrics.jsonl", [train(100), train(200)])
    metrics.write_bytes(metrics.read_bytes()[:-9])
    assert [record["update"] for record in read_records(metrics).train] == [100]
    with metrics.open("ab") as file:  # and so is the first one after it, which stands on the same line
        file.write(b'{"kind": "train", "update": 201}\n{"kind": "train", "update": 202}\n\xff\xfe\n')
    assert [record["update"] for record in read_records(metrics).train] == [100, 202]


def test_records_written_after_a_resume_replace_those_from_before(tmp_path):
    before = [train(100), train(200), validation(200, score=1.0), train(300), validation(300)]
    after = [train(200), validation(200, score=2.0), train(250)]
    records = read_records(write(tmp_path / "metrics.jsonl", [*before, *after]))
    assert [record["update"] for record in records.train] == [100, 200, 250]
    assert [(record["update"], record["score"]) for record in records.validation] == [(200, 2.0)]


def test_pyplot_is_not_used(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    draw_learning_curve(write(tmp_path / "metrics.jsonl", CASES["whole"]), tmp_path / "curve.png")
    assert "matplotlib.pyplot" not in sys.modules
