"""The report of a preparation on the terminal: a table of what became of the corpora, a line for everything else."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from nmtkit.commands.prepare_suspicions import SIDES, percent, share
from nmtkit.log import Log, counted

CLEANED = (
    ("separators_replaced", "first_separator", "tabs and other separators inside lines turned into spaces"),
    ("controls_removed", "first_control", "control characters removed"),
    ("invalid_bytes", "first_invalid", "bytes that are not UTF-8, their pairs dropped"),
)
"""What was met in the lines of a file: how often, where first, and what it is."""


def show(content: Mapping[str, Any], log: Log) -> None:
    """Show the content of prepare.json."""
    log.table(_table(content))
    for line in _lines(content):
        log.info(line)
    for suspicion in content["suspicions"]:
        log.warn(suspicion["message"])


def _table(content: Mapping[str, Any]) -> Table:
    table = Table("corpus", "pairs", "", "", "first lines", title="training text", title_justify="left")
    table.columns[1].justify = table.columns[3].justify = "right"
    for corpus in content["corpora"]:
        table.add_row(escape(corpus["name"]), f"{corpus['read']:,}", "read", "", "")
        for reason, drops in corpus["drops"].items():
            if drops["count"]:
                part = percent(share(drops["count"], corpus["read"]))
                table.add_row("", f"{drops['count']:,}", f"dropped: {reason}", part, places(drops))
        part = percent(share(corpus["kept"], corpus["read"]))
        table.add_row("", f"{corpus['kept']:,}", "kept", part, "", end_section=True)
    return table


def _lines(content: Mapping[str, Any]) -> Iterator[str]:
    for corpus in [*content["corpora"], *content["held_out"]]:
        for side in SIDES:
            counts = corpus["characters"][side]
            for count, first, what in CLEANED:
                if counts[count]:
                    yield f"{corpus['name']}, {side}: {what}: {counts[count]:,} (first in line {counts[first]})"
    changed = [
        f"{each['kind']} {percent(each['source_changed'])} of source and {percent(each['target_changed'])} of "
        "target lines"
        for each in content["normalizers"]
    ]
    if changed:
        yield f"changed by normalizers: {'; '.join(changed)}"
    yield from _vocabulary(content["vocabulary"])
    yield _packed("train", content["train"]) + _per_word(content)
    if "dev" in content:
        yield _packed("dev", content["dev"])
        yield from _round_trip(content["dev"])
    if plan := content.get("plan"):
        yield (
            f"first epoch: {counted(plan['updates'], 'update')} of {counted(plan['tensors'], 'tensor')}, "
            f"{plan['source_tokens']:,} source and {plan['target_tokens']:,} target tokens, "
            f"{percent(plan['padding'])} padding"
        )


def _vocabulary(part: Mapping[str, Any]) -> Iterator[str]:
    sides = ["source"] if part["joint"] else SIDES
    for side in sides:
        name = "joint" if part["joint"] else side
        size, fingerprint = part[side]["size"], part[side]["fingerprint"][:12]
        long = part[side]["lines_too_long"]
        left_out = f", {counted(long, 'line')} too long to learn from" if long else ""
        yield f"vocabulary: {name}, {part['kind']}, {size:,} pieces, fingerprint {fingerprint}{left_out}"


def _round_trip(part: Mapping[str, Any]) -> Iterator[str]:
    left_out = [f"{reason} {drops['count']} (lines {places(drops)})" for reason, drops in part["left_out"].items()]
    if left_out:
        yield f"dev: left out of perplexity: {', '.join(left_out)}"
    lost = {side: drops for side, drops in part["lost_in_segmenting"].items() if drops["count"]}
    if not lost:
        yield "dev: every line survives segmenting"
    for side, drops in lost.items():
        yield f"dev {side}: {percent(drops['share'])} of lines do not survive segmenting (lines {places(drops)})"


def _packed(split: str, part: Mapping[str, Any]) -> str:
    unknown = part["source"]["unknown"], part["target"]["unknown"]
    return (
        f"{split}: {part['pairs']:,} pairs packed, {part['source']['pieces']:,} source and "
        f"{part['target']['pieces']:,} target pieces, {sum(unknown):,} unknown"
    )


def _per_word(content: Mapping[str, Any]) -> str:
    source, target = (pieces_per_word(content, side) for side in SIDES)
    return f"; {source:.2f} and {target:.2f} a word"


def pieces_per_word(content: Mapping[str, Any], side: str) -> float:
    """Return how many pieces a word of the training pairs becomes."""
    words = sum(
        number * lines for corpus in content["corpora"] for number, lines in enumerate(corpus["profile"][side]["words"])
    )
    return share(content["train"][side]["pieces"], words)


def places(drops: Mapping[str, Any]) -> str:
    """Return the first lines of what was dropped."""
    lines: list[int] = drops["first_lines"]
    return ", ".join(str(line) for line in lines) + (", …" if drops["count"] > len(lines) else "")
