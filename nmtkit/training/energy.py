"""The energy that a training takes, where counters of it can be read: processors by RAPL (Linux), GPUs by NVML.

They count what the whole processor or GPU takes, whoever makes it work. Nothing is needed that is not there already.
"""

import importlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

POWERCAP = Path("/sys/class/powercap")
SECONDS_BETWEEN_READINGS = 20.0
"""A counter of a processor begins anew after 65,000 joules at the earliest, some minutes at full power."""


class Counter(NamedTuple):
    """A counter of energy. `read` returns microjoules, and raises OSError where that is not possible."""

    name: str
    read: Callable[[], int]
    span: int = 0
    """The microjoules behind which it begins anew at zero; 0: it does not."""


class Found(NamedTuple):
    """Counters that can be read, and a line on each part of the machine that has none."""

    counters: list[Counter]
    unread: list[str]


class EnergyMeter:
    """Adds up what counters count between `start` and `stop`, in a thread that sees each of them begin anew."""

    def __init__(self, found: Found) -> None:
        self._counters = list(found.counters)
        self.unread = list(found.unread)
        """What is not measured, and why."""
        self._joules: dict[str, float] = {}
        self._last: dict[str, int] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()

    def start(self) -> None:
        """Begin to count."""
        self.read()
        if self._counters:
            threading.Thread(target=self._watch, name="energy", daemon=True).start()

    def stop(self) -> None:
        """Read for the last time."""
        self.read()
        self._over.set()

    def read(self) -> dict[str, float]:
        """Return the joules since the start, by counter. One that fails is given up: half a figure would mislead."""
        with self._lock:
            for counter in list(self._counters):
                try:
                    self._add(counter)
                except (OSError, ValueError) as error:
                    self._counters.remove(counter)
                    self._joules.pop(counter.name, None)
                    self.unread.append(f"{counter.name}: could not be read to the end ({error})")
            return dict(self._joules)

    def _add(self, counter: Counter) -> None:
        now = counter.read()
        since = now - self._last.get(counter.name, now)
        if since < 0:
            since += counter.span
        self._last[counter.name] = now
        self._joules[counter.name] = self._joules.get(counter.name, 0.0) + max(0, since) / 1e6

    def _watch(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_READINGS):
            self.read()


def find_counters(gpus: Iterable[int], powercap: Path = POWERCAP) -> Found:
    """Return the counters of the processors of this machine, and of those of its GPUs that are given by number."""
    processors, devices = _processors(powercap), _gpus(list(gpus))
    return Found([*processors.counters, *devices.counters], [*processors.unread, *devices.unread])


def _processors(powercap: Path) -> Found:
    """Find the packages and, beside them, the memory; what lies within a package is counted with it."""
    counters, unread = [], []
    for zone, name in _zones(powercap):
        try:
            span = int((zone / "max_energy_range_uj").read_text(encoding="ascii"))
            counter = Counter(name, _reading(zone / "energy_uj"), span)
            counter.read()
        except (OSError, ValueError) as error:
            unread.append(f"{name}: {zone / 'energy_uj'} cannot be read ({_why(error)})")
        else:
            counters.append(counter)
    if not counters and not unread:
        unread.append(f"processor: this system has no counter of its energy in {powercap}")
    return Found(counters, unread)


def _why(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _zones(powercap: Path) -> Iterator[tuple[Path, str]]:
    """Yield the folders of packages and of memory with their names; `psys`, which holds both, is left out."""
    names: dict[str, str] = {}
    for zone in sorted(powercap.glob("intel-rapl:*")):  # AMD's too
        place = re.fullmatch(r"(intel-rapl:\d+)(:\d+)?", zone.name)
        try:
            name = (zone / "name").read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        if place and not place[2] and name.startswith("package"):
            names[place[1]] = f"processor {name}"
            yield zone, names[place[1]]
        elif place and name == "dram" and place[1] in names:
            yield zone, f"memory of {names[place[1]]}"


def _reading(file: Path) -> Callable[[], int]:
    return lambda: int(file.read_text(encoding="ascii"))


def _gpus(numbers: Sequence[int]) -> Found:
    """Find the GPUs through pynvml, which counts millijoules since the driver was loaded (Volta and later)."""
    if not numbers:
        return Found([], [])
    if find_spec("pynvml") is None:
        return Found([], ["GPU: its energy is read where the package nvidia-ml-py is installed"])
    counters, unread = [], []
    for number in numbers:
        try:
            counter = _gpu(number)
            counter.read()
        except Exception as error:  # pynvml has errors of its own, and torch may not know what a GPU is called
            unread.append(f"GPU {number}: its energy cannot be read ({error})")
        else:
            counters.append(counter)
    return Found(counters, unread)


def _gpu(number: int) -> Counter:
    """Return the counter of a GPU by torch's number, which is not NVML's where some are hidden."""
    import torch

    nvml = importlib.import_module("pynvml")
    nvml.nvmlInit()
    handle = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(number).uuid}")

    def read() -> int:
        try:
            return int(nvml.nvmlDeviceGetTotalEnergyConsumption(handle)) * 1000
        except nvml.NVMLError as error:
            raise OSError(str(error)) from error

    return Counter(f"GPU {number}", read)
