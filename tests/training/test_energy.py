"""The energy of a training: which counters are read, and what they add up to."""

from pathlib import Path
from unittest.mock import patch

import pytest

from nmtkit.training.energy import Counter, EnergyMeter, Found, find_counters

SPAN = 65_000_000_000


def zone(powercap: Path, name: str, called: str, microjoules: int = 1_000) -> Path:
    """Write what Linux shows of a counter."""
    folder = powercap / name
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{called}\n")
    (folder / "max_energy_range_uj").write_text(f"{SPAN}\n")
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    return folder


@pytest.fixture
def powercap(tmp_path: Path) -> Path:
    """The counters of a server of two processors."""
    for number in (0, 1):
        zone(tmp_path, f"intel-rapl:{number}", f"package-{number}")
        zone(tmp_path, f"intel-rapl:{number}:0", "core")
        zone(tmp_path, f"intel-rapl:{number}:1", "dram")
    zone(tmp_path, "intel-rapl:2", "psys")
    zone(tmp_path, "intel-rapl-mmio:0", "package-0")
    return tmp_path


def test_packages_and_memory_are_counted_and_nothing_twice(powercap: Path) -> None:
    found = find_counters([], powercap)
    assert [counter.name for counter in found.counters] == [
        "processor package-0",
        "memory of processor package-0",
        "processor package-1",
        "memory of processor package-1",
    ]
    assert found.unread == []
    assert {counter.span for counter in found.counters} == {SPAN}


def test_joules_are_those_since_the_start(powercap: Path) -> None:
    meter = EnergyMeter(find_counters([], powercap))
    meter.start()
    file = powercap / "intel-rapl:1" / "energy_uj"
    file.write_text(f"{2_501_000}\n")
    assert meter.read()["processor package-1"] == 2.5
    assert meter.read()["processor package-0"] == 0
    file.write_text(f"{3_001_000}\n")
    meter.stop()
    assert meter.read()["processor package-1"] == 3.0


def test_a_counter_that_begins_anew_goes_on() -> None:
    readings = iter([SPAN - 1_000_000, 500_000, SPAN - 500_000, 0])
    meter = EnergyMeter(Found([Counter("a", lambda: next(readings), SPAN)], []))
    with patch("nmtkit.training.energy.threading.Thread"):
        meter.start()
    assert meter.read() == {"a": 1.5}
    assert meter.read() == {"a": pytest.approx(1.5 + SPAN / 1e6 - 1.0)}
    assert meter.read() == {"a": pytest.approx(2.0 + SPAN / 1e6 - 1.0)}


def test_a_thread_reads_before_a_counter_has_begun_anew_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks seldom is told of every round."""
    from threading import Event

    monkeypatch.setattr("nmtkit.training.energy.SECONDS_BETWEEN_READINGS", 0.001)
    count, enough = iter(range(0, 10_000)), Event()

    def read() -> int:
        number = next(count)
        if number >= 20:
            enough.set()
        return number * 600 % 1_000

    meter = EnergyMeter(Found([Counter("a", read, 1_000)], []))
    meter.start()
    assert enough.wait(30)
    meter.stop()
    read_in_all = next(count) - 1
    assert meter.read()["a"] * 1e6 >= 600 * (read_in_all - 1)


def test_a_counter_that_fails_is_given_up_and_named(powercap: Path) -> None:
    meter = EnergyMeter(find_counters([], powercap))
    meter.start()
    (powercap / "intel-rapl:0" / "energy_uj").unlink()
    assert "processor package-0" not in meter.read()
    assert "processor package-1" in meter.read()
    (line,) = meter.unread
    assert line.startswith("processor package-0: could not be read to the end (")
    meter.stop()


def test_what_cannot_be_read_is_said_with_the_reason(powercap: Path, tmp_path: Path) -> None:
    file = powercap / "intel-rapl:0" / "energy_uj"
    with patch.object(Path, "read_text", denying(file, Path.read_text)):
        found = find_counters([], powercap)
    assert "processor package-0" not in [counter.name for counter in found.counters]
    assert f"processor package-0: {file} cannot be read (Permission denied)" in found.unread
    nowhere = find_counters([], tmp_path / "nothing")
    assert nowhere == Found([], [f"processor: this system has no counter of its energy in {tmp_path / 'nothing'}"])


def denying(file, read_text):
    def read(path, *arguments, **named):
        if path == file:
            raise PermissionError(13, "Permission denied", str(path))
        return read_text(path, *arguments, **named)

    return read


def test_gpus_without_their_library_are_named(powercap: Path) -> None:
    with patch("nmtkit.training.energy.find_spec", return_value=None):
        found = find_counters([0, 1], powercap)
    assert found.unread == ["GPU: its energy is read where the package nvidia-ml-py is installed"]


class Nvml:
    """What nmtkit uses of pynvml, with two GPUs of which one does not count."""

    class NVMLError(Exception):
        pass

    def __init__(self) -> None:
        self.millijoules = 5_000

    def nvmlInit(self) -> None:  # noqa: N802
        pass

    def nvmlDeviceGetHandleByUUID(self, name: str) -> str:  # noqa: N802
        return name

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:  # noqa: N802
        if handle == "GPU-1":
            raise self.NVMLError("Not Supported")
        return self.millijoules


def test_gpus_are_read_by_their_own_names(powercap: Path) -> None:
    nvml = Nvml()

    class Properties:
        def __init__(self, number: int) -> None:
            self.uuid = number

    with (
        patch("nmtkit.training.energy.find_spec", return_value=object()),
        patch.dict("sys.modules", {"pynvml": nvml}),
        patch("torch.cuda.get_device_properties", Properties),
    ):
        found = find_counters([0, 1], powercap)
        assert found.unread == ["GPU 1: its energy cannot be read (Not Supported)"]
        meter = EnergyMeter(Found(found.counters[-1:], []))
        meter.start()
        nvml.millijoules += 1_500
        assert meter.read() == {"GPU 0": 1.5}
        meter.stop()
