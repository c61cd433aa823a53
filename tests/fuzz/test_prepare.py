"""`nmtkit prepare` accounts for every pair, or leaves nothing that training would accept."""

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from toy.corpora import config_toml, count_sentences, sentence_pair

from fuzz import oracle
from fuzz.cases import each_tier, try_cases
from fuzz.command import call
from fuzz.text import documents, numbered, plain
from nmtkit.corpus.segmenters import load_segmenter
from nmtkit.data.manifest import prepared
from nmtkit.data.store import PairStore
from nmtkit.errors import DataError
from nmtkit.run_folder import RunFolder

TEXT = [sentence_pair(number) for number in range(0, count_sentences(), 997)]
FILLING = ["".join(f"{side}\n" for side in sides).encode() for sides in zip(*TEXT, strict=True)]
"""Ordinary text, source and target, which can fill a vocabulary."""

NORMALIZERS = [
    ["unicode", "whitespace"],
    ["moses_punctuation", "whitespace"],
    ["invisible", "spaces", "moses_tokens"],
    [],
]
FILTERS = [
    ["blank", "length", "ratio", "duplicate", "overlap"],
    ["overlap", "ratio", "blank"],
    ["blank", "characters", "same", "numbers", "urls", "script", "duplicate"],
    [],
]


@st.composite
def settings_of_prepare(draw: st.DrawFn) -> dict[str, Any]:
    """Return settings as dotted keys."""
    joint = draw(st.booleans())
    byte_fallback = draw(st.booleans())
    size = draw(st.sampled_from([300, 400, 60] if byte_fallback else [40, 60, 100, 8]))
    return {
        "corpus": {
            "train": [
                {"name": "files", "source": "train.en", "target": "train.de"},
                {"name": "pairs", "tsv": "train.tsv"},
            ],
            "dev": {"name": "dev", "source": "dev.en", "target": "dev.de"},
        },
        "model.share_embeddings": "all" if joint else "target",
        "prepare": {
            "max_pieces": draw(st.sampled_from([64, 64, 64, 25])),
            "invalid_utf8": draw(st.sampled_from(["drop", "drop", "error"])),
            "normalizers": [{"kind": kind} for kind in draw(st.sampled_from(NORMALIZERS))],
            "filters": [{"kind": kind} for kind in draw(st.sampled_from(FILTERS))],
            "segmenter": {
                "kind": draw(st.sampled_from(["bpe", "unigram", "wordpiece"])),
                "vocabulary_size": size,
                "joint": joint,
                "byte_fallback": byte_fallback,
            },
        },
    }


@st.composite
def corpora(draw: st.DrawFn) -> dict[str, bytes]:
    """Return the files of the corpora, most of them parallel and with ordinary text behind the rest."""
    sides = [draw(side) for side in draw(st.sampled_from([[numbered(4, 60)] * 2] * 7 + [[documents(4)] * 2]))]
    if draw(st.integers(0, 5)):
        sides = [side + filling for side, filling in zip(sides, FILLING, strict=True)]
    pairs = [draw(numbered(3, 60)).replace(b"\t", b" ").split(b"\n")[:-1] for _ in range(2)]
    tsv = b"".join(b"%b\t%b\n" % pair for pair in zip(*pairs, strict=True))
    # No line of the development set is dropped, so one that is not UTF-8 would end every preparation.
    held_out = numbered(3, 60).map(lambda side: side.decode("utf-8", "replace").encode())
    dev = [draw(held_out if draw(st.integers(0, 9)) else numbered(3, 60)) for _ in range(2)]
    dev = [side + b"the dog sees a bird .\n" for side in dev]
    return {"train.en": sides[0], "train.de": sides[1], "train.tsv": tsv, "dev.en": dev[0], "dev.de": dev[1]}


PLAIN = {"train.en": FILLING[0], "train.de": FILLING[1], "train.tsv": b"a\tb\n", "dev.en": b"a\n", "dev.de": b"b\n"}


@each_tier
def test_prepare(tier: str, tmp_path: Path) -> None:
    config, run = tmp_path / "nmtkit.toml", RunFolder(tmp_path / "run")

    @given(files=corpora(), settings=settings_of_prepare())
    @example(files=PLAIN, settings={"corpus.dev": None, "corpus.test": []})
    def check(files: dict[str, bytes], settings: dict[str, Any]) -> None:
        assume(all(plain(content) for content in files.values()))
        shutil.rmtree(run.path, ignore_errors=True)
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
        config.write_bytes(config_toml({"corpus.test": [], **settings}).encode())
        ended = call("prepare", "--config", config, "--quiet")
        assert ended.out == b""
        if ended.code:
            assert ended.problems
            assert all(problem.isprintable() for problem in ended.problems)
            with pytest.raises(DataError):
                prepared(run)
            assert not list(run.path.rglob(".*.tmp"))
            assert not run.report.exists()
            assert not run.report_page.exists()
            assert call("prepare", "--config", config, "--quiet") == ended, "and what was done already stands"
            check_repair(tmp_path, config, run)
            return
        assert prepared(run).fingerprint
        assert not (run.data / ".unfinished").exists()
        check_report(json.loads(run.report.read_bytes()), files, run)
        check_page(run.report_page.read_bytes())
        again = call("prepare", "--config", config)
        assert again.code == 0
        assert "nothing to prepare" in again.err

    try_cases(check, tier)


def check_repair(folder: Path, config: Path, run: RunFolder) -> None:
    """See that a preparation goes through in the same run folder once its input is good."""
    for name, content in PLAIN.items():
        (folder / name).write_bytes(content)
    config.write_bytes(config_toml({"corpus.test": []}).encode())
    ended = call("prepare", "--config", config, "--quiet")
    assert ended.code == 0, ended.err
    check_report(json.loads(run.report.read_bytes()), PLAIN, run)


def check_page(page: bytes) -> None:
    """See that the page is well-formed, and that nothing of the corpora became mark-up."""
    text = page.decode()
    tags = {element.tag for element in ElementTree.fromstring(text).iter()}
    assert "s" not in tags
    assert "pad" not in tags
    assert all(oracle.is_one_line(line) for line in text.split("\n"))


def check_report(report: dict[str, Any], files: dict[str, bytes], run: RunFolder) -> None:
    """See that each line read is kept or dropped, and that what is kept is packed."""
    for corpus, name in zip(report["corpora"], ("train.en", "train.tsv"), strict=False):
        assert corpus["read"] == oracle.count(files[name])
        assert corpus["read"] == corpus["kept"] + sum(drops["count"] for drops in corpus["drops"].values())
    pairs = PairStore.open(run.data, "train")
    assert len(pairs) == sum(corpus["kept"] for corpus in report["corpora"]) > 0
    if "dev" in report:
        dev = report["dev"]
        left_out = sum(drops["count"] for drops in dev["left_out"].values())
        assert dev["lines"] == oracle.count(files["dev.en"]) == dev["pairs"] + left_out
    for side, model in ((pairs.source, run.source_segmenter), (pairs.target, run.target_segmenter)):
        segmenter = load_segmenter(model)
        for place in range(len(side)):
            ids = side[place].tolist()
            assert all(0 < id_ < segmenter.size and id_ not in (2, 3) for id_ in ids)
            assert oracle.is_one_line(segmenter.decode([ids])[0])
