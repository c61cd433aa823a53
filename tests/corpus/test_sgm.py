from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy.formats import sgm_of, text_file, two_files

from nmtkit.corpus.lines import EncodingError, count_lines, read_lines
from nmtkit.corpus.reader import PairCounts
from nmtkit.corpus.sgm import Segment, is_sgm, parse, read_segments
from nmtkit.errors import DataError


def texts(content: str) -> list[str]:
    return [segment.text.decode() for segment in parse(content.encode())]


def test_segments_come_in_order_with_their_names_and_references_resolved(tmp_path: Path) -> None:
    path = tmp_path / "test.en.sgm"
    path.write_text(
        '<srcset setid="newstest" srclang="any">\n<doc docid="a-1" genre="news" origlang="en">\n<hl>\n'
        '<seg id="1"> R&amp;D &lt;b&gt; &quot;x&quot; &apos;y&apos; &#233;&#xe9;&eacute; &euro; </seg>\n</hl>\n<p>\n'
        '<seg id="2">AT&T &nosuch; &amp;lt; a < b > c &copy without end</seg>\n</p>\n</doc>\n'
        "<DOC DocId='b 2'>\n<P><SEG ID=7>\ntwo\n  lines \r\n</SEG></P></DOC></srcset>\n",
        encoding="utf-8",
    )
    assert read_segments(path) == [
        Segment("a-1", "1", "R&D <b> \"x\" 'y' ééé €".encode()),
        Segment("a-1", "2", b"AT&T &nosuch; &lt; a < b > c &copy without end"),
        Segment("b 2", "7", b"two lines"),
    ]
    assert list(read_lines(path)) == [segment.text.decode() for segment in read_segments(path)]
    assert count_lines(path) == 3


def test_unclosed_tags_end_where_the_next_begins() -> None:
    assert texts("<doc docid=x><p><seg id=1>one\n<seg id=2>two</p><p>no text<seg id=3>three</doc>no<seg>four") == [
        "one",
        "two",
        "three",
        "four",
    ]


def test_only_its_own_tags_are_markup() -> None:
    assert texts("<seg>I <3 <b>you</b> <segment> <http://x.y> <paragraph></seg><!-- <seg>no</seg> -->") == [
        "I <3 <b>you</b> <segment> <http://x.y> <paragraph>"
    ]
    assert texts("<seg></seg>\n<seg> </seg>") == ["", ""]


@pytest.mark.parametrize("name", ["a.sgm", "a.en.SGM", "b.sgml", "a.sgm.gz", "a.sgm.zst"])
def test_it_is_told_by_its_name(name: str) -> None:
    assert is_sgm(Path("folder") / name)
    assert not is_sgm(Path("a.sgm") / f"{name}.txt")


@pytest.mark.parametrize("before", ["größe", "plain"], ids=["beside UTF-8", "alone"])
def test_what_is_not_utf_8_is_named_not_guessed_at(tmp_path: Path, before: str) -> None:
    path = tmp_path / "old.sgm"
    path.write_bytes(f"<seg>{before}</seg>\n<seg>fine</seg><seg>caf".encode() + b"\xe9</seg>")
    with pytest.raises(
        EncodingError, match=r"old.sgm, segment 3, byte 4: 0xe9 is not UTF-8; convert the file to UTF-8"
    ):
        list(read_lines(path))
    assert list(read_lines(path, invalid="mark")) == [before, "fine", None]


def test_a_file_without_segments_is_told(tmp_path: Path) -> None:
    path = tmp_path / "plain.sgm"
    path.write_bytes(b"one\ntwo\n")
    for read in (read_segments, count_lines, lambda path: list(read_lines(path))):
        with pytest.raises(DataError, match=r"plain.sgm holds no segment \(<seg>\); an SGM file has them"):
            read(path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    text = two_files(tmp_path / "gone.sgm", tmp_path / "gone.de")
    for read in (text.blocks, lambda: text.pairs(PairCounts())):
        with pytest.raises(DataError, match=r"gone.sgm does not exist; check the name"):
            list(read())


def test_files_of_two_test_sets_do_not_go_together(tmp_path: Path) -> None:
    source, target = tmp_path / "src.sgm", tmp_path / "ref.sgm"
    source.write_bytes(b'<doc docid="a"><seg id="1">one</seg><seg id="2">two</seg></doc>')
    text = two_files(source, target)
    target.write_bytes(b'<doc docid="a"><seg id="1">eins</seg><seg id="3">drei</seg></doc>')
    with pytest.raises(
        DataError, match=r"segment 2 of .*src.sgm is 2 of document a but that of .*ref.sgm is 3 of docu"
    ):
        list(text.pairs(PairCounts()))
    target.write_bytes(b"<doc><seg>eins</seg><seg>zwei</seg></doc>")
    assert list(text.pairs(PairCounts())) == [("one", "eins"), ("two", "zwei")]
    target.write_bytes(b"<doc><seg>eins</seg></doc>")
    with pytest.raises(DataError, match=r"src.sgm has 2 lines but .*ref.sgm has 1;"):
        list(text.pairs(PairCounts()))


def test_it_may_stand_beside_a_file_of_lines(tmp_path: Path) -> None:
    (tmp_path / "src.sgm").write_bytes(sgm_of(["one", "two"]))
    (tmp_path / "ref.de").write_bytes(b"eins\nzwei\n")
    text = two_files(tmp_path / "src.sgm", tmp_path / "ref.de")
    assert list(text.pairs(PairCounts())) == [("one", "eins"), ("two", "zwei")]
    assert text.count_pairs() == 2
    assert text.files == (text_file(tmp_path / "src.sgm").path, tmp_path / "ref.de")


@given(content=st.binary(max_size=80) | st.lists(st.sampled_from(["<seg>", "</seg>", "&#", "x41;", "é", "\n"])))
def test_anything_gives_segments_on_one_line_each(content: bytes | list[str]) -> None:
    raw = "".join(content).encode() if isinstance(content, list) else content
    for segment in parse(raw):
        assert b"\n" not in segment.text
