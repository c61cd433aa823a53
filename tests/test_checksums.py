from pathlib import Path

import numpy as np
import pytest

from nmtkit.checksums import BLOCK, SIDE, Checksum, file_checksum

WORDS = np.random.default_rng(1).integers(0, 2**63, 2 * BLOCK + 5, np.uint64)


def of(content: bytes, folder: Path) -> str:
    file = folder / "file"
    file.write_bytes(content)
    return file_checksum(file)


def test_a_file_is_told_from_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = WORDS.tobytes() + b"end"
    block = 8 * BLOCK

    def exchanged(first: int, second: int, size: int) -> bytes:
        low, high = sorted((first, second))
        parts = whole[:low], whole[high : high + size], whole[low + size : high], whole[low : low + size]
        return b"".join([*parts, whole[high + size :]])

    others = [
        exchanged(4096, 4 * 4096, 4096),  # pages of memory
        exchanged(8, 16, 8),
        exchanged(8, 8 * SIDE, 8),
        exchanged(100, 104, 4),  # ids
        # one line of a memory that is stuck
        bytes(byte ^ (128 if place in (7, 8 * 5 + 7) else 0) for place, byte in enumerate(whole)),
        bytes(byte ^ (128 if place in (7, 8 * 5 * SIDE + 7) else 0) for place, byte in enumerate(whole)),
        whole[:-1],
        whole + b"\0",
        whole + bytes(8),
        whole[block : 2 * block] + whole[:block] + whole[2 * block :],
        whole[block:],
        *(
            whole[:at] + bytes([whole[at] ^ 128]) + whole[at + 1 :]
            for at in (0, 7, block, len(whole) - 4, len(whole) - 1)
        ),
        b"",
        bytes(8),
        bytes(16),
    ]
    checksums = [of(content, tmp_path) for content in (whole, *others)]
    assert len(set(checksums)) == len(checksums)
    read: list[int] = []
    assert file_checksum(tmp_path / "file", read.append) == checksums[-1]
    assert read == [16]
    monkeypatch.setattr("nmtkit.checksums.PART", block)
    assert of(whole, tmp_path) == checksums[0]


def test_arrays_of_any_numbers_count_by_their_bytes() -> None:
    found = []
    for array in (WORDS, WORDS.view(np.float32), WORDS.view(np.uint8)):
        checksum = Checksum()
        checksum.add(array)
        found.append(checksum.hexadecimal())
    assert len(set(found)) == 1
