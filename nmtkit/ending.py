"""How a command ends: exit codes, and what is said on stderr when it fails."""

import errno
import io
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand

import nmtkit
from nmtkit.errors import AlreadySaid, NmtkitError, Terminated, raise_terminated
from nmtkit.talk import say

INTERRUPTED, TERMINATED, BROKEN_PIPE, INTERNAL = 130, 143, 141, 70

_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some of your quota",
    errno.EACCES: "check the permissions of file and folder",
    errno.EPERM: "check the permissions of file and folder",
    errno.EROFS: "choose a folder that can be written to",
    errno.ENOENT: "check the name",
    errno.ENOTDIR: "check the name: a part of it is no folder",
    errno.EISDIR: "name a file, not a folder",
    errno.EEXIST: "choose another name",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
}

_NO_MEMORY = ("DefaultCPUAllocator: can't allocate memory", "CUDA out of memory")
"""How torch says that the memory of a CPU is too small, or that of a GPU."""

_RAISED_BY_SIGNAL = re.compile(rf"\b({KeyboardInterrupt.__name__}|{Terminated.__name__}):\s*$")
"""How pydantic's error ends if a signal comes while it builds a class: it makes an error of its own of every other."""


class Command(TyperCommand):
    """A command whose failures become a message and an exit code, a traceback only where nmtkit is at fault."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help of arguments and options in groups."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            default = "Arguments" if parameter.param_type_name == "argument" else "Options"
            record = parameter.get_help_record(ctx)
            if record is not None:
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or default, []).append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            _take_any_text(sys.stdout)
            with _tidying_up():
                result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
            return result
        except Exception as error:
            raise typer.Exit(report(error)) from None
        except KeyboardInterrupt as error:
            raise typer.Exit(_stopped(isinstance(error, Terminated))) from None


@contextmanager
def _tidying_up() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does: temporary files are removed first."""
    usual = signal.getsignal(signal.SIGTERM)
    if usual is not signal.SIG_DFL or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, raise_terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _take_any_text(stdout: Any) -> None:
    """Let results be UTF-8 wherever they go but to a terminal, and hold any character and any file name."""
    if isinstance(stdout, io.TextIOWrapper):
        stdout.reconfigure(encoding=None if stdout.isatty() else "utf-8", errors="backslashreplace")


def _stopped(terminated: bool) -> int:
    """Say on stderr that a signal ended the command and return the exit code."""
    say(f"nmtkit: {'terminated' if terminated else 'interrupted'}")
    return TERMINATED if terminated else INTERRUPTED


def report(error: Exception) -> int:
    """Say on stderr what happened and return the exit code."""
    if isinstance(error, NmtkitError):
        for line in () if isinstance(error, AlreadySaid) else str(error).split("\n"):
            say(f"nmtkit: error: {line}")
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        # Who read the output went away, as `head` does; end as quietly as a program ended by SIGPIPE. Python would
        # complain when it flushes stdout at its end, so what is left goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    if isinstance(error, OSError) and error.errno is not None:
        file = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        remedy = _REMEDIES.get(error.errno, "check the file system")
        say(f"nmtkit: error: {file}{error.strerror}; {remedy}")
        return NmtkitError.exit_code
    if isinstance(error, MemoryError) or any(said in str(error) for said in _NO_MEMORY):
        say(
            "nmtkit: error: the memory is too small; lower train.batch.tokens_per_tensor, translate.batch_tokens, "
            "translate.chunk_lines or the sizes of [model], or end other programs"
        )
        return NmtkitError.exit_code
    if raised := _RAISED_BY_SIGNAL.search(str(error)):
        return _stopped(raised[1] == Terminated.__name__)
    say("".join(traceback.format_exception(error)).rstrip("\n"))
    say(f"nmtkit: internal error: a bug in nmtkit {nmtkit.__version__}; please report it with the text above")
    return INTERNAL
