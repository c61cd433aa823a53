"""Checksums against accidents, at the speed of memory. Imports no torch.

The words of each block are added up, so that one bit, or a block lost or moved, makes a difference, and the sums are
hashed. Measured in checkpoints: 3 % of what writing takes, where CRC-32 would be a quarter.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIGEST_BYTES = 8
BLOCK = 2**16
"""Words of 8 bytes that are added up."""
PART = 2**26
"""Bytes of a file that are in memory at a time: whole blocks."""


class Checksum:
    """A checksum of all that is added, in this order and in these parts."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=DIGEST_BYTES)

    def add(self, content: NDArray[Any]) -> None:
        """Add the bytes of an array in one dimension."""
        content = content.view(np.uint8)
        words = content[: len(content) // 8 * 8].view(np.uint64)
        if len(words):
            self._hash.update(np.add.reduceat(words, range(0, len(words), BLOCK)).tobytes())
        self._hash.update(content[len(words) * 8 :].tobytes())

    def say(self, fact: str) -> None:
        """Add what is known of the content beside its bytes."""
        self._hash.update(f"{fact}\n".encode())

    def hexadecimal(self) -> str:
        """Return it so far."""
        return self._hash.hexdigest()


def file_checksum(path: Path, advance: Callable[[int], None] = lambda _: None) -> str:
    """Return a checksum of the content of a file; `advance` hears of the bytes as they are read. Raises OSError."""
    checksum, size = Checksum(), 0
    with path.open("rb") as stream:
        while len(part := np.fromfile(stream, np.uint8, PART)):
            checksum.add(part)
            size += len(part)
            advance(len(part))
    checksum.say(f"{size} bytes")
    return checksum.hexadecimal()
