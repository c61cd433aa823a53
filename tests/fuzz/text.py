"""Bytes and strings as the world sends them: what breaks readers, alone and mixed with ordinary text."""

from hypothesis import strategies as st

from nmtkit.corpus.archives import archive_of_files, packing_of

WORDS = ["the dog", " sees a bird today", ".", "a", " ", "größe", "der alte bäcker", "Ω", "汉字。", "1,000.50", "don't"]

CHARACTERS = [
    # line ends of other programs, and white space
    *"\t\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029",
    *"\xa0\u1680\u2003\u200b\u3000\ufeff",
    # controls
    *"\0\x01\x07\x08\x0e\x1a\x1b\x7f\x80\x9b",
    "\x1b[31m",
    # characters that stick to others, turn the direction, or are made of many
    *"\u0301\u0300\u034f\u200d\ufe0f\u202e\u2066\u2069\u061c\u200f",
    "e\u0301\u0301\u0301",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea",
    "\u1112\u1161\u11ab",
    *"\ufb01\uff21\xbd\u0130\u1e9e\u0345",
    # the ends of the planes, and what stands for a bad byte
    *"\ud7ff\ue000\ufffd\ufffe\uffff\U00010000\U0010ffff",
    # marks of vocabularies, formats and mark-up
    *"▁▅⁇",
    *("<s>", "</s>", "<pad>", "<unk>", "<0x0A>", "<", "@@ ", "##"),
    *("[red]", "[/]", "\\", "%s", "{0}", '"', "'", "&amp;", "$x$"),
    *("BZh9", "PK\3\4"),
]

NOT_UTF8 = [
    b"\xff",
    b"\x80",
    b"caf\xe9",
    b"\xc0\x80",  # NUL, overlong
    b"\xe0\x80\xaf",
    b"\xed\xa0\x80",  # a surrogate, alone
    b"\xed\xa0\xbd\xed\xb8\x80",  # and a pair of them
    b"\xf4\x90\x80\x80",  # beyond U+10FFFF
    b"\xe2\x80",  # the beginning of U+2028
    b"\xf0\x9f\x98",
    "ü\n".encode("utf-16"),
    "a".encode("utf-32-be"),
    # how packed files and archives begin
    b"\x1f\x8b\x08",
    b"\xfd7zXZ\x00",
    b"\x28\xb5\x2f\xfd",
]

_FRAGMENTS = [word.encode() for word in WORDS + CHARACTERS] + NOT_UTF8


def plain(content: bytes) -> bool:
    """Tell whether a file of this content is taken as it is."""
    return packing_of(content[:16]) is None and not archive_of_files(content[:512])


def fragments() -> st.SearchStrategy[bytes]:
    """Return pieces of lines; some hold a line feed."""
    return st.one_of(
        st.sampled_from(_FRAGMENTS),
        st.sampled_from(_FRAGMENTS),
        st.binary(max_size=6),
        st.text(max_size=6).map(str.encode),
    )


def lines(longest: int = 300) -> st.SearchStrategy[bytes]:
    """Return lines of a few pieces, or of one piece up to `longest` times."""
    few = st.lists(fragments(), max_size=6).map(b"".join)
    return st.one_of(few, few, few, st.builds(bytes.__mul__, fragments(), st.integers(1, longest)))


def documents(most: int = 8, longest: int = 300) -> st.SearchStrategy[bytes]:
    """Return files of about `most` lines at most, of all line ends, with and without a byte order mark."""
    return st.builds(
        lambda mark, inside, end, last: mark + end.join(inside) + last,
        st.sampled_from([b"", b"", b"\xef\xbb\xbf"]),
        st.lists(lines(longest), max_size=most),
        st.sampled_from([b"\n", b"\n", b"\r\n", b"\n\n"]),
        st.sampled_from([b"\n", b"\n", b"", b"\r", b"\r\n"]),
    )


def numbered(count: int, longest: int = 300) -> st.SearchStrategy[bytes]:
    """Return files of exactly `count` lines."""
    inside = lines(longest).map(lambda line: line.replace(b"\n", b""))
    return st.lists(inside, min_size=count, max_size=count).map(lambda found: b"".join(line + b"\n" for line in found))


def as_utf8(contents: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Return the same files with U+FFFD for what is not UTF-8; no line is lost."""
    return contents.map(lambda content: content.decode("utf-8", "replace").encode())


def strings() -> st.SearchStrategy[str]:
    """Return strings as Python callers may hand them in: with line feeds and lone surrogates."""
    pieces = st.one_of(
        st.sampled_from([*WORDS, *CHARACTERS, "\n", "\r\n", "\ud800", "\udcff"]), st.text(st.characters(), max_size=6)
    )
    return st.lists(pieces, max_size=8).map("".join)
