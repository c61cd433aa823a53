"""Samples of parallel text: the same pairs each time, at even distances, never out of step."""

import gzip
import time
from itertools import pairwise

import pytest
from recipe_parts.checking import CheckError
from recipe_parts.sampling import Pair, kept, sample


@pytest.fixture
def texts(tmp_path):
    folder = tmp_path / "texts"
    (folder / "t").mkdir(parents=True)
    (folder / "t" / "a.en").write_bytes(b"".join(b"e%d\n" % number for number in range(100)))
    (folder / "t" / "a.de.gz").write_bytes(gzip.compress(b"\n".join(b"d%d\r" % number for number in range(100))))
    return folder


PAIR = Pair("t/a.en", "t/a.de.gz", 100)


def lines_of(folder):
    source = (folder / "t" / "a.en").read_bytes()
    target = gzip.decompress((folder / "t" / "a.de.gz").read_bytes())
    return source.split(b"\n"), target.split(b"\n")


@pytest.mark.parametrize("count", [1, 3, 10, 50, 99, 100])
def test_pairs_stay_pairs_at_even_distances(texts, tmp_path, count):
    sample(PAIR, count, texts, tmp_path / "sample")
    sources, targets = lines_of(tmp_path / "sample")
    assert len(sources) == len(targets) == count + 1
    numbers = [int(line[1:]) for line in sources[:-1]]
    assert [line.removesuffix(b"\r") for line in targets[:-1]] == [b"d%d" % number for number in numbers]
    gaps = {after - before for before, after in pairwise(numbers)}
    assert all(gap in (100 // count, 100 // count + 1) for gap in gaps)


def test_a_sample_that_is_there_is_not_drawn_again(texts, tmp_path):
    sample(PAIR, 10, texts, tmp_path / "sample")
    first = {path: path.stat().st_mtime_ns for path in (tmp_path / "sample").rglob("*")}
    sample(PAIR, 10, texts, tmp_path / "sample")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "sample").rglob("*")} == first
    sample(PAIR, 11, texts, tmp_path / "sample")
    assert len(lines_of(tmp_path / "sample")[0]) == 12


def test_a_lost_or_changed_file_is_drawn_again(texts, tmp_path):
    sample(PAIR, 10, texts, tmp_path / "sample")
    (tmp_path / "sample" / "t" / "a.en").unlink()
    sample(PAIR, 10, texts, tmp_path / "sample")
    assert len(lines_of(tmp_path / "sample")[0]) == 11
    (texts / "t" / "a.en").write_bytes(b"".join(b"changed%d\n" % number for number in range(100)))
    sample(PAIR, 10, texts, tmp_path / "sample")
    assert lines_of(tmp_path / "sample")[0][0].startswith(b"changed")


def test_a_sample_drawn_again_has_the_same_bytes(texts, tmp_path, monkeypatch):
    """Packed ones too: what was prepared of a sample would count as made of other text."""
    sample(PAIR, 10, texts, tmp_path / "sample")
    monkeypatch.setattr(time, "time", lambda: 1e9)
    sample(PAIR, 10, texts, tmp_path / "again")
    for name in ("a.en", "a.de.gz"):
        assert (tmp_path / "sample" / "t" / name).read_bytes() == (tmp_path / "again" / "t" / name).read_bytes()


def test_a_file_of_other_length_is_named_and_leaves_no_sample(texts, tmp_path):
    with pytest.raises(CheckError, match=r"a\.en has 100 lines, not 101"):
        sample(PAIR._replace(lines=101), 10, texts, tmp_path / "sample")
    assert not (tmp_path / "sample" / "t" / "a.en").exists()


@pytest.mark.parametrize(
    ("lines", "scale", "count"), [(4_000_000, 0.001, 4_000), (4_000, 0.001, 1_000), (300, 0.001, 300), (10, 1.0, 10)]
)
def test_how_many_stay(lines, scale, count):
    assert kept(lines, scale, 1_000) == count
