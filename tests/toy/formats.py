"""Parallel texts written in every form that nmtkit reads."""

import bz2
import gzip
import lzma
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from nmtkit.corpus.blocks import TextFile, TmxFile, TsvFile, TwoFiles
from nmtkit.corpus.reader import ParallelText

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CONTROLS = {"\r": "&#13;"}
"""Characters that markup cannot hold as they are."""

Pairs = Sequence[tuple[str, str]]

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda content: gzip.compress(content, 1, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lambda content: lzma.compress(content, preset=0),
    ".zst": zstd.compress,
}
"""What packs the content of a file, by the ending of its name."""


def text_file(path: Path) -> TextFile:
    return TextFile(path, str(path))


def two_files(source: Path, target: Path, name: str = "text") -> ParallelText:
    return ParallelText(name, (TwoFiles(text_file(source), text_file(target)),))


def tsv_file(path: Path, columns: tuple = (), name: str = "text") -> ParallelText:
    return ParallelText(name, (TsvFile(text_file(path), columns),))


def tmx_file(path: Path, codes: tuple[str, str] = ("en", "de"), name: str = "text") -> ParallelText:
    return ParallelText(name, (TmxFile(text_file(path), codes),))


def lines_of(texts: Sequence[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def tsv_of(pairs: Pairs) -> bytes:
    return lines_of([f"{source}\t{target}" for source, target in pairs])


def tmx_of(pairs: Pairs, *, encoding: str = "utf-8", head: str = "", codes: tuple[str, str] = ("en-GB", "de")) -> bytes:
    units = []
    for number, pair in enumerate(pairs, start=1):
        variants = [
            f"<tuv xml:lang={quoteattr(code)}><prop>p</prop><seg>{escape(text, CONTROLS)}</seg></tuv>\n"
            for code, text in zip(codes, pair, strict=True)
        ]
        units.append(f'<tu tuid="{number}"><note>no text</note>\n{"".join(variants)}</tu>\n')
    begin = f'<?xml version="1.0" encoding="{encoding}"?>\n{head}<tmx version="1.4">\n<header srclang="en"/>\n<body>\n'
    return f"{begin}{''.join(units)}</body>\n</tmx>\n".encode(encoding)


def sgm_of(texts: Sequence[str], kind: str = "srcset") -> bytes:
    segments = [f'<seg id="{number}">{escape(text, CONTROLS)}</seg>\n' for number, text in enumerate(texts, start=1)]
    return f'<{kind} setid="test"><doc docid="d" sysid="s">\n<p>\n{"".join(segments)}</p>\n</doc></{kind}>\n'.encode()


def _two(end: str, pack: Callable[[bytes], bytes], write: Callable[[list[str]], bytes]) -> Callable[..., ParallelText]:
    def form(folder: Path, pairs: Pairs) -> ParallelText:
        paths = folder / f"both.en{end}", folder / f"both.de{end}"
        for path, texts in zip(paths, zip(*pairs, strict=True), strict=True):
            path.write_bytes(pack(write(list(texts))))
        return two_files(*paths)

    return form


def _one(
    end: str, write: Callable[[Pairs], bytes], open_: Callable[[Path], ParallelText]
) -> Callable[..., ParallelText]:
    def form(folder: Path, pairs: Pairs) -> ParallelText:
        path = folder / f"both{end}"
        path.write_bytes(write(pairs))
        return open_(path)

    return form


FORMS: dict[str, Callable[[Path, Pairs], ParallelText]] = {
    **{f"lines{end}": _two(end, pack, lines_of) for end, pack in PACKERS.items()},
    "members.zst": _two(
        ".zst", lambda content: b"".join(zstd.compress(line) for line in content.splitlines(keepends=True)), lines_of
    ),
    "sgm": _two(".sgm", bytes, sgm_of),
    "sgm.gz": _two(".sgm.gz", PACKERS[".gz"], sgm_of),
    "tsv": _one(".tsv", tsv_of, tsv_file),
    "tsv named": _one(
        ".tsv",
        lambda pairs: tsv_of([("de\tx", "en"), *((f"{target}\t-", source) for source, target in pairs)]),
        lambda path: tsv_file(path, ("en", "de")),
    ),
    "tsv numbered": _one(
        ".tsv.xz",
        lambda pairs: PACKERS[".xz"](lines_of([f"{target}\t\t{source}\t4" for source, target in pairs])),
        lambda path: tsv_file(path, (3, 1)),
    ),
    "tmx": _one(".tmx", tmx_of, tmx_file),
    "tmx utf-16": _one(".tmx", lambda pairs: tmx_of(pairs, encoding="utf-16"), tmx_file),
    "tmx.bz2": _one(".tmx.bz2", lambda pairs: PACKERS[".bz2"](tmx_of(pairs)), tmx_file),
}
"""What writes pairs into a folder in one form and returns the text that reads them again. Texts hold no line feed."""
