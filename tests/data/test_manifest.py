import errno
import io
import os
from pathlib import Path

import pytest

from nmtkit.checksums import file_checksum
from nmtkit.data.manifest import Manifest, Stage, changes, load_manifest, prepared, usual_pieces
from nmtkit.errors import DataError
from nmtkit.run_folder import RunFolder


def complete() -> Manifest:
    stages = {
        name: Stage(f"key of {name}", digest=f"made by {name}") for name in ("text", "vocabulary", "train", "dev")
    }
    return Manifest({"fact": "value"}, stages, complete=True)


def test_a_manifest_comes_back_as_saved(tmp_path: Path) -> None:
    manifest = complete()
    manifest.save(tmp_path / "manifest.json")
    assert load_manifest(tmp_path / "manifest.json") == manifest


def test_a_person_can_read_it(tmp_path: Path) -> None:
    manifest = Manifest({"a": "ä", "b": "c"}, {"dev": Stage("k", "d", {"x": "ab", "y": "cd"}, {"z": {"many": [1, 2]}})})
    manifest.save(tmp_path / "manifest.json")
    rows = (tmp_path / "manifest.json").read_text("utf-8").split("\n")
    assert rows[3:-3] == [
        '  "facts": {',
        '    "a": "ä",',
        '    "b": "c"',
        "  },",
        '  "stages": {',
        '    "dev": {',
        '      "key": "k",',
        '      "digest": "d",',
        '      "files": {"x": "ab", "y": "cd"},',
        '      "report": {"z": {"many": [1, 2]}}',
        "    }",
        "  },",
        '  "complete": false,',
    ]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"format": 0}', b'{"format": 3, "stages": {"text": 3}}', b"\xff"]
)
def test_a_manifest_that_says_nothing_useful_is_an_empty_one(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    assert load_manifest(tmp_path / "manifest.json") == Manifest()
    assert load_manifest(tmp_path / "gone.json") == Manifest()


def test_a_stage_is_finished_if_key_and_files_agree(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"123")
    stage = Stage("key", files={"a.bin": file_checksum(file)})
    manifest = Manifest(stages={"train": stage})
    assert manifest.finished("train", "key", tmp_path) == stage
    assert manifest.finished("train", "other", tmp_path) is None
    assert manifest.finished("dev", "key", tmp_path) is None
    for content in (b"12", b"124", b"1234"):
        file.write_bytes(content)
        assert manifest.finished("train", "key", tmp_path) is None
    file.unlink()
    assert manifest.finished("train", "key", tmp_path) is None


def test_whether_a_file_that_cannot_be_read_is_damaged_nobody_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"123")
    manifest = Manifest({}, {"train": Stage("key", files={"a.bin": file_checksum(file)})})

    class Failing(io.BytesIO):
        def readinto(self, buffer: object) -> int:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Path, "open", lambda *_: Failing())
    with pytest.raises(OSError, match=rf"Input/output error: '{file}'"):
        manifest.finished("train", "key", tmp_path)


def test_the_fingerprint_is_that_of_what_was_packed() -> None:
    manifest = complete()
    before = manifest.fingerprint
    manifest.stages["train"] = Stage("another key", digest="made by train")
    assert manifest.fingerprint == before
    manifest.stages["dev"] = Stage("key of dev", digest="made differently")
    assert manifest.fingerprint not in ("", before)
    manifest.complete = False
    assert manifest.fingerprint == ""


def test_unfinished_data_cannot_be_trained_on(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    manifest = complete()
    manifest.save(run.manifest)
    assert prepared(run) == manifest
    manifest.complete = False
    manifest.save(run.manifest)
    with pytest.raises(DataError, match=r"holds no data prepared to the end; run `nmtkit prepare`"):
        prepared(run)


@pytest.mark.parametrize(
    ("report", "pieces"),
    [({"usual_pieces": 41}, 41), ({}, 0), ({"usual_pieces": "many"}, 0), ({"usual_pieces": []}, 0)],
)
def test_how_long_training_lines_were_may_be_unknown(tmp_path: Path, report: dict[str, object], pieces: int) -> None:
    run = RunFolder(tmp_path)
    assert usual_pieces(run) == 0
    Manifest({}, {"train": Stage("key", report=report)}).save(run.manifest)
    assert usual_pieces(run) == pieces


def test_changes_name_what_is_new_gone_and_different() -> None:
    sha = "0123456789ab" + "c" * 52
    old = {"kept": "1", "size": "8000", "file": f"a.en, sha256 {sha}"}
    new = {"kept": "1", "size": "9000", "other": "x"}
    assert list(changes(old, new)) == [
        "size: 8000 -> 9000",
        "other: new, x",
        "file: gone, was a.en, sha256 0123456789ab",
    ]
