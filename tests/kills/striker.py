"""nmtkit in a process that sends itself a signal at a certain moment: `striker.py SIGNAL MOMENT PLACE COUNT ARGUMENT…`.

    before MODULE:NAME   at the COUNT-th call of a function, before it begins
    after MODULE:NAME    at the COUNT-th call, once it has returned
    within MODULE:NAME   at the COUNT-th file opened, renamed or removed since its first call
    half record|weights|picture
                         at the COUNT-th such thing written, of which half is there
    import MODULE        at the beginning of the COUNT-th import since that of MODULE
    file FOLDER          at the COUNT-th file of FOLDER opened, renamed or removed; with a COUNT of 0 never, but how
                         many there were is written to stdout
    later SECONDS        so much later, from another thread

Words before these: `--put MODULE:NAME=JSON` gives a constant another value, a list as a tuple; `--group` sends the
signal to all processes of its group, as a terminal does.

The product has no hooks for this: functions are replaced in their modules, files and imports watched by an audit hook.

With `serve` for its only argument it imports what training needs, then reads a line of JSON for each such process,
[OUTPUT FILE, [SIGNAL, …]], forks it, waits for it and writes its exit code: importing costs many times what training
does in a test.
"""

import functools
import importlib
import json
import os
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

SERVED = (
    "nmtkit.cli",
    "nmtkit.commands.train",
    "nmtkit.search.beam",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "sacrebleu.metrics.bleu",
    "torch._dynamo",
)
"""What a training imports sooner or later."""

FILE_EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}

HALVES: dict[str, tuple[str, Callable[[tuple[Any, ...]], Any]]] = {
    "record": ("nmtkit.log:MetricsWriter.write", lambda arguments: arguments[0]._file.name),
    "weights": ("nmtkit.training.tensor_folder:save_file", lambda arguments: arguments[1]),
    "picture": ("matplotlib.figure:Figure.savefig", lambda arguments: arguments[1]),
}
"""Functions that write to a file, and which file by their arguments."""


class Countdown:
    """Sends the signal at the COUNT-th tick."""

    def __init__(self, number: int, count: int, *, group: bool = False) -> None:
        self._number, self._left, self._group = number, count, group
        self.ticks = 0

    def tick(self) -> None:
        """Count one."""
        self.ticks += 1
        self._left -= 1
        if self._left == 0 and self._group:
            os.killpg(0, self._number)
        elif self._left == 0:
            os.kill(os.getpid(), self._number)


def replace(place: str, change: Callable[[Any], Any]) -> None:
    """Put something changed, mostly a function, in the place of MODULE:NAME, where NAME may be CLASS.NAME."""
    module, _, name = place.partition(":")
    *path, last = name.split(".")
    owner = functools.reduce(getattr, path, importlib.import_module(module))
    setattr(owner, last, change(getattr(owner, last)))


def put(setting: str) -> None:
    """Give the constant of MODULE:NAME=JSON its value."""
    place, _, value = setting.partition("=")
    content = json.loads(value)
    replace(place, lambda _: tuple(content) if isinstance(content, list) else content)


def before(countdown: Countdown, place: str) -> None:
    """Tick before each call."""

    def change(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def changed(*arguments: Any, **named: Any) -> Any:
            countdown.tick()
            return function(*arguments, **named)

        return changed

    replace(place, change)


def after(countdown: Countdown, place: str, then: Callable[[tuple[Any, ...]], None] = lambda _: None) -> None:
    """Tick after each call; `then` comes first at the call that counts."""

    def change(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def changed(*arguments: Any, **named: Any) -> Any:
            result = function(*arguments, **named)
            if countdown._left == 1:
                then(arguments)
            countdown.tick()
            return result

        return changed

    replace(place, change)


def half(countdown: Countdown, what: str) -> None:
    """Tick once something was written; where it counts, the end of the file is missing."""
    place, file_of = HALVES[what]

    def cut(arguments: tuple[Any, ...]) -> None:
        file = file_of(arguments)
        os.truncate(file, os.path.getsize(file) - 20)  # noqa: PTH202  a name or a path

    after(countdown, place, cut)


def within(countdown: Countdown, place: str) -> None:
    """Tick at each operation on a file since the first call."""
    called = threading.Event()

    def change(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def changed(*arguments: Any, **named: Any) -> Any:
            called.set()
            return function(*arguments, **named)

        return changed

    def hook(event: str, _: tuple[Any, ...]) -> None:
        if event in FILE_EVENTS and called.is_set():
            countdown.tick()

    replace(place, change)
    sys.addaudithook(hook)


def imports(countdown: Countdown, module: str) -> None:
    """Tick at each import since that of a module."""
    begun = threading.Event()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "import" and threading.current_thread() is threading.main_thread():
            if arguments[0] == module:
                begun.set()
            if begun.is_set():
                countdown.tick()

    sys.addaudithook(hook)


def files(countdown: Countdown, folder: str) -> None:
    """Tick at each operation on a file of a folder; those of shutil.rmtree are relative to a folder that is open."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in FILE_EVENTS or isinstance(arguments[0], int):
            return
        in_open_folder = event in ("os.remove", "os.rmdir") and arguments[1] != -1
        if in_open_folder or os.fsdecode(arguments[0]).startswith(folder):
            countdown.tick()

    sys.addaudithook(hook)


def later(countdown: Countdown, seconds: str) -> None:
    """Tick once, from a thread that does not keep the process alive."""
    timer = threading.Timer(float(seconds), countdown.tick)
    timer.daemon = True
    timer.start()


MOMENTS = {
    "before": before,
    "after": after,
    "within": within,
    "half": half,
    "import": imports,
    "file": files,
    "later": later,
}


def serve() -> None:
    """Fork a process for each line of standard input, which the test sends."""
    for module in SERVED:
        importlib.import_module(module)
    for line in sys.stdin:
        output, arguments = json.loads(line)
        process = os.fork()
        if process == 0:
            os._exit(forked(Path(output), arguments))
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


def forked(output: Path, arguments: list[str]) -> int:
    """Be the process that was asked for and return its exit code; its stderr goes to a file, its stdout to another."""
    for descriptor, name in ((1, "out"), (2, "said")):
        os.dup2(os.open(output.with_suffix(f".{name}"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    try:
        strike(arguments)
    except SystemExit as ending:
        return int(ending.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def strike(arguments: list[str]) -> None:
    """Arm, then run nmtkit with the remaining arguments."""
    group = False
    while arguments[0].startswith("--"):
        if arguments[0] == "--group":
            group, arguments = True, arguments[1:]
        else:
            put(arguments[1])
            arguments = arguments[2:]
    number, moment, place, count = arguments[:4]
    sys.argv = ["nmtkit", *arguments[4:]]
    countdown = Countdown(signal.Signals[number], int(count), group=group)
    MOMENTS[moment](countdown, place)
    try:
        runpy.run_module("nmtkit", run_name="__main__", alter_sys=True)
    finally:
        if count == "0":
            sys.stdout.write(f"{countdown.ticks}\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        strike(sys.argv[1:])
