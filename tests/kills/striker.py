"""nmtkit in a process that sends itself a signal at a certain moment: `striker.py SIGNAL MOMENT PLACE COUNT ARGUMENT…`.

    before MODULE:NAME   at the COUNT-th call of a function, before it begins
    after MODULE:NAME    at the COUNT-th call, once it has returned
    amid MODULE:NAME     half a second into the COUNT-th call, which does not begin before: other threads go on
    within MODULE:NAME   at the COUNT-th file opened, renamed or removed since its first call
    half record|weights|picture
                         at the COUNT-th such thing written, of which half is there
    import MODULE        at the beginning of the COUNT-th import since that of MODULE
    file FOLDER          at the COUNT-th file of FOLDER opened, renamed or removed; with a COUNT of 0 never, but how
                         many there were is written to stdout
    later SECONDS        so much later, from another thread
    memory MODULE:NAME   no signal: each call of `Engine._add`, or of what has its arguments, with a part of more than
                         COUNT sentences finds the memory of a GPU too small
    spoil MODULE:NAME    no signal: four calls of `Engine.gradients`, from the COUNT-th on, find losses infinite

The signal HANG is none: the thread that comes to that moment sleeps for good.

Words before these:

    --put MODULE:NAME=JSON   gives a constant another value, a list as a tuple
    --group                  sends the signal to all processes of its group, as a terminal does
    --parent                 sends it to the process that started this one
    --wait                   goes on only once this process, too, has been sent it
    --also SIGNAL MOMENT PLACE COUNT
                             another signal at another moment
    --only NAME=VALUE        strikes only where the environment says so: one of several processes

The product has no hooks for this: functions are replaced in their modules, files and imports watched by an audit hook.

With `serve MODULE…` for its arguments it imports what training needs, and these modules, then reads lines of JSON,
each for some processes that work together: [SECONDS, [[OUTPUT FILE, [SIGNAL, …], ENVIRONMENT], …]]. It forks them into
a group of their own, waits for them and writes their exit codes: importing costs many times what training does in a
test. Once one has ended badly the others have so many seconds to end too, and are killed then, as a launcher would.

A Python process with this folder's `site` in its PYTHONPATH arms itself as the variable NMTKIT_TEST_STRIKE says, in
JSON: [SIGNAL, MOMENT, PLACE, COUNT] and words before these.
"""

import contextlib
import ctypes
import functools
import importlib
import json
import math
import os
import runpy
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection
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

MOST_SECONDS = 600.0
"""Time for processes that work together."""

PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that a process gets once the one that forked it has ended."""

FILE_EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}

HALVES: dict[str, tuple[str, Callable[[tuple[Any, ...]], Any]]] = {
    "record": ("nmtkit.log:MetricsWriter.write", lambda arguments: arguments[0]._file.name),
    "weights": ("nmtkit.training.tensor_folder:save_file", lambda arguments: arguments[1]),
    "picture": ("matplotlib.figure:Figure.savefig", lambda arguments: arguments[1]),
}
"""Functions that write to a file, and which file by their arguments."""


class Countdown:
    """Sends the signal at the COUNT-th tick."""

    def __init__(self, name: str, count: int, words: Collection[str] = ()) -> None:
        """`words`: "--group" or "--parent", where it is not for this process, and "--wait"."""
        self._name, self._left, self._words = name, count, words
        self.ticks = 0

    def tick(self) -> None:
        """Count one."""
        self.ticks += 1
        self._left -= 1
        if self._left == 0:
            self._strike()

    def _strike(self) -> None:
        if self._name == "HANG":
            threading.Event().wait()
        number = signal.Signals[self._name]
        if "--group" in self._words:
            os.killpg(0, number)
        else:
            os.kill(os.getppid() if "--parent" in self._words else os.getpid(), number)
        while "--wait" in self._words and signal.getsignal(number) != signal.SIG_DFL:  # which the first leaves behind
            time.sleep(0.01)


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


def amid(countdown: Countdown, place: str) -> None:
    """Tick before each call; where it counts, wait first."""

    def change(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def changed(*arguments: Any, **named: Any) -> Any:
            if countdown._left == 1:
                time.sleep(0.5)
            countdown.tick()
            return function(*arguments, **named)

        return changed

    replace(place, change)


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


def memory(countdown: Countdown, place: str) -> None:
    """Let calls with a part of more than COUNT sentences find the memory too small."""

    def change(function: Callable[..., Any]) -> Callable[..., Any]:
        import torch

        @functools.wraps(function)
        def changed(engine: Any, part: Any, *arguments: Any) -> Any:
            if len(part.batch.source.lengths) > countdown._left:
                raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate more than there is")
            return function(engine, part, *arguments)

        return changed

    replace(place, change)


def spoil(countdown: Countdown, place: str) -> None:
    """Let four calls, of which the first is the COUNT-th, return losses that are infinite."""

    def change(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def changed(*arguments: Any, **named: Any) -> Any:
            outcome = function(*arguments, **named)
            countdown._left -= 1
            return outcome._replace(sums=outcome.sums * math.inf) if -4 < countdown._left <= 0 else outcome

        return changed

    replace(place, change)


MOMENTS = {
    "before": before,
    "after": after,
    "amid": amid,
    "within": within,
    "half": half,
    "import": imports,
    "file": files,
    "later": later,
    "memory": memory,
    "spoil": spoil,
}


def serve(modules: list[str]) -> None:
    """Fork processes for each line of standard input, which the test sends."""
    for module in (*SERVED, *modules):
        importlib.import_module(module)
    for line in sys.stdin:
        seconds, asked = json.loads(line)
        group, processes = 0, []
        for output, arguments, environment in asked:
            process = os.fork()
            if process == 0:
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                os.setpgid(0, group)
                os.environ.update(environment)
                os._exit(forked(Path(output), arguments))
            with contextlib.suppress(PermissionError):  # it did so itself, or has ended
                os.setpgid(process, group)
            group = group or process
            processes.append(process)
        codes = ended(processes, seconds)
        sys.stdout.write(f"{json.dumps([codes[process] for process in processes])}\n")
        sys.stdout.flush()


def ended(processes: list[int], seconds: float) -> dict[int, int]:
    """Wait for processes and return their exit codes; once one has ended badly, the others have so many seconds.

    In any case none outlives MOST_SECONDS.
    """
    going = {os.pidfd_open(process): process for process in processes}
    codes: dict[int, int] = {}
    until = time.monotonic() + MOST_SECONDS
    while going:
        left = min(MOST_SECONDS, max(0.0, until - time.monotonic()))
        found = select.select([*going, sys.stdin], [], [], left)[0]
        for descriptor in found:
            if descriptor is sys.stdin:  # the test has ended: nobody asks before there is an answer
                raise SystemExit(1)
            process = going.pop(descriptor)
            os.close(descriptor)
            codes[process] = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        if found and any(codes.values()):
            until = min(until, time.monotonic() + seconds)
        elif not found:
            for process in going.values():
                os.kill(process, signal.SIGKILL)
            until = math.inf
    return codes


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
    countdown, count, rest = arm(arguments)
    sys.argv = ["nmtkit", *rest]
    try:
        runpy.run_module("nmtkit", run_name="__main__", alter_sys=True)
    finally:
        if count == 0:
            sys.stdout.write(f"{countdown.ticks}\n")


def arm(arguments: list[str]) -> tuple[Countdown, int, list[str]]:
    """See that all happens as the arguments say, and return those that are nmtkit's."""
    options, armed, puts, also = set(), True, [], []
    while arguments[0].startswith("--"):
        word = arguments[0]
        if word in ("--group", "--parent", "--wait"):
            options, arguments = options | {word}, arguments[1:]
        elif word == "--also":
            also, arguments = [*also, arguments[1:5]], arguments[5:]
        elif word == "--only":
            name, _, value = arguments[1].partition("=")
            armed, arguments = armed and os.environ.get(name) == value, arguments[2:]
        else:
            puts, arguments = [*puts, arguments[1]], arguments[2:]
    for setting in puts if armed else []:
        put(setting)
    countdowns = []
    for name, moment, place, count in [arguments[:4], *reversed(also)]:  # what is said first happens first
        countdowns.append(Countdown(name, int(count), options))
        if armed:
            MOMENTS[moment](countdowns[-1], place)
    return countdowns[0], int(arguments[3]), arguments[4:]


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2:])
    else:
        strike(sys.argv[1:])
