"""Drops: how often something happened to pairs or lines, and where first."""

from collections.abc import Sequence
from dataclasses import dataclass, field

FIRST_LINES = 5
"""Line numbers reported for each reason."""


@dataclass
class Drops:
    """How many pairs (or lines) something happened to, and the numbers of the first."""

    count: int = 0
    first_lines: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        """Count one more."""
        self.count += 1
        if len(self.first_lines) < FIRST_LINES:
            self.first_lines.append(line)

    def extend(self, lines: Sequence[int]) -> None:
        """Count more, in order."""
        self.count += len(lines)
        self.first_lines += lines[: FIRST_LINES - len(self.first_lines)]

    def merge(self, later: "Drops") -> None:
        """Add the count of a part of the text that comes later."""
        self.count += later.count
        self.first_lines += later.first_lines[: FIRST_LINES - len(self.first_lines)]
