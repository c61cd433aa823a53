import io
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from toy.formats import PACKERS, zstd

from nmtkit.corpus.archives import archive_of_files, opened, unpacked
from nmtkit.errors import DataError

PACKED = {end: pack for end, pack in PACKERS.items() if end}
NAMES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}


def content_of(path: Path) -> bytes:
    with opened(path) as (stream, _):
        return stream.read()


@pytest.fixture(params=PACKED)
def end(request: pytest.FixtureRequest) -> str:
    return request.param


def test_content_tells_how_a_file_is_packed_whatever_its_name(tmp_path: Path, end: str) -> None:
    for name in ("none", f"right{end}", "wrong.xz"):
        (tmp_path / name).write_bytes(PACKED[end](b"one\ntwo\n"))
        assert content_of(tmp_path / name) == b"one\ntwo\n"


@given(parts=st.lists(st.binary(max_size=300), min_size=1, max_size=5), end=st.sampled_from(list(PACKED)))
def test_members_that_follow_one_another_are_read_whole(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], end: str
) -> None:
    assume(not archive_of_files(b"".join(parts)))
    path = tmp_path_factory.mktemp("members") / "text"
    path.write_bytes(b"".join(map(PACKED[end], parts)))
    assert content_of(path) == b"".join(parts)


def test_zeros_between_and_after_members_are_padding(tmp_path: Path, end: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(PACKED[end](b"one\n") + bytes(70_000) + PACKED[end](b"two\n") + bytes(5))
    assert content_of(path) == b"one\ntwo\n"


def test_an_archive_cut_anywhere_is_an_error_never_a_shorter_text(tmp_path: Path, end: str) -> None:
    whole = PACKED[end](b"first member\n") + PACKED[end](bytes(range(64)) * 2)
    first = len(PACKED[end](b"first member\n"))
    path = tmp_path / f"text{end}"
    for cut in range(1, len(whole)):
        path.write_bytes(whole[:cut])
        if cut == first:
            assert content_of(path) == b"first member\n"
            continue
        with pytest.raises(DataError, match=r"^[^\n]*text\.[^\n]*(damaged|is named)[^\n]*; (fetch|rename)[^\n]*$"):
            content_of(path)


def test_damage_is_told_with_the_remedy(tmp_path: Path, end: str) -> None:
    path = tmp_path / f"text{end}"
    packed = bytearray(PACKED[end](b"some text that packs to a few bytes\n" * 500))
    packed[len(packed) // 2] ^= 0xFF
    packed[-6] ^= 0xFF
    path.write_bytes(packed)
    with pytest.raises(DataError, match=rf"text{end} is a damaged {NAMES[end]} file \([^\n]+\); fetch or compress it"):
        content_of(path)
    path.write_bytes(PACKED[end](b"text\n") + b"something else that follows")
    with pytest.raises(DataError, match=rf"is a damaged {NAMES[end]} file"):
        content_of(path)
    path.write_bytes(b"not packed\n")
    with pytest.raises(DataError, match=rf"is named {end} but is no {NAMES[end]} file; rename it or compress it$"):
        content_of(path)


@given(content=st.binary(max_size=60), end=st.sampled_from(list(PACKED)), data=st.data())
def test_any_damage_gives_some_text_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, end: str, data: st.DataObject
) -> None:
    packed = bytearray(PACKED[end](content))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path_factory.mktemp("damage") / "text"
    path.write_bytes(packed)
    message = ""
    try:
        content_of(path)
    except DataError as error:
        message = str(error)
    assert "\n" not in message


def test_text_that_begins_like_an_archive_stays_text(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"BZh9 is how bzip2 files begin\n")
    assert content_of(path) == b"BZh9 is how bzip2 files begin\n"
    path.write_bytes(b"(\xb5 is not zstd\n")
    assert content_of(path) == b"(\xb5 is not zstd\n"


def test_archives_of_several_files_are_refused(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.write_bytes(b"one\n")
    with zipfile.ZipFile(tmp_path / "text.zip", "w") as archive:
        archive.write(inner)
    with tarfile.open(tmp_path / "text.tar.gz", "w:gz") as archive:
        archive.add(inner)
    for name, kind in (("text.zip", "zip"), ("text.tar.gz", "tar")):
        with pytest.raises(DataError, match=rf"{name} is a {kind} archive, .*; unpack it and name those in it$"):
            content_of(tmp_path / name)


def test_skippable_frames_and_long_windows_of_zstd_are_read(tmp_path: Path) -> None:
    path = tmp_path / "text.zst"
    skippable = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    long = zstd.compress(b"one\n", options={zstd.CompressionParameter.window_log: 30})
    path.write_bytes(skippable + long + skippable)
    assert content_of(path) == b"one\n"


def test_a_stream_is_unpacked_as_it_comes(end: str) -> None:
    """What has come can be read though the rest is not there yet."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.blocks = [b"", b""]

        def readable(self) -> bool:
            return True

        def readinto(self, buffer) -> int:
            block = self.blocks.pop(0)
            assert len(block) <= len(buffer)
            buffer[: len(block)] = block
            return len(block)

    pipe = Pipe()
    pipe.blocks = [PACKED[end](b"one\n"), *pipe.blocks]
    stream = unpacked(io.BufferedReader(pipe), "standard input")
    assert stream.readline() == b"one\n"
    assert len(pipe.blocks) == 2
    assert stream.read() == b""


def test_a_module_that_python_lacks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "text.xz"
    path.write_bytes(PACKERS[".xz"](b"one\n"))
    monkeypatch.setitem(sys.modules, "lzma", None)
    with pytest.raises(
        DataError, match=r"text.xz is packed by xz, for which this Python lacks a module .*; unpack it first$"
    ):
        content_of(path)


def test_a_file_tells_how_much_of_it_was_read(tmp_path: Path, end: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(PACKED[end](b"one\n" * 1000))
    with opened(path) as (stream, position):
        stream.read()
        assert position() == path.stat().st_size


@pytest.mark.full
@pytest.mark.parametrize(
    "check", [test_members_that_follow_one_another_are_read_whole, test_any_damage_gives_some_text_or_one_line]
)
def test_ten_thousand_cases(check: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> None:
    settings(max_examples=10_000)(check)(tmp_path_factory=tmp_path_factory)
