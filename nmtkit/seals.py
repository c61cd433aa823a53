"""Seals: JSON that is known again when it is read, by a checksum over the rest of it. Imports no torch."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

CHECKSUM = "checksum"


def digest(value: Any) -> str:
    """Return the SHA-256 of a value of JSON's types, hexadecimal."""
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def seal(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return content with a checksum over it, by which `unseal` knows it, however JSON sets it out."""
    return {**content, CHECKSUM: digest(content)}


def unseal(data: bytes) -> dict[str, Any]:
    """Return what was sealed and then written as JSON. Raises ValueError for anything else."""
    try:
        content = json.loads(data)
    except RecursionError as error:
        raise ValueError(str(error)) from error
    if not isinstance(content, dict) or content.pop(CHECKSUM, None) != digest(content):
        raise ValueError("it is not what was written")
    return content
