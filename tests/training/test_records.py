"""metrics.jsonl brought back to a checkpoint."""

import json
from pathlib import Path

import pytest

from nmtkit.training.records import drop_later_records

RECORDS = [
    {"kind": "train", "update": 2},
    {"kind": "validation", "update": 4},
    {"kind": "average", "update": 4},
    {"kind": "train", "update": 6},
]


@pytest.mark.parametrize(
    ("update", "validated", "average_stands", "kept"),
    [
        (6, 4, True, [0, 1, 2, 3]),
        (5, 4, True, [0, 1, 2]),
        (4, 4, True, [0, 1, 2]),
        (4, 4, False, [0, 1]),
        (4, 0, False, [0]),
        (3, 0, True, [0]),
        (0, 0, True, []),
    ],
)
def test_later_records_go(
    tmp_path: Path, update: int, validated: int, *, average_stands: bool, kept: list[int]
) -> None:
    file = tmp_path / "metrics.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    drop_later_records(file, update, validated=validated, average_stands=average_stands)
    assert [json.loads(line) for line in file.read_text().splitlines()] == [RECORDS[place] for place in kept]


def test_a_line_cut_short_goes_and_whole_files_stay_untouched(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    whole = "".join(json.dumps(record) + "\n" for record in RECORDS)
    file.write_text(whole + '{"kind": "train", "upda')
    drop_later_records(file, 9, validated=9, average_stands=True)
    assert file.read_text() == whole
    time = file.stat().st_mtime_ns
    drop_later_records(file, 9, validated=9, average_stands=True)
    assert file.stat().st_mtime_ns == time


def test_no_file_is_no_records(tmp_path: Path) -> None:
    drop_later_records(tmp_path / "metrics.jsonl", 0, validated=0, average_stands=False)
    assert list(tmp_path.iterdir()) == []
