"""What recipes say while they work: lines on stderr, sizes and times in words, errors with their remedy."""

import sys


class RecipeError(Exception):
    """What is wrong and what to do about it; ends a recipe with `code`."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def say(text: str) -> None:
    """Write a line to stderr, at once."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def size(count: float) -> str:
    """Return bytes in words: 658 MB."""
    units = ["bytes", "kB", "MB", "GB", "TB"]
    while count >= 1000 and len(units) > 1:
        count /= 1000
        del units[0]
    unit = units[0]
    return f"{count:,.1f} {unit}" if count < 10 and unit != "bytes" else f"{count:,.0f} {unit}"


def duration(seconds: float) -> str:
    """Return seconds in words: 1 h 07 min."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours < 48 else f"{hours / 24:.1f} days"
