"""What trains, put together: how many threads compute."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from nmtkit import workers
from nmtkit.commands import train_parts
from nmtkit.commands.train_parts import share_threads
from nmtkit.training.group import Group


class Gathered(Group):
    """A group whose other processes are bound to cores of a host."""

    def __init__(self, *others: tuple[str, set[int]]) -> None:
        self.others = others

    def gather(self, value: Any) -> list[Any]:
        """Return what all say."""
        return [value, *self.others]


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A machine of eight cores, of which torch uses all."""
    before = torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(workers, "CPU_QUOTA", workers.Path("/nowhere"))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(train_parts.platform, "node", lambda: "here")
    torch.set_num_threads(8)
    yield monkeypatch
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("others", "threads"),
    [
        ([], 8),
        ([("here", set(range(8)))], 4),
        ([("here", set(range(8)))] * 2, 2),
        ([("here", set(range(8)))] * 15, 1),
        ([("here", set(range(8, 16))), ("there", set(range(8)))], 8),
    ],
)
@pytest.mark.usefixtures("eight")
def test_cores_are_shared_out_among_the_processes_that_may_use_them(
    others: list[tuple[str, set[int]]], threads: int
) -> None:
    share_threads(Gathered(*others))
    assert torch.get_num_threads() == threads


def test_a_number_of_threads_that_is_given_stays(eight: pytest.MonkeyPatch) -> None:
    eight.setenv("OMP_NUM_THREADS", "8")
    share_threads(Gathered(("here", set(range(8)))))
    assert torch.get_num_threads() == 8
