"""Vocabularies taken over from a file: of other runs, whatever their kind, with tags and symbols added."""

from pathlib import Path

import pytest
from toy.segmenters import LINES, config_of, learn, segmenter

from nmtkit.corpus.segmenters import FileConfig, Segmenter, learn_segmenter, open_segmenter
from nmtkit.errors import ConfigError

OWN_KINDS = ["wordpiece", "characters", "bytes"]


def adopted(folder: Path, model: bytes, tags: tuple[str, ...] = (), **values: object) -> bytes:
    (folder / "given.model").write_bytes(model)
    return learn_segmenter(config_of("file", path="given.model", **values), (), tags=tags, base=folder).model


def pieces(segmenter: Segmenter) -> list[str]:
    return segmenter.pieces(range(segmenter.size))


@pytest.mark.parametrize("kind", [*OWN_KINDS, "bpe", "unigram"])
def test_a_model_that_lacks_nothing_stays_the_same_to_the_byte(kind: str, tmp_path: Path) -> None:
    model = learn(kind, tags=("news",), symbols=("ard",))
    assert adopted(tmp_path, model) == adopted(tmp_path, model, ("news",), symbols=("ard",)) == model


@pytest.mark.parametrize("kind", OWN_KINDS)
def test_tags_and_symbols_are_added_to_our_own_kinds(kind: str, tmp_path: Path) -> None:
    old = segmenter(kind)
    new = open_segmenter(adopted(tmp_path, old._source[0], ("bt", "news"), symbols=("<x>",)), "new")
    assert list(new.tags) == [*old.tags, "bt"]
    assert set(new.table.symbols) == {*old.table.symbols, "<x>"}
    assert sorted(pieces(new)) == sorted([*pieces(old), "<tag:bt>", "<x>"])
    assert [new.pieces(ids) for ids in new.encode(LINES)] == [old.pieces(ids) for ids in old.encode(LINES)]
    assert new.pieces(new.encode(["a<x>b"])[0]).count("<x>") == 1


def test_files_of_ours_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    key = r"^prepare\.segmenter\.path = '.*given\.model': "
    model = learn("wordpiece", byte_fallback=False, vocabulary_size=80)
    with pytest.raises(ConfigError, match=key + r"the vocabulary in this file is damaged or not made by nmtkit"):
        adopted(tmp_path, model[:-20])
    with pytest.raises(ConfigError, match=key + r"has an ordinary piece 'e', which is needed as a symbol; .*take away"):
        adopted(tmp_path, model, symbols=("e",))


def test_the_vocabulary_of_a_run_folder_is_pointed_at(tmp_path: Path) -> None:
    (tmp_path / "run" / "data").mkdir(parents=True)
    (tmp_path / "run" / "data" / "source.model").write_bytes(b"")
    with pytest.raises(
        ConfigError, match=r"\(Is a directory\); for the vocabulary of a run give .*run/data/source\.mo"
    ):
        learn_segmenter(FileConfig(path="run"), (), base=tmp_path)


def test_each_side_may_have_a_file_of_its_own(tmp_path: Path) -> None:
    for name, kind in (("a.model", "bpe"), ("b.model", "wordpiece")):
        (tmp_path / name).write_bytes(learn(kind))
    config = FileConfig(path="a.model", target_path="b.model")
    assert not config.joint
    assert config.aim == "the vocabularies a.model and b.model"
    for side, name in (("source", "a.model"), ("target", "b.model")):
        assert learn_segmenter(config, (), side=side, base=tmp_path).model == (tmp_path / name).read_bytes()
    (tmp_path / "b.model").unlink()
    with pytest.raises(ConfigError, match=r"^prepare\.segmenter\.target_path = '.*b\.model': cannot be read"):
        learn_segmenter(config, (), side="target", base=tmp_path)
