"""Tags in `nmtkit prepare`: where they stand, what a change of one does, which are refused."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from toy.corpora import write_project
from toy.segmenters import learn

from nmtkit.commands.prepare import prepare
from nmtkit.config import load
from nmtkit.corpus.segmenters import load_segmenter
from nmtkit.data.manifest import load_manifest
from nmtkit.data.store import PairStore
from nmtkit.errors import CheckpointError, ConfigError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.seals import digest

ALL = ("text", "vocabulary", "train", "dev", "plan")
UNLIKE = 'has no tag, though every training corpus has one, so the model knows nothing like it; give "news" or "bt"'


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "run")


def prepared(
    run: RunFolder, tags: Sequence[str], dev: str = "", overrides: Mapping[str, Any] | None = None
) -> tuple[str, ...]:
    """Prepare the toy corpus with the first tag, its development set with each other tag, and as such with `dev`.

    Returns what was done.
    """
    folder, files = run.path.parent, {"source": "dev.en", "target": "dev.de"}
    toy = {"name": "toy", "source": "train.en", "target": "train.de", "tag": tags[0]}
    others = [{"name": f"more {place}", "tag": tag, "filters": [], **files} for place, tag in enumerate(tags[1:])]
    texts = {"corpus.train": [toy, *others], "corpus.dev": {"name": "dev", "tag": dev, **files}}
    return prepare(load(write_project(folder, {**texts, **(overrides or {})})), folder, run, Log())


def report(run: RunFolder) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(run.report.read_bytes())
    return content


def suspicions(run: RunFolder) -> list[str]:
    """Return what looks wrong with tags."""
    return [each["message"] for each in report(run)["suspicions"] if each["kind"] == "tag"]


@pytest.mark.parametrize("dev", ["", "news", "bt"])
def test_tags_stand_before_the_sources_of_training_and_development_set(run: RunFolder, dev: str) -> None:
    prepared(run, ["news", "", "bt"], dev)
    segmenter = load_segmenter(run.source_segmenter)
    for split, corpora in (("train", [("train", "news"), ("dev", ""), ("dev", "bt")]), ("dev", [("dev", dev)])):
        expected = []
        for text, tag in corpora:
            sides = [(run.path.parent / f"{text}.{side}").read_text("utf-8").split("\n")[:-1] for side in ("en", "de")]
            before = [segmenter.tag(tag)] if tag else []
            sources, targets = map(segmenter.encode, sides)
            expected += [(before + source, target) for source, target in zip(sources, targets, strict=True)]
        store = PairStore.open(run.data, split)
        assert [(store.source[n].tolist(), store.target[n].tolist()) for n in range(len(store))] == expected
    assert report(run)["dev"]["tag"] == dev
    assert [corpus["tag"] for corpus in report(run)["corpora"]] == ["news", "", "bt"]
    assert suspicions(run) == []


def test_another_tag_of_the_development_set_is_noticed(run: RunFolder, capfd: pytest.CaptureFixture[str]) -> None:
    fingerprints = []
    for dev, done, said in (
        ("", ALL, "preparing"),
        ("bt", ("dev",), "  corpus.dev.tag: new, bt\n"),
        ("news", ("dev",), "  corpus.dev.tag: bt -> news\n"),
        ("", ("dev",), "  corpus.dev.tag: gone, was news\n"),
    ):
        assert prepared(run, ["news", "bt"], dev) == done
        assert said in capfd.readouterr().err
        assert prepared(run, ["news", "bt"], dev) == ()
        fingerprints.append(load_manifest(run.manifest).fingerprint)
    assert fingerprints[0] == fingerprints[3]
    assert len(set(fingerprints)) == 3


def test_another_tag_of_a_training_corpus_is_noticed(run: RunFolder, capfd: pytest.CaptureFixture[str]) -> None:
    """Although the vocabulary stays the same."""
    prepared(run, ["news", "bt", "news"])
    before, model = load_manifest(run.manifest).stages["train"], run.source_segmenter.read_bytes()
    capfd.readouterr()
    assert "train" in prepared(run, ["news", "bt", "bt"])
    assert "  corpus.train[2].tag: news -> bt\n" in capfd.readouterr().err
    assert run.source_segmenter.read_bytes() == model
    assert load_manifest(run.manifest).stages["train"].digest != before.digest


def test_data_without_tags_is_known_by_what_it_was_known_by_before_there_were_any(run: RunFolder) -> None:
    prepared(run, [""])
    stages = load_manifest(run.manifest).stages
    assert stages["train"].digest == digest([stages["text"].digest, stages["vocabulary"].digest, 64])


def test_tags_that_training_has_not_are_refused_before_anything_is_read(run: RunFolder) -> None:
    test = [{"name": "test", "source": "missing.en", "target": "missing.de", "tag": "old"}]
    with pytest.raises(ConfigError) as raised:
        prepared(run, ["news", "bt"], "nws", {"corpus.test": test, "translate.tag": "wire"})
    problems = ['corpus.dev.tag = "nws"', 'corpus.test[0].tag = "old"', 'translate.tag = "wire"']
    remedy = 'no such tag; choose "news" or "bt", or remove it'
    assert raised.value.problems == [f"{problem}: {remedy}" for problem in problems]
    with pytest.raises(ConfigError, match=r'corpus\.dev\.tag = "nws": the vocabulary has no tags'):
        prepared(run, [""], "nws")
    assert not run.path.exists()


def test_the_tags_of_a_vocabulary_that_is_given_are_known(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "given.model").write_bytes(learn("bpe", tags=("news", "wire")))
    given = {"prepare.segmenter": {"kind": "file", "path": "given.model"}}
    with pytest.raises(ConfigError, match=r'corpus\.dev\.tag = "nws": no such tag; choose "news", "wire" or "bt"'):
        prepared(run, ["bt"], "nws", given)
    prepared(run, ["bt"], "wire", given)
    assert load_segmenter(run.source_segmenter).pieces(PairStore.open(run.data, "dev").source[3])[0] == "<tag:wire>"


def test_an_untagged_development_set_is_warned_of_where_all_training_has_tags(
    run: RunFolder, capfd: pytest.CaptureFixture[str]
) -> None:
    prepared(run, ["news", "bt"])
    assert suspicions(run) == [f"corpus.dev {UNLIKE} (corpus.dev.tag)"]
    assert f"corpus.dev {UNLIKE}" in capfd.readouterr().err


def test_a_vocabulary_that_weights_were_trained_with_is_not_changed_by_tags(run: RunFolder) -> None:
    prepared(run, ["news", "bt", "news"])
    folder = run.checkpoints / "00000008"
    folder.mkdir(parents=True)
    (folder / "weights.safetensors").write_bytes(b"weights")
    before = {path: path.read_bytes() for path in run.data.iterdir()}
    for tag, change in (("wire", "bt -> wire"), ("", "gone, was bt")):
        said = re.escape(f"which would change (corpus.train[1].tag: {change}); choose another folder")
        with pytest.raises(CheckpointError, match=said):
            prepared(run, ["news", tag, "news"])
    assert {path: path.read_bytes() for path in run.data.iterdir()} == before
    assert "train" in prepared(run, ["news", "bt", "bt"])
