from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.data.store import (
    HEADER_BYTES,
    PairStore,
    Sentences,
    id_type,
    pack_ids,
    side_files,
    split_files,
    writing_pairs,
)
from nmtkit.errors import DataError

SOURCES = [[5, 6, 7], [], [65_535], [4]]
TARGETS = [[8], [9, 10], [], [11, 12, 13, 14]]


def write(
    folder: Path, sources: list[list[int]], targets: list[list[int]], sizes: tuple[int, int] = (65_536, 65_536)
) -> None:
    with writing_pairs(folder, "train", sizes) as writer:
        for begin in range(0, len(sources), 3):
            source, target = (
                pack_ids(side[begin : begin + 3], type_)
                for side, type_ in zip((sources, targets), writer.types, strict=True)
            )
            writer.write(source, target)


def test_ids_come_back(tmp_path: Path) -> None:
    write(tmp_path, SOURCES, TARGETS)
    store = PairStore.open(tmp_path, "train")
    assert len(store) == len(store.target) == 4
    assert [store.source[place].tolist() for place in range(4)] == SOURCES
    assert [store.target[place].tolist() for place in range(4)] == TARGETS
    assert store.source.lengths.tolist() == [3, 0, 1, 1]
    assert store.target.lengths.tolist() == [1, 2, 0, 4]
    assert store.source[-1].tolist() == [4]


SENTENCES = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=6), max_size=12)


@settings(max_examples=25)  # each waits for the disk
@given(sentences=SENTENCES)
def test_any_sentences_come_back(tmp_path_factory: pytest.TempPathFactory, sentences: list[list[int]]) -> None:
    folder = tmp_path_factory.mktemp("store")
    write(folder, sentences, sentences[::-1], sizes=(2**31, 2**31))
    store = PairStore.open(folder, "train")
    assert [ids.tolist() for ids in (store.source[place] for place in range(len(store)))] == sentences
    assert [ids.tolist() for ids in (store.target[place] for place in range(len(store)))] == sentences[::-1]


def test_a_sentence_is_a_copy_that_may_be_written_to(tmp_path: Path) -> None:
    write(tmp_path, SOURCES, TARGETS)
    store = PairStore.open(tmp_path, "train")
    ids = store.source[0]
    assert ids.dtype == np.int64
    ids[0] = 99
    assert store.source[0][0] == 5


def test_places_outside_are_errors(tmp_path: Path) -> None:
    write(tmp_path, SOURCES, TARGETS)
    store = PairStore.open(tmp_path, "train")
    for place in (4, -5):
        with pytest.raises(IndexError, match=f"sentence {place} of 4"):
            store.source[place]


def test_the_vocabulary_decides_the_number_type(tmp_path: Path) -> None:
    assert (id_type(65_536), id_type(65_537)) == ("uint16", "int32")
    write(tmp_path, [[1, 2]], [[70_000]], sizes=(100, 70_001))
    small, large = (side_files(tmp_path / f"train.{side}")[0].stat().st_size for side in ("source", "target"))
    assert (small, large) == (HEADER_BYTES + 4, HEADER_BYTES + 4)
    assert PairStore.open(tmp_path, "train").target[0].tolist() == [70_000]


def test_an_id_beyond_the_number_type_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(OverflowError):
        write(tmp_path, [[65_536]], [[1]])
    assert list(tmp_path.iterdir()) == []


def test_same_sentences_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / name, SOURCES, TARGETS)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    parts = ("ids", "lengths", "offsets")
    assert files == [f"train.{side}.{part}.bin" for side in ("source", "target") for part in parts]
    assert files == sorted(split_files("train"))
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_ids_stay_on_the_disk(tmp_path: Path) -> None:
    write(tmp_path, SOURCES, TARGETS)
    sentences = Sentences.open(tmp_path / "train.source")
    assert isinstance(sentences._ids, np.memmap)
    assert isinstance(sentences._offsets, np.memmap)
    assert isinstance(sentences.lengths, np.memmap)


def test_a_failure_while_writing_leaves_the_old_files(tmp_path: Path) -> None:
    write(tmp_path, SOURCES, TARGETS)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def interrupted() -> None:
        with writing_pairs(tmp_path, "train", (10, 10)) as writer:
            writer.write(pack_ids([[1]], "uint16"), pack_ids([[2]], "uint16"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_sides_are_written_in_step(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1 source but 2 target"), writing_pairs(tmp_path, "x", (9, 9)) as writer:
        writer.write(pack_ids([[1]], "uint16"), pack_ids([[2], [3]], "uint16"))


@pytest.mark.parametrize("part", ["ids", "offsets", "lengths"])
@pytest.mark.parametrize("keep", [0, 30, HEADER_BYTES, HEADER_BYTES + 2, HEADER_BYTES + 8, -1, -8])
def test_a_shortened_file_is_named_with_the_remedy(tmp_path: Path, part: str, keep: int) -> None:
    write(tmp_path, SOURCES, TARGETS)
    path = tmp_path / f"train.target.{part}.bin"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DataError, match=rf"train.target.{part}.bin.* run `nmtkit prepare` for this run folder again"):
        PairStore.open(tmp_path, "train")


def test_a_missing_file_and_a_file_of_another_kind_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"train.source.ids.bin does not exist; run `nmtkit prepare`"):
        PairStore.open(tmp_path, "train")
    write(tmp_path, SOURCES, TARGETS)
    ids, offsets, _ = side_files(tmp_path / "train.source")
    offsets.write_bytes(ids.read_bytes())
    with pytest.raises(DataError, match=r"train.source.offsets.bin is damaged or not written by this version"):
        PairStore.open(tmp_path, "train")


def test_sides_that_differ_in_length_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a", SOURCES, TARGETS)
    write(tmp_path / "b", SOURCES[:2], TARGETS[:2])
    for path in side_files(tmp_path / "b" / "train.target"):
        path.replace(tmp_path / "a" / path.name)
    with pytest.raises(DataError, match="train has 4 source but 2 target sentences"):
        PairStore.open(tmp_path / "a", "train")
