from collections import Counter
from pathlib import Path

from nmtkit.corpus.cleaning import KeptPair
from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.spool import read_spool, sample_spool, write_spool

PAIRS = [KeptPair(place % 2, 10 * place + 1, SentencePair(f"größe {place}", f"\u3000{place}")) for place in range(40)]


def test_pairs_come_back_as_they_went(tmp_path: Path) -> None:
    write_spool(tmp_path / "spool", PAIRS)
    assert list(read_spool(tmp_path / "spool")) == PAIRS


def test_the_digest_is_that_of_texts_in_order(tmp_path: Path) -> None:
    digest = write_spool(tmp_path / "spool", PAIRS)
    moved = [pair._replace(line=pair.line + 7, corpus=0) for pair in PAIRS]
    assert write_spool(tmp_path / "spool", moved) == digest
    assert write_spool(tmp_path / "spool", PAIRS[::-1]) != digest
    swapped = [PAIRS[0]._replace(pair=SentencePair(*PAIRS[0].pair[::-1])), *PAIRS[1:]]
    assert write_spool(tmp_path / "spool", swapped) != digest


def test_a_sample_is_all_where_it_may_be(tmp_path: Path) -> None:
    write_spool(tmp_path / "spool", PAIRS)
    assert list(sample_spool(tmp_path / "spool", 40, 40)) == [kept.pair for kept in PAIRS]


def test_a_sample_is_the_same_each_time_and_without_repeats(tmp_path: Path) -> None:
    write_spool(tmp_path / "spool", PAIRS)
    sample = list(sample_spool(tmp_path / "spool", 40, 10))
    assert sample == list(sample_spool(tmp_path / "spool", 40, 10))
    assert len(set(sample)) == 10
    assert set(sample) < {kept.pair for kept in PAIRS}


def test_every_pair_is_as_likely(tmp_path: Path) -> None:
    # Four blocks of 2,000 equal texts: a sample of 2,000 holds about 500 of each.
    pairs = [KeptPair(0, 1, SentencePair(str(place // 2_000), "x")) for place in range(8_000)]
    write_spool(tmp_path / "spool", pairs)
    counts = Counter(pair.source for pair in sample_spool(tmp_path / "spool", 8_000, 2_000))
    assert sum(counts.values()) == 2_000
    assert all(420 < counts[str(part)] < 580 for part in range(4))
