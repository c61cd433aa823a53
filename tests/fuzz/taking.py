"""What comes of an iterator before an error ends it."""

from collections.abc import Iterator
from typing import Any

from nmtkit.errors import DataError


def taken(items: Iterator[Any]) -> tuple[list[Any], DataError | None]:
    """Return what comes of an iterator, and the error that ended it."""
    found = []
    try:
        for item in items:
            found.append(item)
    except DataError as error:
        return found, error
    return found, None
