import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy.formats import tmx_file, tmx_of

from nmtkit.corpus import tmx
from nmtkit.corpus.blocks import MISSING_LANGUAGE
from nmtkit.corpus.reader import PairCounts
from nmtkit.errors import DataError

HEAD = '<?xml version="1.0"?>\n'


def write(folder: Path, body: str, head: str = HEAD) -> Path:
    path = folder / "memory.tmx"
    path.write_text(f'{head}<tmx version="1.4"><header/><body>{body}</body></tmx>', encoding="utf-8")
    return path


def unit(*variants: tuple[str, str], lang: str = "xml:lang") -> str:
    texts = [f'<tuv {lang}="{code}"><seg>{text}</seg></tuv>' for code, text in variants]
    return f"<tu>{''.join(texts)}</tu>"


def pairs(path: Path, codes: tuple[str, str] = ("en", "de")) -> list[tuple[str, str]]:
    return list(tmx_file(path, codes).pairs(PairCounts()))


def test_codes_match_themselves_and_what_is_more_precise(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        unit(("EN_gb", "colour"), ("de-AT", "Farbe"))
        + unit(("en-US", "color"), ("en-GB", "colour"), ("de", "Farbe"), ("de", "Färbung"))
        + unit(("de", "grün"), ("en-GB", "green"), ("en", "Green"), lang="lang"),
    )
    assert pairs(path) == [("colour", "Farbe"), ("color", "Farbe"), ("Green", "grün")]
    assert pairs(path, ("en-GB", "de")) == [("colour", "Farbe"), ("colour", "Farbe"), ("green", "grün")]
    assert pairs(path, ("de", "en")) == [("Farbe", "colour"), ("Farbe", "color"), ("grün", "Green")]


def test_units_that_lack_a_language_are_left_out_and_numbered(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        unit(("en", "a"), ("fr", "b"))
        + unit(("en", "c"), ("de", "d"))
        + "<tu><tuv xml:lang='en'><seg>e</seg></tuv><tuv xml:lang='de'/></tu>"
        + unit(("eng", "f"), ("den", "g"))
        + unit(("en", ""), ("de", "h")),
    )
    text = tmx_file(path)
    counts = PairCounts()
    assert list(text.pairs(counts)) == [("c", "d"), ("", "h")]
    assert counts.left_out == {MISSING_LANGUAGE: [1, 3, 4]}
    (block,) = text.blocks()
    assert (list(block.numbers), block.last, block.first) == ([2, 5], 5, 2)
    assert text.count_pairs() == 5


def test_a_file_without_the_languages_names_those_it_has(tmp_path: Path) -> None:
    path = write(tmp_path, unit(("fr", "a"), ("en", "b")) + unit(("fr", "c"), ("es", "d")))
    with pytest.raises(
        DataError, match=r"none of its 2 units has both en and de; its languages are fr \(2\), en \(1\), es"
    ):
        pairs(path)
    with pytest.raises(DataError, match=r"none of its 0 units has both en and de; its languages are no texts"):
        pairs(write(tmp_path, ""))


def test_markup_inside_segments(tmp_path: Path) -> None:
    marked = (
        'A <hi type="bold">bold <hi>word</hi></hi>, <bpt i="1">&lt;a title="<sub>not <hi>this</hi></sub>"></bpt>linked'
        '<ept i="1">&lt;/a></ept>, un<it pos="begin">&lt;i></it>done<ph x="1"/>; one<ph type="lb">&lt;br/></ph>two'
        "<ut>code</ut><unknown>kept</unknown>."
    )
    path = write(tmp_path, unit(("en", marked), ("de", "x<![CDATA[<y> & z]]>&amp;&#228;")))
    assert pairs(path) == [("A bold word, linked, undone; one twokept.", "x<y> & z&ä")]


def test_a_line_break_is_a_space_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path, unit(("en", "one\ntwo\r\nthree&#10;four"), ("de", "a\tb")))
    counts = PairCounts()
    assert list(tmx_file(path).pairs(counts)) == [("one two three four", "a b")]
    assert counts.source.separators_replaced == 3
    (block,) = tmx_file(path).blocks()
    assert b"\n" not in block.sources[0]


def test_text_outside_segments_is_none(tmp_path: Path) -> None:
    path = write(tmp_path, f"<tu>no<note>no</note><prop>no</prop>{unit(('en', 'a'), ('de', 'b')).removeprefix('<tu>')}")
    assert pairs(path) == [("a", "b")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "iso-8859-1", "windows-1252"])
def test_encodings_that_a_file_declares(tmp_path: Path, encoding: str) -> None:
    declared = {"utf-8-sig": "utf-8", "utf-16-le": "utf-16"}.get(encoding, encoding)
    content = tmx_of([("café", "größe")]).decode().replace("utf-8", declared, 1)
    start = "\ufeff" if encoding == "utf-16-le" else ""
    path = tmp_path / "memory.tmx"
    path.write_bytes((start + content).encode(encoding))
    assert pairs(path) == [("café", "größe")]


def test_a_document_type_that_is_only_named_is_not_fetched(tmp_path: Path) -> None:
    (tmp_path / "tmx14.dtd").write_bytes(b"not to be read")
    for doctype in (
        'SYSTEM "tmx14.dtd"',
        'PUBLIC "-//LISA OSCAR:1998//DTD for TMX//EN" "http://localhost:9/tmx14.dtd"',
    ):
        assert pairs(write(tmp_path, unit(("en", "a"), ("de", "b")), f"<!DOCTYPE tmx {doctype}>")) == [("a", "b")]


BOMB = "".join(
    ['<!DOCTYPE tmx [<!ENTITY a "ha">']
    + [f'<!ENTITY {new} "{10 * old}">' for old, new in zip(("&a;", "&b;", "&c;", "&d;"), "bcde", strict=True)]
    + ["]>"]
)


@pytest.mark.parametrize(
    ("head", "text", "said"),
    [
        (BOMB, "&e;", "declares the entity 'a', which may be made to fill the memory"),
        ('<!DOCTYPE tmx [<!ENTITY f SYSTEM "FILE">]>', "&f;", "declares the entity 'f'"),
        ('<!DOCTYPE tmx [<!ENTITY % p SYSTEM "FILE"> %p;]>', "x", "declares the entity 'p'"),
        (
            '<!DOCTYPE tmx SYSTEM "tmx14.dtd">',
            "&eacute;",
            "uses the entity 'eacute', which is not explained in the file",
        ),
        ("", "&eacute;", r"no well-formed XML \(undefined entity\)"),
    ],
)
def test_entities_are_refused(tmp_path: Path, head: str, text: str, said: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    head = head.replace("FILE", (tmp_path / "secret").as_uri())
    path = write(tmp_path, unit(("en", text), ("de", "b")), HEAD + head)
    with pytest.raises(DataError, match=rf"^[^\n]*memory.tmx, line 2, column \d+: {said}[^\n]*; [^\n]*$"):
        pairs(path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"one\teins\n", r"line 1, column 1: no well-formed XML \(syntax error\); repair the file"),
        (b"", r"no well-formed XML \(no element found\)"),
        (b"<html><tu/></html>", r"is no TMX file: it begins with <html>, not <tmx>; check the name"),
        (b"<tmx><body><tu>", r"line 1, column 16: no well-formed XML \(no element found\)"),
        (b"<tmx>\n<body></tmx>", r"line 2, column 9: no well-formed XML \(mismatched tag\)"),
        (b"<tmx>\xff</tmx>", r"line 1, column 6: no well-formed XML \(not well-formed"),
        (b"<tmx>&#x1f;</tmx>", r"reference to invalid character number"),
        (
            b'<?xml version="1.0" encoding="klingon"?><tmx/>',
            r"an encoding that is not known .*convert the file to UTF-8",
        ),
        (
            b'<?xml version="1.0" encoding="gb2312"?><tmx/>',
            r"an encoding that is not known .*convert the file to UTF-8",
        ),
        (b'<?xml version="1.0" encoding="utf-16"?><tmx/>', r"encoding specified in XML declaration is incorrect"),
    ],
)
def test_what_is_no_tmx_is_told_with_its_place(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "memory.tmx"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"memory.tmx[^\n]*{said}[^\n]*$"):
        pairs(path)


def test_what_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tmx, "LONGEST", 300_000)
    with pytest.raises(DataError, match=r"a segment longer than 0 MiB; divide or remove it"):
        pairs(write(tmp_path, unit(("en", "x" * 500_000), ("de", "b"))))
    with pytest.raises(DataError, match=r"a tag or comment longer than 0 MiB; repair the file"):
        pairs(write(tmp_path, f"<!-- {'x' * 900_000} -->"))


@given(content=st.binary(max_size=60), cut=st.integers(0, 500), place=st.integers(0, 500))
def test_any_damage_gives_pairs_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, cut: int, place: int
) -> None:
    whole = tmx_of([("one", "eins"), ("two", "zwei")])
    path = tmp_path_factory.mktemp("damage") / "memory.tmx"
    path.write_bytes(whole[:place] + content + whole[place + cut :])
    message = ""
    try:
        found = pairs(path)
        assert 1 <= len(found) <= 2
    except DataError as error:
        message = str(error)
    assert "\n" not in message


def big(size: int) -> Iterator[bytes]:
    """Yield a memory of about `size` bytes."""
    begin, end = tmx_of([("BREAK", "x")]).split(b'<tu tuid="1">')[0], b"</body></tmx>"
    yield begin
    written = number = 0
    while written < size:
        units = "".join(
            unit(("en", f"sentence {place} of many, &amp; none like it"), ("de", f"Satz {place} von vielen"))
            for place in range(number, number + 5000)
        ).encode()
        number += 5000
        written += len(units)
        yield units
    yield end


def write_big(path: Path, size: int) -> None:
    with path.open("wb") as stream:
        for block in big(size):
            stream.write(block)


def test_a_larger_memory_takes_no_more_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.tmx"
    write_big(path, 2_000_000)
    tracemalloc.start()
    count = 0
    for block in tmx_file(path).blocks(50_000):
        assert block.sources[0] == b"sentence %d of many, & none like it" % count
        count += len(block.sources)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count > 10_000
    assert peak < 1_500_000


@pytest.mark.full
def test_200_megabytes_take_no_more_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.tmx"
    write_big(path, 200_000_000)
    script = (
        "import resource, sys; from pathlib import Path; from nmtkit.corpus.blocks import TextFile, TmxFile\n"
        "file = TmxFile(TextFile(Path(sys.argv[1]), 'big'), ('en', 'de'))\n"
        "start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "pairs = sum(len(block.sources) for block in file.blocks(1 << 20))\n"
        "print(pairs, start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    path.unlink()
    count, before, after = map(int, done.stdout.split())
    assert count > 1_000_000
    assert after - before < 60_000  # kilobytes


def test_the_number_of_a_unit_is_that_of_its_tag(tmp_path: Path) -> None:
    path = write(tmp_path, "".join(unit(("en", f"{n}"), ("de" if n % 3 else "fr", "x")) for n in range(1, 50)))
    for size in (1, 10, 1000):
        numbers = [
            (number, int(source))
            for block in tmx_file(path).blocks(size)
            for number, source in zip(block.numbers, block.sources, strict=True)
        ]
        assert numbers == [(n, n) for n in range(1, 50) if n % 3]


def test_xml_never_holds_the_sign_that_stands_for_a_line_break() -> None:
    with pytest.raises(tmx.expat.ExpatError, match="invalid character number"):
        tmx.expat.ParserCreate().Parse("<tmx>&#11;</tmx>", True)


@pytest.mark.full
@pytest.mark.parametrize("check", [test_any_damage_gives_pairs_or_one_line])
def test_ten_thousand_cases(check: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> None:
    settings(max_examples=10_000)(check)(tmp_path_factory=tmp_path_factory)
