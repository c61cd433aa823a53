"""Freed memory stays with the process where the C library is glibc."""

import platform
import subprocess
import sys
from unittest.mock import patch

import pytest

from nmtkit.training.memory import keep_freed_memory

PROGRAM = """
import resource
from nmtkit.training.memory import keep_freed_memory
assert keep_freed_memory()
import numpy
def touch(): numpy.ones(4_000_000)
touch()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10): touch()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_memory_is_faulted_in_once() -> None:
    """Ten times 32 MB are 78,000 pages of 4 KiB where each is fetched anew."""
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert int(result.stdout) < 8_000


def test_other_systems_are_left_alone() -> None:
    with patch("sys.platform", "darwin"):
        assert not keep_freed_memory()
    with patch("ctypes.CDLL", return_value=object()):
        assert not keep_freed_memory()
