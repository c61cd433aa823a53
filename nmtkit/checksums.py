"""Checksums against accidents: CRC-32, which sees one bit, some that a memory holds wrong, and what changed places.

Measured: 3 GB a second on one core of an AMD EPYC, beside other threads. Imports no torch.
"""

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmtkit.errors import naming

PART = 2**26
"""Bytes of a file that are in memory at a time."""


class Checksum:
    """A checksum of all that is added, in this order."""

    def __init__(self) -> None:
        self._sum = 0

    def add(self, content: NDArray[Any]) -> None:
        """Add the bytes of an array, which is contiguous."""
        self._sum = zlib.crc32(content.data, self._sum)

    def say(self, fact: str) -> None:
        """Add what is known of the content beside its bytes."""
        self._sum = zlib.crc32(f"{fact}\n".encode(), self._sum)

    def hexadecimal(self) -> str:
        """Return it so far."""
        return f"{self._sum:08x}"


def file_checksum(path: Path, advance: Callable[[int], None] = lambda _: None) -> str:
    """Return a checksum of the content of a file; `advance` hears of the bytes as they are read. Raises OSError."""
    checksum, size = Checksum(), 0
    with naming(path), path.open("rb") as stream:
        part = np.empty(PART, np.uint8)  # memory that is not written to is not taken
        while read := stream.readinto(part.data):
            checksum.add(part[:read])
            size += read
            advance(read)
    checksum.say(f"{size} bytes")
    return checksum.hexadecimal()
