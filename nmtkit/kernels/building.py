"""Building the kernels: compiled for this processor at the first use, kept in the user's cache, loaded from there."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

FOLDER = Path(__file__).parent
SOURCE = FOLDER / "kernels.cpp"
FLAGS = (
    "-O3",
    "-std=c++17",
    "-march=native",
    # Sums may be taken in any order; but what is not a number must stay so, which -ffast-math would not promise.
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fassociative-math",
    "-fno-signed-zeros",
    "-fopenmp-simd",
    "-fPIC",
    "-shared",
)
SECONDS = 120


class NotBuilt(Exception):  # noqa: N818  not an error: training goes on without
    """Why there are no kernels, in words for the log."""


def build() -> ctypes.CDLL:
    """Return the library of kernels, compiled now (some three seconds) or before. Raises NotBuilt, saying why not."""
    compiler = _compiler()
    version = _run([compiler, "--version"])
    sources = [path.read_text("utf-8") for path in (SOURCE, *sorted(FOLDER.glob("*.h")))]
    key = hashlib.sha256("\0".join([*sources, *FLAGS, version, _processor()]).encode()).hexdigest()
    cache = _cache()
    try:
        if cache is None:
            with tempfile.TemporaryDirectory(prefix="nmtkit-") as folder:  # what is loaded stays, file or not
                return _load(compiler, Path(folder) / f"kernels-{key[:16]}.so")
        return _load(compiler, cache / f"kernels-{key[:16]}.so")
    except OSError as error:  # a full disk, or no folder for temporary files
        raise NotBuilt(str(error)) from error


def _load(compiler: str, library: Path) -> ctypes.CDLL:
    if library.exists():
        with suppress(OSError):  # damaged: compiled anew
            return ctypes.CDLL(str(library))
    _compile(compiler, library)
    try:
        return ctypes.CDLL(str(library))
    except OSError as error:
        raise NotBuilt(f"{library}: {error}") from error


def _compiler() -> str:
    for name in (os.environ.get("CXX", ""), "c++", "g++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise NotBuilt("there is no C++ compiler (c++, g++ or clang++)")


def _compile(compiler: str, library: Path) -> None:
    """Compile under a name of its own and rename, since several processes may do so at once."""
    handle, name = tempfile.mkstemp(".so", library.stem, library.parent)
    os.close(handle)
    built = Path(name)
    try:
        try:
            _run([compiler, *FLAGS, "-fopenmp", str(SOURCE), "-o", name])
        except NotBuilt:  # a compiler without OpenMP: one thread
            _run([compiler, *FLAGS, str(SOURCE), "-o", name])
        built.chmod(0o755)
        built.replace(library)
    finally:
        built.unlink(missing_ok=True)


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotBuilt(f"{command[0]}: {error}") from error
    if done.returncode:
        told = (done.stderr.strip() or f"exit code {done.returncode}").split("\n")[0]
        raise NotBuilt(f"{command[0]} did not compile the kernels: {told}")
    return done.stdout


def _processor() -> str:
    """Return what -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").split("\n")
    except OSError:
        lines = []
    named = [line for line in lines if line.startswith(("model name", "flags", "Features"))][:2]
    return "\n".join([platform.machine(), platform.processor(), *named])


def _cache() -> Path | None:
    """Return a folder of the user's to keep the library in, or None where there is none to write to."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("HOME")
    if not home:
        return None
    folder = Path(home) / ("nmtkit" if os.environ.get("XDG_CACHE_HOME") else ".cache/nmtkit")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None
