"""What on a run card deserves a second look: whatever makes the run hard to repeat or its figures hard to compare."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from nmtkit.commands import run_words as words
from nmtkit.log import counted

_DECIDING = ("cpu", "cores", "gpus", "device", "processes", "threads", "kernels")
"""What of a machine decides on speed, or on how sums are rounded."""


def remarks(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each thing to know before the run is believed, repeated or compared."""
    sessions = content["sessions"]
    if content["training"]["ended"] is None:
        ending = sessions[-1]["ending"] or "it is at work, or was killed"
        yield f"not finished: behind update {content['training']['updates']:,}; {ending}"
    yield from _software(content["software"])
    if content["training"]["skipped"]:
        yield (
            f"{counted(content['training']['skipped'], 'update')} not applied, since loss or gradient was not finite: "
            "train.log names them"
        )
    if content["training"]["returns"]:
        passed = content["training"]["passed_over"]
        yield (
            f"training diverged and went back to a checkpoint; it passed over updates {passed[0]:,} to {passed[1]:,}"
        )
    yield from _sessions(sessions)
    yield from _stale_scores(content)


def _software(software: Mapping[str, Any]) -> Iterator[str]:
    if software["changed"]:
        yield (
            f"nmtkit was changed since commit {software['commit'][:12]}: keep the change, or the run cannot be repeated"
        )
    elif software["commit"] and software["changed"] is None:
        yield f"whether nmtkit was changed since commit {software['commit'][:12]} is not known: git did not tell"


def _sessions(sessions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for before, after in pairwise(sessions):
        lost = before["to_update"] - after["from_update"]
        if lost > 0:
            yield (
                f"{counted(lost, 'update')} behind update {after['from_update']:,} computed twice: the session of "
                f"{words.moment(before['began'])} was cut off behind its last checkpoint"
            )
        where = f"behind update {after['from_update']:,}"
        machines = [{key: session["machine"][key] for key in _DECIDING} for session in (before, after)]
        if changed := _changes(*machines):
            yield f"machine changed {where}: {changed}; sums are rounded otherwise from there on"
        if changed := _changes(before["software"], after["software"]):
            yield f"software changed {where}: {changed}"
        for change in after["changed"]:
            yield f"settings changed {where}: {change}"


def _stale_scores(content: Mapping[str, Any]) -> Iterator[str]:
    """Tell of scores of an average that training has gone beyond."""
    now = content["development"].get("average", {}).get("updates")
    for test in content["tests"]:
        if test["checkpoint"] == "average" and now and test["updates"] and test["updates"] != now:
            of = ", ".join(f"{update:,}" for update in test["updates"])
            yield f"{test['name']}: the scores are of an earlier average, of updates {of}; run nmtkit score again"


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return what changed, in words; nothing where nothing did."""
    return ", ".join(
        f"{key} {_shown(before.get(key))} → {_shown(value)}" for key, value in after.items() if value != before.get(key)
    )


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(words.gpus(value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
