"""Freed memory stays with the process where the C library is glibc; oneDNN keeps few of its compiled products."""

import os
import platform
import subprocess
import sys
from unittest.mock import patch

import pytest
from toy.projects import Project

from nmtkit.training.memory import (
    COMPILED_KEPT,
    COMPILED_LIMIT,
    keep_freed_memory,
    limit_compiled_products,
    return_freed_memory,
)

BOTH = "keep_freed_memory", "return_freed_memory"

PROGRAM = """
import pathlib, resource, sys
from nmtkit.training.memory import keep_freed_memory, return_freed_memory
for word in sys.argv[1:]: assert {"keep": keep_freed_memory, "return": return_freed_memory}[word]()
import numpy
def held(): return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
before = held()
numpy.ones(4_000_000)
print(held() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
@pytest.mark.parametrize(("words", "kept"), [("keep", True), ("return", False), ("return keep", True)])
def test_what_was_freed_is_kept_or_given_back(words: str, kept: bool) -> None:
    """32 MB of it."""
    command = [sys.executable, "-c", PROGRAM, *words.split()]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (int(result.stdout) > 16_000_000) == kept


@pytest.mark.parametrize(("recompute", "called"), [(False, "keep_freed_memory"), (True, "return_freed_memory")])
def test_who_recomputes_to_save_memory_gives_it_back(fresh: Project, recompute: bool, called: str) -> None:
    done = []
    keep, give = (patch(f"nmtkit.commands.train_parts.{name}", lambda n=name: done.append(n)) for name in BOTH)
    with keep, give:
        fresh.train(f"train.recompute={str(recompute).lower()}")
    assert set(done) == {called}


def test_other_systems_are_left_alone() -> None:
    with patch("sys.platform", "darwin"):
        assert not keep_freed_memory()
    with patch("ctypes.CDLL", return_value=object()):
        assert not keep_freed_memory()
        assert not return_freed_memory()


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
