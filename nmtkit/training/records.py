"""Records: metrics.jsonl brought back to where a resumed training begins."""

import json
from pathlib import Path

from nmtkit.run_folder import write_text


def drop_later_records(file: Path, update: int, *, average_stands: bool) -> None:
    """Take out of metrics.jsonl what was written after `update`, and half lines, so that no update stands there twice.

    The record of an average of that very update stays only where that average was finished.
    """
    if not file.exists():
        return
    content = file.read_bytes()
    kept = b"".join(line + b"\n" for line in content.split(b"\n") if _stays(line, update, average_stands))
    if kept != content:
        write_text(file, kept.decode("utf-8"))


def _stays(line: bytes, update: int, average_stands: bool) -> bool:
    try:
        record = json.loads(line)
        last = update - 1 if record["kind"] == "average" and not average_stands else update
        return bool(record["update"] <= last)
    except (ValueError, KeyError, TypeError):
        return False
