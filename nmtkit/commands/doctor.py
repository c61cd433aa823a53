"""`nmtkit doctor`: tells whether all that nmtkit needs is here, and whether it computes what it should."""

import json
import sys
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from nmtkit.commands.doctor_checks import Finding, disk, gpus, kernels, memory, processor, text, threads, versions
from nmtkit.errors import NmtkitError, check_stdout
from nmtkit.log import Log, counted
from nmtkit.run_folder import RunFolder

_COLOURS = {"ok": "green", "warning": "yellow", "fault": "bold red"}


def doctor(run: RunFolder, log: Log, *, device: str = "auto", as_json: bool = False) -> None:
    """Write to stdout what was found, one line each, as it is found. Raises NmtkitError where something is a fault.

    On a terminal in columns; elsewhere tab-separated: state, what, found, what to do. As JSON, with all figures, in
    the end.
    """
    check_stdout("the findings go")
    found: list[Finding] = []
    console = Console(highlight=False, soft_wrap=True)
    for finding in findings(run, log, device):
        found.append(finding)
        if as_json:
            continue
        if sys.stdout.isatty():
            console.print(_in_columns(finding))
        else:
            sys.stdout.write(f"{finding.state}\t{finding.what}\t{finding.found}\t{finding.remedy}\n")
        sys.stdout.flush()
    if as_json:
        content = {"findings": [{**finding._asdict(), "figures": dict(finding.figures)} for finding in found]}
        sys.stdout.write(json.dumps(content, ensure_ascii=False, indent=2) + "\n")
    faults, warnings = (sum(finding.state == state for finding in found) for state in ("fault", "warning"))
    if faults:
        raise NmtkitError(f"{counted(faults, 'fault')} found; mend what the lines say, then run nmtkit doctor again")
    log.info(f"nmtkit can work here; {counted(warnings, 'warning')}" if warnings else "nmtkit can work here")


def findings(run: RunFolder, log: Log, device: str) -> Iterator[Finding]:
    """Yield one finding after the other; the copy task comes last, and only where what it needs is there."""
    packages = list(versions())
    yield from packages
    yield from text()
    yield memory()
    yield disk(run.path)
    if any(finding.state == "fault" for finding in packages):
        yield Finding("copy task", "not tried, since a package is missing", "warning", "mend the faults above")
        return
    yield processor()
    yield threads()
    yield kernels()
    yield from gpus()
    from nmtkit.commands.doctor_link import links

    log.info("several processes exchange tensors, which takes some ten seconds")
    yield from links(device)
    from nmtkit.commands.doctor_copying import copy_task

    log.info("a tiny model learns to copy, which takes up to a minute")
    yield copy_task(device)


def _in_columns(finding: Finding) -> Text:
    line = Text.assemble((f"{finding.state:9}", _COLOURS[finding.state]), f"{finding.what:15}{finding.found}")
    if finding.remedy:
        line.append(f"\n{'':24}→ {finding.remedy}", style=_COLOURS[finding.state])
    return line
