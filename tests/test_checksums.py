from pathlib import Path

import numpy as np
import pytest

from nmtkit.checksums import Checksum, file_checksum

WORDS = np.random.default_rng(1).integers(0, 2**63, 2**13 + 5, np.uint64)
PAGE = 4096
WHOLE = WORDS.tobytes() + b"end"


def of(content: bytes, folder: Path) -> str:
    file = folder / "file"
    file.write_bytes(content)
    return file_checksum(file)


def exchanged(first: int, second: int, size: int) -> bytes:
    """Return the content in which two pieces have changed places."""
    one, other = WHOLE[first : first + size], WHOLE[second : second + size]
    return WHOLE[:first] + other + WHOLE[first + size : second] + one + WHOLE[second + size :]


def flipped(*places: int) -> bytes:
    """Return the content with the highest bit of some bytes changed."""
    return bytes(byte ^ (128 if place in places else 0) for place, byte in enumerate(WHOLE))


OTHERS = {
    "shorter": WHOLE[:-1],
    "longer": WHOLE + b"\0",
    "a word longer": WHOLE + bytes(8),
    "without its beginning": WHOLE[PAGE:],
    "empty": b"",
    "zeros": bytes(8),
    "more zeros": bytes(16),
    "pages exchanged": exchanged(PAGE, 4 * PAGE, PAGE),
    "words exchanged": exchanged(8, 16, 8),
    "words far apart exchanged": exchanged(8, 8 + 5 * PAGE, 8),
    "ids exchanged": exchanged(100, 108, 4),
    "two bits on one line of the memory": flipped(7, 7 + 8 * 5),
    "four bits on one line of the memory": flipped(7, 7 + 8 * 5, 7 + PAGE, 7 + 8 * 5 + PAGE),
    **{f"bit of byte {at}": flipped(at) for at in (0, 7, PAGE, len(WHOLE) - 4, len(WHOLE) - 1)},
}


def test_a_file_is_told_from_others(tmp_path: Path) -> None:
    checksums = {of(content, tmp_path) for content in (WHOLE, *OTHERS.values())}
    assert len(set(OTHERS.values()) | {WHOLE}) == len(OTHERS) + 1
    assert len(checksums) == len(OTHERS) + 1


def test_in_how_many_parts_a_file_is_read_makes_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, read = of(WHOLE, tmp_path), list[int]()
    monkeypatch.setattr("nmtkit.checksums.PART", PAGE)
    assert file_checksum(tmp_path / "file", read.append) == whole
    assert read == [PAGE] * 16 + [43]


def test_arrays_of_any_numbers_count_by_their_bytes() -> None:
    found = []
    for array in (WORDS, WORDS.view(np.float32), WORDS.view(np.uint8), WORDS[:-5].reshape(64, 128)):
        checksum = Checksum()
        checksum.add(array)
        found.append(checksum.hexadecimal())
    assert len(set(found[:3])) == 1
    assert found[3] != found[0]
