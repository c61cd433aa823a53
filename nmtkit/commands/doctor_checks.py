"""What `nmtkit doctor` looks at: packages, processor, threads, kernels, GPUs, memory, disk and text encoding."""

import importlib
import locale
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

import nmtkit
from nmtkit.training.machine import cpu_fields, cpu_name
from nmtkit.workers import processors

State = Literal["ok", "warning", "fault"]

GIB = 2**30
LITTLE_MEMORY, LITTLE_DISK, NO_DISK = 4 * GIB, 2 * GIB, GIB // 4
"""Bytes below which training may not fit; a training of the preset tiny with 2,048 tokens a tensor takes some 5 GB."""

VECTORS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
"""Instruction sets that decide how fast matrix products are, as Linux names them."""

MODULES = {"backports-zstd": "backports.zstd"}
"""What is imported of a package, where that is not its name."""

MEMINFO = Path("/proc/meminfo")


class Finding(NamedTuple):
    """One line of the report: what was looked at, what was found, and what to do where that is not well."""

    what: str
    found: str
    state: State = "ok"
    remedy: str = ""
    figures: Mapping[str, float] = MappingProxyType({})
    """What was measured, for programs."""


def versions() -> Iterator[Finding]:
    """Report nmtkit, Python and every package that nmtkit needs; each is imported."""
    yield Finding("nmtkit", nmtkit.__version__)
    yield Finding("Python", platform.python_version())
    try:
        requirements = metadata.requires("nmtkit") or []
    except metadata.PackageNotFoundError:
        yield Finding("packages", "nmtkit runs without being installed", "warning", "install it: pip install .")
        return
    for requirement in requirements:
        named, _, condition = requirement.partition(";")
        if _holds(condition) and (asked := re.fullmatch(r"([\w-]+)>=([\d.]+)", named.replace(" ", ""))):
            yield package(*asked.groups())


def package(name: str, oldest: str) -> Finding:
    """Report a package that must be there in this version or a later one."""
    remedy = f'pip install --upgrade "{name}>={oldest}"'
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, "not installed", "fault", remedy)
    if _numbers(version) < _numbers(oldest):
        return Finding(name, f"{version} is too old", "fault", remedy)
    try:
        importlib.import_module(MODULES.get(name, name.replace("-", "_")))
    except Exception as error:  # a broken package may raise anything
        return Finding(name, f"{version} cannot be imported: {_line(error)}", "fault", f"{remedy} --force-reinstall")
    return Finding(name, version)


def _holds(condition: str) -> bool:
    """Tell whether a requirement is one here: it has no condition, or one of an older Python; no extra asks for it."""
    before = re.fullmatch(r"python_version<[\"']3\.(\d+)[\"']", condition.replace(" ", ""))
    return not condition or (before is not None and sys.version_info < (3, int(before[1])))


def processor() -> Finding:
    """Report the processor and which of the instruction sets that matter it has."""
    name, flags = cpu_name(), cpu_fields().get("flags")
    if flags is None:
        return Finding("processor", name)
    having = [vector for vector in VECTORS if vector in flags.split()]
    import torch

    from nmtkit.training.precision import choose

    found = f"{name}, {' '.join(having) or 'no vector instructions that matter'}"
    if "avx2" not in having:
        return Finding("processor", found, "warning", "training will be very slow; use a machine with AVX2 or a GPU")
    return Finding("processor", f"{found}; trains in {choose('auto', torch.device('cpu'))}")


def threads() -> Finding:
    """Report how many threads compute, and whether they are as many as the processor can run."""
    import torch

    from nmtkit.api import use_threads

    use_threads()
    cores, count = processors(), torch.get_num_threads()
    found = f"{count} on {cores} {'core' if cores == 1 else 'cores'}"
    if count > cores:
        return Finding("threads", found, "warning", f"they wait for each other: set OMP_NUM_THREADS={cores}")
    if count < cores and any(name in os.environ for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")):
        return Finding("threads", found, "warning", "cores lie idle: unset OMP_NUM_THREADS and MKL_NUM_THREADS")
    return Finding("threads", found)


def kernels() -> Finding:
    """Report whether the kernels for training on the processor are there; compiles them where they were not."""
    from nmtkit.kernels.building import NotBuilt
    from nmtkit.kernels.library import Kernels

    try:
        Kernels()
    except NotBuilt as reason:
        remedy = "training on the processor is slower without them: install g++ or clang++, or name a compiler with CXX"
        return Finding("kernels", str(reason), "warning", remedy)
    return Finding("kernels", "compiled for this processor")


def gpus() -> Iterator[Finding]:
    """Report each GPU that torch can use."""
    import torch

    if not torch.cuda.is_available():
        if Path("/dev/nvidia0").exists():
            build = f"torch is built for CUDA {torch.version.cuda}" if torch.version.cuda else "torch is a CPU build"
            remedy = "install the torch that fits its driver: see pytorch.org"
            yield Finding("GPU", f"there is one, but {build} and cannot use it", "warning", remedy)
        else:
            yield Finding("GPU", "none; all computes on the processor")
        return
    for number in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(number)
        bf16 = "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "no bf16"
        yield Finding("GPU", f"cuda:{number} {properties.name}, {properties.total_memory / GIB:.0f} GiB, {bf16}")


def memory() -> Finding:
    """Report how much memory is free for training."""
    try:
        fields = dict(re.findall(r"^(\w+): *(\d+) kB", MEMINFO.read_text(encoding="ascii"), re.MULTILINE))
        total, free = (int(fields[name]) * 1024 for name in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError):
        return Finding("memory", "cannot be told on this system")
    found = f"{free / GIB:.1f} of {total / GIB:.1f} GiB free"
    if free < LITTLE_MEMORY:
        return Finding("memory", found, "warning", "end other programs, or lower train.batch.tokens_per_tensor")
    return Finding("memory", found)


def disk(run: Path) -> Finding:
    """Report the room where a run folder stands or would stand, and whether it can be written there."""
    folder = next(place for place in (run.absolute(), *run.absolute().parents) if place.is_dir())
    try:
        free = shutil.disk_usage(folder).free
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 4096)
    except OSError as error:
        return Finding("disk", f"{folder}: {error.strerror}", "fault", "choose another folder with --run")
    found = f"{free / GIB:.1f} GiB free in {folder}"
    if free < LITTLE_DISK:
        remedy = "make room, lower train.checkpoints.keep_last, or choose another folder with --run"
        return Finding("disk", found, "fault" if free < NO_DISK else "warning", remedy)
    return Finding("disk", found)


def text() -> Iterator[Finding]:
    """Report whether file names and the terminal hold every character. Files of text are UTF-8 in any case."""
    remedy = "set LC_ALL=C.UTF-8 (on Windows PYTHONUTF8=1)"
    for what, encoding in (
        ("locale", locale.getpreferredencoding(do_setlocale=False)),
        ("file names", sys.getfilesystemencoding()),
        ("stdout", getattr(sys.stdout, "encoding", None) or "none"),
    ):
        well = encoding.lower().replace("-", "").replace("_", "") in ("utf8", "cp65001")
        yield Finding(what, encoding) if well else Finding(what, encoding, "warning", remedy)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without what names a build."""
    return tuple(int(number) for number in re.findall(r"\d+", re.split(r"[a-z+]", version)[0]))


def _line(error: Exception) -> str:
    return str(error).split("\n", maxsplit=1)[0] or type(error).__name__
