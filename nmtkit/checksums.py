"""Checksums against accidents, at the speed of memory. Imports no torch.

The words of a block stand in a square, whose rows and columns are added up; these sums are hashed, and so is what fills
no block. So one bit makes a difference, or two of the same place in their words, or words that changed places.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import naming

DIGEST_BYTES = 8
SIDE = 2**7
BLOCK = SIDE * SIDE
"""Words of 8 bytes that are added up: a 64th of them is hashed."""
PART = 2**26
"""Bytes of a file that are in memory at a time: whole blocks."""


class Checksum:
    """A checksum of all that is added, in this order and in these parts."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=DIGEST_BYTES)

    def add(self, content: NDArray[Any]) -> None:
        """Add the bytes of an array in one dimension."""
        content = content.view(np.uint8)
        filled = len(content) // (8 * BLOCK) * (8 * BLOCK)
        squares = content[:filled].view(np.uint64).reshape(-1, SIDE, SIDE)
        self._hash.update(np.concatenate([squares.sum(2), squares.sum(1)], axis=1).tobytes())
        self._hash.update(content[filled:].tobytes())

    def say(self, fact: str) -> None:
        """Add what is known of the content beside its bytes."""
        self._hash.update(f"{fact}\n".encode())

    def hexadecimal(self) -> str:
        """Return it so far."""
        return self._hash.hexdigest()


def file_checksum(path: Path, advance: Callable[[int], None] = lambda _: None) -> str:
    """Return a checksum of the content of a file; `advance` hears of the bytes as they are read. Raises OSError."""
    checksum, size = Checksum(), 0
    with naming(path), path.open("rb") as stream:
        part = np.empty(min(PART, os.fstat(stream.fileno()).st_size + 1), np.uint8)
        while read := stream.readinto(part.data):  # all of it, but at the end
            checksum.add(part[:read])
            size += read
            advance(read)
    checksum.say(f"{size} bytes")
    return checksum.hexadecimal()
