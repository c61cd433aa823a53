"""Numbers: whether a translation holds the same ones as its line. Models invent, double and lose them."""

import re
from dataclasses import dataclass

_DIGITS = re.compile(r"\d+")


@dataclass
class NumberCounts:
    """Counts the lines whose translation holds other numbers. A number is a run of digits of any script.

    Order, and what stands between the runs (1,000.50 or 1.000,50), do not matter.
    """

    lines: int = 0
    differing: int = 0
    first: int = 0
    """The first of them, counted from 1; 0: none."""

    def add(self, line: str, translation: str) -> None:
        """Compare the next line with its translation."""
        self.lines += 1
        if _numbers(line) != _numbers(translation):
            self.differing += 1
            self.first = self.first or self.lines


def _numbers(text: str) -> list[str]:
    return sorted("".join(str(int(digit)) for digit in run) for run in _DIGITS.findall(text))
