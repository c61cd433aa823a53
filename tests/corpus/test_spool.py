from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.appending import Appender
from nmtkit.corpus import spool as spool_module
from nmtkit.corpus.spool import FILES, Spool, append_block, sample, to_bytes

SOURCES = [f"größe {place}" for place in range(40)]
TARGETS = [f"\u3000{place}" for place in range(40)]


def write(folder: Path, sizes: list[int]) -> Path:
    """Write the pairs in blocks of the given sizes."""
    with Appender(folder, "key", FILES) as spool:
        begin = 0
        for corpus, size in enumerate(sizes):
            lines = np.arange(begin, begin + size) * 10 + 1
            text = to_bytes(SOURCES[begin : begin + size], TARGETS[begin : begin + size])
            append_block(spool, corpus, lines, text, lines[:, None].astype(np.uint64))
            begin += size
        spool.commit({})
    return folder


def test_pairs_come_back_as_they_went(tmp_path: Path) -> None:
    spool = Spool(write(tmp_path, [15, 0, 20, 5]))
    assert len(spool.places) == 3, "a block of no pairs is none"
    blocks = list(spool)
    assert [block.corpus for block in blocks] == [0, 2, 3]
    assert [line for block in blocks for line in block.lines] == [10 * place + 1 for place in range(40)]
    assert [line for block in blocks for line in block.sources] == SOURCES
    assert [line for block in blocks for line in block.targets] == TARGETS
    assert spool.starts.tolist() == [0, 15, 35, 40]
    assert np.fromfile(tmp_path / "keys", "<u8").tolist() == [10 * place + 1 for place in range(40)]


def test_only_what_is_kept_comes_back(tmp_path: Path) -> None:
    kept = np.arange(40) % 3 == 0
    spool = Spool(write(tmp_path, [15, 25]), kept)
    assert [line for block in spool for line in block.targets] == TARGETS[::3]
    assert [line for block in spool for line in block.lines] == [10 * place + 1 for place in range(0, 40, 3)]


def test_a_sample_is_all_where_it_may_be(tmp_path: Path) -> None:
    spool = Spool(write(tmp_path, [15, 25]))
    assert [pair.source for pair in sample(spool, 40)] == SOURCES
    assert [pair.target for pair in sample(spool, 99)] == TARGETS


def test_a_sample_of_more_than_numpy_draws_from_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "MOST_HYPERGEOMETRIC", 1)
    spool = Spool(write(tmp_path, [15, 25]))
    drawn = [SOURCES.index(pair.source) for pair in sample(spool, 20)]
    assert drawn == sorted(set(drawn))
    assert len(drawn) == 20


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("spool"), [7, 1, 13, 19])


@given(size=st.integers(0, 40), kept=st.lists(st.booleans(), min_size=40, max_size=40))
def test_a_sample_is_of_the_size_asked_for_in_order_without_repeats(blocks: Path, size: int, kept: list[bool]) -> None:
    spool = Spool(blocks, np.array(kept))
    places = [SOURCES.index(pair.source) for pair in sample(spool, size)]
    assert len(places) == min(size, sum(kept))
    assert places == sorted(set(places))
    assert all(kept[place] for place in places)
    assert [SOURCES.index(pair.source) for pair in sample(spool, size)] == places


def test_every_pair_is_as_likely_as_any_other(tmp_path: Path, monkeypatch) -> None:
    spool = Spool(write(tmp_path, [3, 17, 20]))
    drawn: Counter[str] = Counter()
    for seed in range(400):
        monkeypatch.setattr("nmtkit.corpus.spool.SAMPLE_SEED", seed)
        drawn.update(pair.source for pair in sample(spool, 10))
    assert sum(drawn.values()) == 4_000
    # 100 expected each, with a standard deviation of 8.7
    assert all(60 < drawn[source] < 140 for source in SOURCES)
