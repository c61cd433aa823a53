"""`nmtkit inspect RUN` and `nmtkit inspect RUN OTHER`: the card of a run, and in what two runs differ."""

from collections.abc import Callable
from pathlib import Path

from nmtkit.commands.prepare_content import to_json
from nmtkit.commands.run_differences import differences
from nmtkit.commands.run_text import card_text, differences_text
from nmtkit.training.card_files import read_card


def inspect_run(run: Path, write: Callable[[str], None], *, as_json: bool) -> None:
    """Show the card of a run folder, or a run.json; `write` takes a line at a time.

    Raises CheckpointError where there is none, or none that was written just so.
    """
    card = read_card(run)
    for line in [to_json(card).removesuffix("\n")] if as_json else card_text(card, str(run)):
        write(line)


def compare_runs(first: Path, second: Path, write: Callable[[str], None], *, as_json: bool) -> None:
    """Show in what two runs differ, and in what they do not. Raises CheckpointError as `inspect_run` does."""
    found = differences(read_card(first), read_card(second))
    if as_json:
        sections = {section: {each.key: [each.first, each.second] for each in some} for section, some in found.items()}
        write(to_json({"runs": [str(first), str(second)], "differences": sections}).removesuffix("\n"))
        return
    for line in differences_text(found, str(first), str(second)):
        write(line)
