"""Reads the text tables of the lexicon: sections of rows with columns, checked as they are read."""

from collections.abc import Iterator
from importlib import resources
from typing import NamedTuple


class Row(NamedTuple):
    """One line of a table. `where` names it in messages."""

    where: str
    section: str
    columns: list[str]

    def wrong(self, why: str) -> ValueError:
        """Return the error that says what is wrong with this row."""
        return ValueError(f"{self.where}: {' | '.join(self.columns)}: {why}")


def read_rows(name: str, text: str, columns: int | None) -> Iterator[Row]:
    """Yield the rows of a table; `columns` is how many each has at most, shorter ones being filled up with "".

    Raises ValueError where a row has no section, more columns, or nothing in its first.
    """
    section = ""
    for number, line in enumerate(text.split("\n"), start=1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        if content.startswith("[") and content.endswith("]"):
            section = content[1:-1]
            continue
        row = Row(f"{name}, line {number}", section, [cell.strip() for cell in content.split("|")])
        if not section:
            raise row.wrong("stands above the first section")
        if not row.columns[0]:
            raise row.wrong("the first column is empty")
        if columns is not None:
            if len(row.columns) > columns:
                raise row.wrong(f"{len(row.columns)} columns; there are {columns}")
            row.columns.extend([""] * (columns - len(row.columns)))
        yield row


def packaged(name: str) -> str:
    """Return the text of a table that lies beside this module."""
    return (resources.files("nmtkit.sample") / name).read_text(encoding="utf-8")
