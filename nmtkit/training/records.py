"""Records: metrics.jsonl brought back to where a resumed training begins."""

import json
from pathlib import Path

from nmtkit.run_folder import write_text


def drop_later_records(file: Path, update: int, *, validated: int, average_stands: bool) -> None:
    """Take out of metrics.jsonl what was written after `update`, and half lines, so that no update stands there twice.

    Of that very update, the record of a validation stays only where its score was saved (`validated` is the last update
    of which one was), and the record of an average only where that average was finished.
    """
    if not file.exists():
        return
    last = {"validation": validated, "average": update if average_stands else update - 1}
    content = file.read_bytes()
    kept = b"".join(line + b"\n" for line in content.split(b"\n") if _stays(line, update, last))
    if kept != content:
        write_text(file, kept.decode("utf-8"))


def _stays(line: bytes, update: int, last: dict[str, int]) -> bool:
    """Tell whether a record is of an update up to the last of its kind, or to `update`."""
    try:
        record = json.loads(line.decode("utf-8"))  # of bytes it would take UTF-16 and lone surrogates too
        return bool(record["update"] <= last.get(record["kind"], update))
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
