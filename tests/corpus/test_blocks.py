import io
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from toy.formats import FORMS, PACKERS, lines_of, tmx_of, tsv_file, tsv_of, two_files
from toy.texts import SPECIAL

from nmtkit.corpus import lines
from nmtkit.corpus.archives import archive_of_files, packing_of
from nmtkit.corpus.blocks import Block
from nmtkit.corpus.lines import clean
from nmtkit.corpus.reader import PairCounts, ParallelText
from nmtkit.errors import DataError

SAMPLE = [
    ("one", "eins"),
    ("", "zwei"),
    ("R&D <b> \"x\" 'y'", "größe"),
    ("日本 𝄞", ""),
    ("a\u2028b\x0cc", "d\re"),
    ("z", "z"),
]
"""Texts that every form can hold."""


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return request.param


def xml_can_hold(text: str) -> bool:
    return all(char in "\t\r" or (char >= " " and char not in "\ufffe\uffff") for char in text)


def test_equal_content_gives_equal_pairs_in_every_form(form: str, tmp_path: Path) -> None:
    sample = [pair for pair in SAMPLE if "tmx" not in form or all(map(xml_can_hold, pair))]
    text = FORMS[form](tmp_path, sample)
    expected = [(clean(source), clean(target)) for source, target in sample]
    assert list(text.pairs(PairCounts())) == expected
    assert text.count_pairs() == len(sample)


def decoded(blocks: list[Block]) -> list[tuple[int, str, str]]:
    return [
        (number, source.decode(), target.decode())
        for block in blocks
        for number, source, target in zip(block.numbers, block.sources, block.targets, strict=True)
    ]


@pytest.mark.parametrize("size", [1, 7, 100, 1 << 20])
def test_blocks_hold_all_pairs_in_order_whatever_their_size(form: str, size: int, tmp_path: Path) -> None:
    generator = random.Random(size)
    sample = [(f"{number} " + "x" * generator.randrange(30), "y" * generator.randrange(40)) for number in range(60)]
    text = FORMS[form](tmp_path, sample)
    blocks = list(text.blocks(size))
    expected = [
        (number, source.strip() if "sgm" in form else source, target)
        for number, (source, target) in enumerate(sample, 1)
    ]
    assert decoded(blocks) == expected
    assert all(block.first == block.numbers[0] and block.last == block.numbers[-1] for block in blocks)
    assert 0 < sum(block.read for block in blocks) <= text.bytes()
    if size == 1 << 20:
        assert len(blocks) == 1


def test_several_files_are_one_text_whose_numbers_go_on(form: str, tmp_path: Path) -> None:
    parts = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        parts += FORMS[form](tmp_path / name, [(f"{name}1", "x"), (f"{name}2", "y")]).parts
    text = ParallelText("both", tuple(parts))
    assert decoded(list(text.blocks())) == [(1, "a1", "x"), (2, "a2", "y"), (3, "b1", "x"), (4, "b2", "y")]
    assert text.count_pairs() == 4
    assert [name for name, _ in text.named_files()][-1].endswith(" 2")
    place = list(text.blocks())[-1].target_place
    header = form == "tsv named"
    assert place.of(4).startswith(f"{text.files[-1]}, {place.unit} {3 if header else 2}")


def is_plain(content: bytes) -> bool:
    return packing_of(content) is None and not archive_of_files(content)


@given(
    sides=st.tuples(
        st.lists(st.binary(max_size=12).filter(lambda raw: b"\n" not in raw), min_size=1, max_size=8),
        st.lists(st.binary(max_size=12).filter(lambda raw: b"\n" not in raw), min_size=1, max_size=8),
    ),
    size=st.integers(1, 40),
)
def test_two_files_of_any_bytes_give_all_pairs_or_both_counts(
    tmp_path_factory: pytest.TempPathFactory, sides: tuple[list[bytes], list[bytes]], size: int
) -> None:
    folder = tmp_path_factory.mktemp("two")
    paths = folder / "a.en", folder / "a.de"
    for path, raws in zip(paths, sides, strict=True):
        content = b"".join(raw + b"\n" for raw in raws)
        assume(is_plain(content))
        path.write_bytes(content)
    found: list[tuple[bytes, bytes]] = []
    message = ""
    try:
        for block in two_files(*paths).blocks(size):
            found += zip(block.sources, block.targets, strict=True)
    except DataError as error:
        message = str(error)
    sides[0][0], sides[1][0] = (side[0].removeprefix(lines.BOM) for side in sides)
    assert found == list(zip(*sides, strict=False))
    if len(sides[0]) == len(sides[1]):
        assert message == ""
    else:
        counts = [f"{path} has {len(raws)}" for path, raws in zip(paths, sides, strict=True)]
        assert message.startswith(f"{counts[0]} lines but {counts[1]};")


@given(content=st.binary(max_size=60) | st.text("a\t\n\r\ufeff", max_size=30).map(str.encode), size=st.integers(1, 40))
def test_tsv_of_any_bytes_gives_a_pair_a_line_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, size: int
) -> None:
    assume(is_plain(content))
    path = tmp_path_factory.mktemp("tsv") / "a.tsv"
    path.write_bytes(content)
    found: list[tuple[bytes, bytes]] = []
    message = ""
    try:
        for block in tsv_file(path).blocks(size):
            found += zip(block.sources, block.targets, strict=True)
    except DataError as error:
        message = str(error)
    raws = content.removeprefix(lines.BOM).split(b"\n")
    if not raws[-1] and content != lines.BOM:
        raws.pop()
    rows = [raw.split(b"\t") for raw in raws]
    good = next((place for place, row in enumerate(rows) if len(row) != 2), len(rows))
    assert found == [tuple(row) for row in rows[:good]]
    assert message.startswith(f"{path}, line {good + 1}: ") == (good < len(rows))
    assert "\n" not in message


ONE_LINE = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=12)
ANYTHING = st.one_of(ONE_LINE, st.lists(st.sampled_from(SPECIAL), max_size=6).map("".join))


def held(form: str, text: str) -> str:
    """Return the part of a text that a form can hold."""
    if "tmx" in form:
        return "".join(char for char in text if xml_can_hold(char))
    return text.replace("\t", "") if "tsv" in form else text


def cleaned(form: str, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return what cleaning makes of pairs written in a form, whose file may begin with what is a byte order mark."""
    rows = [list(pair) for pair in pairs]
    marked = {"tsv": [0], "tsv numbered": [1]}.get(form, [0, 1] if form.startswith(("lines", "members")) else [])
    for side in marked:
        rows[0][side] = rows[0][side].removeprefix("\ufeff")
    return [(clean(source.removesuffix("\r")), clean(target.removesuffix("\r"))) for source, target in rows]


def squeezed(pairs: list[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Return pairs without spaces at the ends and in a row, which mean nothing in SGM."""
    return [tuple(re.sub(" +", " ", side).strip(" ") for side in pair) for pair in pairs]


@given(
    form=st.sampled_from(list(FORMS)),
    pairs=st.lists(st.tuples(ANYTHING, ANYTHING), min_size=1, max_size=6),
    size=st.integers(1, 100),
)
def test_any_unicode_comes_back_from_every_form(
    tmp_path_factory: pytest.TempPathFactory, form: str, pairs: list[tuple[str, str]], size: int
) -> None:
    pairs = [(held(form, source), held(form, target)) for source, target in pairs]
    assume(all(is_plain(side.encode()) for side in pairs[0]))
    text = FORMS[form](tmp_path_factory.mktemp("any"), pairs)
    found, expected = list(text.pairs(PairCounts())), cleaned(form, pairs)
    assert (squeezed(found) == squeezed(expected)) if "sgm" in form else (found == expected)
    assert sum(len(block.sources) for block in text.blocks(size)) == len(pairs)


def test_columns_by_name_and_number(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"id\ten\tde\r\n1\tone\teins\r\n2\ttwo\tzwei\n")
    assert list(tsv_file(path, ("de", "en")).pairs(PairCounts())) == [("eins", "one"), ("zwei", "two")]
    assert tsv_file(path, ("de", "en")).count_pairs() == 2
    assert next(tsv_file(path, (2, 3)).pairs(PairCounts())) == ("en", "de")
    with pytest.raises(DataError, match=r"a.tsv, line 1: no column is named 'fr'; the names there are id, en, de"):
        list(tsv_file(path, ("en", "fr")).blocks())
    with pytest.raises(DataError, match=r"a.tsv, line 1: 3 columns, so there is no column 4"):
        list(tsv_file(path, (1, 4)).blocks())
    path.write_bytes(b"en\tde\tx\none\teins\t1\ntwo\tzwei\n")
    with pytest.raises(DataError, match=r"a.tsv, line 3: 2 columns where 3 are needed, remove tabs inside columns"):
        list(tsv_file(path, ("en", "de")).blocks())
    path.write_bytes(b"en\tde\n")
    with pytest.raises(DataError, match="holds nothing but the names of its columns"):
        tsv_file(path, ("en", "de")).count_pairs()


def test_bad_bytes_are_named_by_column(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"en\tx\tde\none\t\xff\teins\ntwo\t\tzw\xe9i\n")
    text = tsv_file(path, ("en", "de"))
    with pytest.raises(DataError, match=r"a.tsv, line 3, column 3, byte 3: 0xe9 is not UTF-8"):
        list(text.pairs(PairCounts()))
    counts = PairCounts()
    assert list(text.pairs(counts, "mark")) == [("one", "eins"), None]
    assert counts.target.first_invalid == 2


def test_only_plain_lines_are_counted_soon(form: str, tmp_path: Path) -> None:
    text = FORMS[form](tmp_path, SAMPLE[:2])
    assert text.count_soon() == (2 if form in ("lines", "sgm", "tsv", "tsv named") else None)


def test_unequal_counts_are_told_without_reading_packed_files(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_bytes(b"1\n2\n")
    (tmp_path / "a.de").write_bytes(b"1\n")
    with pytest.raises(DataError, match=r"a.en has 2 lines but .*a.de has 1;"):
        two_files(tmp_path / "a.en", tmp_path / "a.de").count_soon()
    (tmp_path / "b.gz").write_bytes(PACKERS[".gz"](b"1\n"))
    text = two_files(tmp_path / "a.en", tmp_path / "b.gz")
    assert text.count_soon() is None
    with pytest.raises(DataError, match=r"a.en has 2 lines but .*b.gz has 1;"):
        list(text.blocks())
    with pytest.raises(DataError, match=r"a.en has 2 lines but .*b.gz has 1;"):
        text.count_pairs()


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST", 1000)
    monkeypatch.setattr(lines, "BLOCK", 100)
    path = tmp_path / "a.gz"
    path.write_bytes(PACKERS[".gz"](b"fine\n" + bytes(10_000)))
    expected = r"a.gz, line 2 is longer than 0 MiB; give text with one sentence a line"
    with pytest.raises(DataError, match=expected):
        list(two_files(path, path).blocks(100))
    with pytest.raises(DataError, match=expected):
        list(lines.raw_lines(path))


def test_a_stream_that_comes_byte_by_byte_loses_its_byte_order_mark() -> None:
    class Slow(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            return super().read1(1)

    content = lines.BOM + b"one\r\n" + lines.BOM + b"two"
    assert list(lines.split_lines(Slow(content))) == [b"one\r", lines.BOM + b"two"]


def test_how_files_are_read_is_part_of_what_they_are(tmp_path: Path) -> None:
    manners = [
        FORMS[form](tmp_path, SAMPLE[:1]).manner for form in ("lines", "sgm", "tsv", "tsv named", "tsv numbered", "tmx")
    ]
    assert len({str(manner) for manner in manners}) == len(manners)
    assert FORMS["lines"](tmp_path, SAMPLE[:1]).manner == FORMS["lines.gz"](tmp_path, SAMPLE[:1]).manner


def test_the_forms_differ() -> None:
    assert len({lines_of(["a"]), tsv_of([("a", "b")]), tmx_of([("a", "b")])}) == 3


@pytest.mark.full
@pytest.mark.parametrize(
    "check",
    [
        test_two_files_of_any_bytes_give_all_pairs_or_both_counts,
        test_tsv_of_any_bytes_gives_a_pair_a_line_or_one_line,
        test_any_unicode_comes_back_from_every_form,
    ],
)
def test_ten_thousand_cases(check: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> None:
    settings(max_examples=10_000)(check)(tmp_path_factory=tmp_path_factory)
