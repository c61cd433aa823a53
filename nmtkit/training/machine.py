"""What a training runs on: software by its versions and source, the machine by its parts. Imports torch late."""

import hashlib
import os
import platform
import subprocess
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nmtkit
from nmtkit.workers import processors

if TYPE_CHECKING:
    import torch

PACKAGES = ("torch", "numpy", "sentencepiece", "sacremoses", "regex", "sacrebleu", "safetensors")
"""What decides on text, weights and scores."""

CPUINFO = Path("/proc/cpuinfo")
GIT_SECONDS = 10
"""How long git may take, on a file system that is slow."""


def software() -> dict[str, Any]:
    """Return versions, and where nmtkit itself comes from.

    `commit` is that of the git checkout that nmtkit runs from and `changed` whether its code differs from that; None
    where there is none, or git does not tell. `source` is a digest of the code itself, equal for equal code.
    """
    package = Path(nmtkit.__file__).resolve().parent
    return {
        "nmtkit": nmtkit.__version__,
        **checkout(package),
        "source": source_digest(package),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
    }


@cache
def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def checkout(package: Path) -> dict[str, Any]:
    """Return commit and state of the git checkout in which the folder of a package lies right at the top."""
    commit = _git(package, "rev-parse", "HEAD") if (package.parent / ".git").exists() else None
    changes = _git(package, "status", "--porcelain", "--", ".") if commit else None
    return {"commit": commit, "changed": None if changes is None else bool(changes)}


@cache  # what runs was read at its start
def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git says; None where it is not there or refuses."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"  # it shall change nothing
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=environment, capture_output=True, check=True, timeout=GIT_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip()


@cache
def source_digest(package: Path) -> str:
    """Return the SHA-256 of all files of a package and their names, hexadecimal."""
    total = hashlib.sha256()
    files = (path for path in package.rglob("*") if "__pycache__" not in path.parts and path.is_file())
    for path in sorted(files, key=lambda path: path.relative_to(package).parts):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.relative_to(package).as_posix()} {content}\n".encode())
    return total.hexdigest()


def machine(device: "torch.device", *, kernels: bool, hosts: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a training computes on: of this host its parts, and how many processes on which hosts there are.

    `hosts` has the name of the host of each process; none: there is but this one. `threads` are those of each process;
    `gpus` those of this host, where the device is one.
    """
    import torch

    hosts = list(hosts) or [platform.node()]
    return {
        "hosts": list(dict.fromkeys(hosts)),
        "system": platform.platform(),
        "cpu": cpu_name(),
        "cores": processors(),
        "memory": _memory(),
        "gpus": _gpus(device, hosts.count(hosts[0])),
        "cuda": torch.version.cuda if device.type == "cuda" else None,
        "device": device.type,
        "processes": len(hosts),
        "threads": torch.get_num_threads(),
        "kernels": kernels,
    }


def cpu_name() -> str:
    """Return what the processor calls itself."""
    return cpu_fields().get("model name") or platform.processor() or platform.machine()


def cpu_fields() -> dict[str, str]:
    """Return what Linux says of the first processor, by name; nothing where it says nothing."""
    try:
        first = CPUINFO.read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.split("\n"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _memory() -> int | None:
    """Return the bytes of memory of this host."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def gpu_numbers(device: "torch.device", processes: int) -> range:
    """Return the numbers of the GPUs that so many processes of this host compute on: one each, from this one's on."""
    import torch

    if device.type != "cuda":
        return range(0)
    first = device.index if device.index is not None else torch.cuda.current_device()
    return range(first, min(first + max(1, processes), torch.cuda.device_count()))


def _gpus(device: "torch.device", processes: int) -> list[dict[str, Any]]:
    import torch

    properties = [torch.cuda.get_device_properties(number) for number in gpu_numbers(device, processes)]
    return [{"name": each.name, "memory": each.total_memory} for each in properties]
