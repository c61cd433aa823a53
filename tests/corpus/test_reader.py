from pathlib import Path

import pytest
from toy.formats import PACKERS, tsv_file, two_files

from nmtkit.corpus.pair import SentencePair
from nmtkit.corpus.reader import PairCounts, ParallelText, check_files, locate, resolve
from nmtkit.corpus.settings import CorpusConfig, LanguagesConfig, ParallelFiles
from nmtkit.errors import ConfigError, DataError

LANGUAGES = LanguagesConfig(source="en", target="de")


def both(folder: Path, source: bytes, target: bytes) -> ParallelText:
    (folder / "a.en").write_bytes(source)
    (folder / "a.de").write_bytes(target)
    return two_files(folder / "a.en", folder / "a.de")


def tsv(folder: Path, content: bytes) -> ParallelText:
    (folder / "a.tsv").write_bytes(content)
    return tsv_file(folder / "a.tsv")


def test_pairs_come_in_order_and_blank_lines_stay_in_step(tmp_path: Path) -> None:
    text = both(tmp_path, b"one\n\nthree\n", b"eins\nzwei\n\n")
    assert list(text.pairs(PairCounts())) == [("one", "eins"), ("", "zwei"), ("three", "")]
    assert text.count_pairs() == 3


@pytest.mark.parametrize(("source", "target"), [(b"1\n2\n3\n4\n5\n", b"1\n2\n"), (b"1\n2\n", b"1\n2\n3\n4\n5\n")])
def test_unequal_files_are_named_with_both_counts(tmp_path: Path, source: bytes, target: bytes) -> None:
    text = both(tmp_path, source, target)
    counts = [len(source) // 2, len(target) // 2]
    expected = rf"a.en has {counts[0]} lines but .*a.de has {counts[1]}; line n .* repair"
    with pytest.raises(DataError, match=expected):
        list(text.pairs(PairCounts()))
    with pytest.raises(DataError, match=expected):
        text.count_pairs()


def test_a_line_separator_inside_a_sentence_shifts_nothing(tmp_path: Path) -> None:
    text = both(tmp_path, "a\u2028b\nnext\n".encode(), b"a\x0cb\nweiter\n")
    counts = PairCounts()
    assert list(text.pairs(counts)) == [("a b", "a b"), ("next", "weiter")]
    assert counts.source.separators_replaced == counts.target.separators_replaced == 1


def test_a_pair_with_an_invalid_side_is_marked_as_a_unit(tmp_path: Path) -> None:
    text = both(tmp_path, b"one\n\xff\nthree\n", b"eins\nzwei\n\xfe\n")
    counts = PairCounts()
    assert list(text.pairs(counts, "mark")) == [("one", "eins"), None, None]
    assert (counts.source.first_invalid, counts.target.first_invalid) == (2, 3)


def test_tsv_columns_are_cut_at_the_tab_and_then_cleaned(tmp_path: Path) -> None:
    text = tsv(tmp_path, "\ufeffone\teins\r\ntw\u2028o\tzw\x00ei\n\xff\t".encode() + b"\n")
    counts = PairCounts()
    pairs = list(text.pairs(counts))
    assert pairs == [("one", "eins"), ("tw o", "zwei"), ("ÿ", "")]
    assert counts.source.separators_replaced == 1
    assert counts.target.controls_removed == 1
    assert text.count_pairs() == 3


@pytest.mark.parametrize(("line", "columns"), [(b"alone", 1), (b"a\tb\tc", 3), (b"", 1)])
def test_tsv_needs_two_columns(tmp_path: Path, line: bytes, columns: int) -> None:
    text = tsv(tmp_path, b"one\teins\n" + line + b"\n")
    with pytest.raises(DataError, match=rf"a.tsv, line 2: {columns} columns where 2 are needed, source TAB target"):
        list(text.pairs(PairCounts()))


def test_invalid_tsv_lines_are_named_or_marked(tmp_path: Path) -> None:
    text = tsv(tmp_path, b"one\teins\ntwo\tzw\xe9i\n")
    with pytest.raises(DataError, match=r"a.tsv, line 2, column 2, byte 3: 0xe9 is not UTF-8"):
        list(text.pairs(PairCounts()))
    assert list(text.pairs(PairCounts(), "mark")) == [SentencePair("one", "eins"), None]


def test_paths_start_from_the_corpus_folder_and_that_from_the_config_file(tmp_path: Path) -> None:
    assert resolve(tmp_path, CorpusConfig(), "a.en") == tmp_path / "a.en"
    assert resolve(tmp_path, CorpusConfig(folder="data"), "a.en") == tmp_path / "data" / "a.en"
    assert resolve(tmp_path, CorpusConfig(folder="/data"), "a.en") == Path("/data/a.en")
    assert resolve(tmp_path, CorpusConfig(folder="data"), "/b/a.en") == Path("/b/a.en")
    assert resolve(tmp_path, CorpusConfig(folder="~/data"), "a.en") == Path.home() / "data" / "a.en"
    files = ParallelFiles(name="x", tsv="a.tsv")
    assert locate(tmp_path, CorpusConfig(), files, LANGUAGES).files == (tmp_path / "a.tsv",)


@pytest.mark.parametrize(("corpus", "name"), [("~no such user", "a.en"), ("", "~no such user/a.en")])
def test_a_home_folder_of_nobody_is_told(tmp_path: Path, corpus: str, name: str) -> None:
    with pytest.raises(ConfigError, match=r"^corpus: '~no such user.*': there is no home folder of that user; write"):
        resolve(tmp_path, CorpusConfig(folder=corpus), name)


def test_a_name_that_no_file_can_have_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^corpus 'one': .*x cannot be read: File name too long; check its name"):
        check_files([tsv_file(tmp_path / ("x" * 300), name="one")])


def test_all_unusable_files_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "good").write_bytes(b"fine\n")
    (tmp_path / "empty.gz").write_bytes(PACKERS[".gz"](b""))
    (tmp_path / "cut.xz").write_bytes(PACKERS[".xz"](b"one\teins\n")[:20])
    texts = [
        two_files(tmp_path / "gone.en", tmp_path / "gone.de", "one"),
        two_files(tmp_path / "empty", tmp_path / "good", "two"),
        tsv_file(tmp_path, name="three"),
        tsv_file(Path("/dev/null"), name="four"),
        two_files(tmp_path / "good", tmp_path / "empty.gz", "five"),
        tsv_file(tmp_path / "cut.xz", name="six"),
    ]
    with pytest.raises(DataError) as raised:
        check_files(texts)
    lines = str(raised.value).split("\n")
    assert [line.split(":")[0] for line in lines] == ["corpus 'one'"] * 2 + [
        "corpus 'two'",
        "corpus 'three'",
        "corpus 'four'",
        "corpus 'five'",
        "corpus 'six'",
    ]
    assert "gone.en does not exist; check the name" in lines[0]
    assert "empty is empty; give a file" in lines[2]
    assert "is a folder; give a file" in lines[3]
    assert "is no regular file, but is read more than once" in lines[4]
    assert "empty.gz is empty; give a file" in lines[5]
    assert "cut.xz is a damaged xz file" in lines[6]
    check_files([two_files(tmp_path / "good", tmp_path / "good")])
