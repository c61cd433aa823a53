"""Freed memory stays with the process where the C library is glibc; oneDNN keeps few of its compiled products."""

import os
import platform
import subprocess
import sys
from unittest.mock import patch

import pytest

from nmtkit.training.memory import COMPILED_KEPT, COMPILED_LIMIT, keep_freed_memory, limit_compiled_products

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


SHAPES = """
import torch
from nmtkit.training.memory import limit_compiled_products
limit_compiled_products()
weights = torch.ones(64, 64, dtype=torch.bfloat16)
for turn in range(2):
    for rows in range(2, 102):
        torch.ones(rows, 64, dtype=torch.bfloat16) @ weights
"""


@pytest.mark.slow
def test_few_compiled_products_are_kept() -> None:
    """Of a hundred shapes, asked for in turn, none is there any more when it is asked for again."""
    told = {name: value for name, value in os.environ.items() if name != COMPILED_LIMIT} | {"ONEDNN_VERBOSE": "all"}
    found = [compiled(told | more) for more in ({}, {COMPILED_LIMIT: "1024"})]
    if not any(found):
        pytest.skip("bf16 products are not compiled by oneDNN on this processor")
    assert found == [200, 100]


def compiled(environment: dict[str, str]) -> int:
    run = [sys.executable, "-c", SHAPES]
    said = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout
    return said.count("create:cache_miss")


def test_a_user_has_the_last_word() -> None:
    with patch.dict("os.environ"):
        os.environ.pop(COMPILED_LIMIT, None)
        limit_compiled_products()
        assert os.environ[COMPILED_LIMIT] == str(COMPILED_KEPT)
        os.environ[COMPILED_LIMIT] = "7"
        limit_compiled_products()
        assert os.environ[COMPILED_LIMIT] == "7"
