"""A terminal as a person sees it: lines of so many columns, written by text and control sequences."""

import re

_PIECES = re.compile(r"\x1b\[([\d;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class Screen:
    """Understands what progress bars use: carriage return, line feed, cursor up, erase line, colours."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.lines = [""]
        self.wrapped = 0
        """Lines that went on in the next one."""
        self._row = self._column = 0

    def feed(self, text: str) -> "Screen":
        """Write text."""
        at = 0
        for piece in _PIECES.finditer(text):
            assert piece.start() == at, f"not understood: {text[at : piece.start()]!r}"
            at = piece.end()
            count, command, control, plain = piece.groups()
            if control == "\r":
                self._column = 0
            elif control == "\n":
                self._down()
            elif plain:
                self._write(plain)
            elif command == "A":
                self._row = max(0, self._row - int(count or 1))
            elif command == "K":
                assert count == "2", count
                self.lines[self._row] = ""
            else:
                assert command in "mhl", piece[0]  # colours; the cursor hidden and shown
        assert at == len(text)
        return self

    def _down(self) -> None:
        self._row, self._column = self._row + 1, 0
        if self._row == len(self.lines):
            self.lines.append("")

    def _write(self, plain: str) -> None:
        for character in plain:
            if self._column == self.columns:
                self.wrapped += 1
                self._down()
            line = self.lines[self._row].ljust(self._column)
            self.lines[self._row] = line[: self._column] + character + line[self._column + 1 :]
            self._column += 1

    @property
    def shown(self) -> list[str]:
        """What stands there, without empty ends."""
        lines = [line.rstrip() for line in self.lines]
        while lines and not lines[-1]:
            lines.pop()
        return lines
