"""The command line called in this process, its three streams replaced."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pytest
from typer.main import get_command

from nmtkit.cli import app

_COMMAND = get_command(app)
PIPE_HOLDS = 60_000
"""Bytes that can be written into a pipe before anybody reads."""


class Ended(NamedTuple):
    """What a command left behind."""

    code: int
    out: bytes
    err: str

    @property
    def problems(self) -> list[str]:
        """The error messages, without what they begin with; each is one line of stderr."""
        return [
            line.removeprefix("nmtkit: error: ") for line in self.err.split("\n") if line.startswith("nmtkit: error: ")
        ]


def call(*arguments: object, stdin: BinaryIO | None = None) -> Ended:
    """Run `nmtkit ARGUMENTS`; `stdin` is read from, nothing where it is not given."""
    out, err = io.BytesIO(), io.BytesIO()
    text_stdin = io.TextIOWrapper(stdin or io.BytesIO(), encoding="ascii")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", text_stdin)
        patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
        patch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="utf-8", errors="backslashreplace"))
        with pytest.raises(SystemExit) as end:
            _COMMAND.main([str(argument) for argument in arguments], prog_name="nmtkit")
        sys.stdout.flush()
        sys.stderr.flush()
        ended = Ended(int(end.value.code or 0), out.getvalue(), err.getvalue().decode())
    text_stdin.detach()  # whoever gave the stream closes it
    assert "Traceback" not in ended.err, ended.err
    assert ended.code in (0, 1, 2), ended
    assert (ended.code == 0) == (not ended.problems), ended
    return ended


@contextmanager
def sent(content: bytes, folder: Path, *, through_pipe: bool) -> Iterator[Any]:
    """Give a stream that stands for standard input: a pipe, or a file opened for reading."""
    if through_pipe and len(content) <= PIPE_HOLDS:
        read_end, write_end = os.pipe()
        os.write(write_end, content)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as stream:
            yield stream
        return
    (folder / "sent").write_bytes(content)
    with (folder / "sent").open("rb") as stream:
        yield stream
