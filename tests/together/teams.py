"""Processes that train together, forked from one that has imported everything, and struck as `kills.striker` can."""

import os
from collections.abc import Mapping, Sequence

from kills.processes import NEVER, Call, Ended, Forked, Moment, words
from toy.projects import Project

from nmtkit.commands.launched import environments
from nmtkit.training.checkpoints import checkpoint_folders

WATCHDOG = "nmtkit.training.watchdog"
SOON = (f"{WATCHDOG}:SECONDS_BETWEEN=0.2",)
"""A constant by which processes learn of each other's end in a moment."""

Strikes = Mapping[int, Sequence[str]]
"""What strikes whom, by rank, as `strike` returns it."""


def strike(name: str, moment: Moment, *options: str) -> list[str]:
    """Return what strikes a process: a signal, or HANG, at a moment; `options` as `kills.striker` describes them."""
    return [*options, *words(name, moment)]


def arguments(project: Project, *settings: str) -> list[str]:
    """Return the command line that trains a project on the CPU."""
    options = [word for setting in settings for word in ("--set", setting)]
    return ["train", "--config", str(project.file), "--device", "cpu", *options]


def train(
    forked: Forked,
    commands: Sequence[Sequence[str]],
    strikes: Strikes | None = None,
    *,
    put: Sequence[str] = (),
    seconds: float = 60,
) -> list[Ended]:
    """Run a command line in each of as many processes, by rank; return how each ended.

    Once one has ended badly, the others have so many seconds until they are killed, as a launcher would.
    """
    never, puts = words("SIGKILL", NEVER), [word for setting in (*SOON, *put) for word in ("--put", setting)]
    calls = [
        Call([*puts, *(strikes or {}).get(rank, never)], command, environ)
        for rank, (command, environ) in enumerate(zip(commands, environments(len(commands), os.environ), strict=True))
    ]
    return forked.together(calls, seconds=seconds)


def trained(forked: Forked, project: Project, processes: int, *settings: str) -> Project:
    """Train a project in so many processes and see that all end well, the first alone with anything to say."""
    first, *others = train(forked, [arguments(project, *settings)] * processes)
    assert first.code == 0, first.said
    assert "Traceback" not in first.said
    for other in others:
        assert other == Ended(0, "", ""), other.said
    return project


def finish(team: Forked, project: Project, *settings: str) -> None:
    """Give the same command again, see where it says to begin, and that it ends well."""
    newest = max((0, *(int(folder.name) for folder in checkpoint_folders(project.run.checkpoints))))
    first, second = train(team, [arguments(project, *settings)] * 2)
    assert (first.code, second) == (0, Ended(0, "", "")), first.said + second.said
    ways = [f"going on behind update {newest}\n", f"{project.run}: finished at update {newest} "]
    assert any(way in first.said for way in (ways if newest else [f"training in {project.run}\n"])), first.said
    assert "Traceback" not in first.said
    assert "warning" not in first.said
