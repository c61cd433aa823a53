"""`nmtkit prepare` from every form of text that a corpus may have."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from toy.corpora import write_project
from toy.formats import FORMS, PACKERS, tmx_of, tsv_of

from nmtkit.commands.prepare import prepare
from nmtkit.config import load
from nmtkit.errors import DataError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder

COLUMNS: dict[str, Any] = {"tsv named": ["en", "de"], "tsv numbered": [3, 1]}


def pairs_of(folder: Path) -> list[tuple[str, str]]:
    sides = [(folder / f"train.{side}").read_text("utf-8").split("\n")[:-1] for side in ("en", "de")]
    return list(zip(*sides, strict=True))


def prepared(folder: Path, corpus: dict[str, Any] | None = None) -> dict[str, bytes]:
    """Prepare the toy corpus in a folder and return the packed ids and vocabularies."""
    config = load(write_project(folder, {"corpus.train": [{"name": "toy", **corpus}]} if corpus else None))
    run = RunFolder(folder / "run")
    prepare(config, folder, run, Log("quiet"))
    return {path.name: path.read_bytes() for path in run.data.iterdir() if path.suffix in (".bin", ".model")}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return prepared(tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize("form", ["lines.bz2", "lines.zst", "sgm", "tsv named", "tsv numbered", "tmx", "tmx.bz2"])
def test_every_form_gives_the_same_ids(form: str, tmp_path: Path, expected: dict[str, bytes]) -> None:
    write_project(tmp_path)
    text = FORMS[form](tmp_path, pairs_of(tmp_path))
    names = [path.name for path in text.files]
    if len(names) == 2:
        corpus: dict[str, Any] = {"source": names[0], "target": names[1]}
    else:
        corpus = {form[:3]: names[0]} | ({"columns": COLUMNS[form]} if form in COLUMNS else {})
    assert prepared(tmp_path, corpus) == expected


def test_a_pattern_gives_the_same_ids(tmp_path: Path, expected: dict[str, bytes]) -> None:
    write_project(tmp_path)
    pairs = pairs_of(tmp_path)
    for part in range(4):
        for side, language in enumerate(("en", "de")):
            lines = "".join(f"{pair[side]}\n" for pair in pairs[part * 50 : part * 50 + 50])
            (tmp_path / f"part{part}.{language}.zst").write_bytes(PACKERS[".zst"](lines.encode()))
    assert prepared(tmp_path, {"source": "part*.en.zst", "target": "part*.de.zst"}) == expected
    report = json.loads(RunFolder(tmp_path / "run").report.read_bytes())
    assert report["corpora"][0]["read"] == 200


class Standard:
    """What stands for sys.stdin."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)

    def isatty(self) -> bool:
        return False


def test_standard_input_gives_the_same_ids_again_and_again(
    tmp_path: Path, expected: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project(tmp_path)
    content = PACKERS[".xz"](tsv_of(pairs_of(tmp_path)))
    for _ in range(2):
        monkeypatch.setattr(sys, "stdin", Standard(content))
        assert prepared(tmp_path, {"tsv": "-"}) == expected
        assert [path for path in tmp_path.rglob("*") if "standard_input" in path.name] == []
    monkeypatch.setattr(sys, "stdin", Standard(content[:-20]))
    with pytest.raises(
        DataError, match=r"^standard input is a damaged xz file|corpus 'toy': standard input is a damaged"
    ):
        prepared(tmp_path, {"tsv": "-"})


def test_units_without_a_language_are_dropped_and_counted(tmp_path: Path, expected: dict[str, bytes]) -> None:
    write_project(tmp_path)
    memory = tmx_of(pairs_of(tmp_path)).decode()
    other = '<tu><tuv xml:lang="en"><seg>left out</seg></tuv><tuv xml:lang="fr"><seg>oublié</seg></tuv></tu>'
    (tmp_path / "memory.tmx").write_text(memory.replace("<body>", f"<body>{other}"), encoding="utf-8")
    made = prepared(tmp_path, {"tmx": "memory.tmx"})
    assert {name for name in made if made[name] != expected[name]} <= {"train.lines.bin"}  # numbers of units
    (corpus,) = json.loads(RunFolder(tmp_path / "run").report.read_bytes())["corpora"]
    assert (corpus["read"], corpus["kept"]) == (201, 200)
    assert corpus["drops"]["missing_language"] == {"count": 1, "first_lines": [1]}


def test_other_columns_of_the_same_file_are_another_text(tmp_path: Path) -> None:
    write_project(tmp_path)
    rows = [f"{target}\t{source}\t{source}" for source, target in pairs_of(tmp_path)]
    (tmp_path / "a.tsv").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    first = prepared(tmp_path, {"tsv": "a.tsv", "columns": [2, 1]})
    assert prepared(tmp_path, {"tsv": "a.tsv", "columns": [1, 2]}) != first
    assert prepared(tmp_path, {"tsv": "a.tsv", "columns": [3, 1]}) == first
