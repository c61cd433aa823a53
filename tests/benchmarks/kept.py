"""Records kept in a file of JSON lines and found again, so that a benchmark of hours goes on where it stood."""

import json
from pathlib import Path
from typing import Any


class Kept:
    """Records, in memory and, where a path is given, on the disk."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._records: list[dict[str, Any]] = []
        if path is not None and path.exists():
            whole = path.read_bytes().rpartition(b"\n")[0]  # behind the last line feed may stand a half line
            self._records = [json.loads(line) for line in whole.split(b"\n") if line]
            path.write_bytes(whole + b"\n" if whole else b"")

    def find(self, **of: Any) -> dict[str, Any] | None:
        """Return the record that says all this, if there is one."""
        return next((record for record in self._records if of.items() <= record.items()), None)

    def add(self, record: dict[str, Any]) -> None:
        """Keep a record of plain values."""
        self._records.append(record)
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
