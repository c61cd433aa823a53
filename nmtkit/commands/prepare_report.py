"""The report of a preparation: how many pairs left and why, as tables for people and as JSON."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from nmtkit.log import Log, counted

CAPITAL_SHARE = 0.01
"""People put capitals into nearly every line; text in which fewer lines have one was put in lower case."""


class Report:
    """The parts that the stages reported, by stage."""

    def __init__(self, parts: Mapping[str, dict[str, Any]]) -> None:
        self._parts = parts

    def to_json(self) -> str:
        """Return the whole report as the text of report.json."""
        content: dict[str, Any] = {**self._parts.get("text", {}), "corpora": list(self._corpora())}
        content.update({name: part for name, part in self._parts.items() if name != "text"})
        return json.dumps(content, ensure_ascii=False, indent=2) + "\n"

    def show(self, log: Log) -> None:
        """Show a table of the training corpora and a line for everything else."""
        log.table(self._table())
        for line in self._lines():
            log.info(line)
        for warning in self._warnings():
            log.warn(warning)

    def _corpora(self) -> Iterator[dict[str, Any]]:
        """Yield the corpora with the pairs that only packing dropped."""
        corpora = self._parts.get("text", {}).get("corpora", [])
        too_long = self._parts.get("train", {}).get("too_long", [{"count": 0}] * len(corpora))
        for corpus, drops in zip(corpora, too_long, strict=True):
            if not drops["count"]:
                yield corpus
                continue
            yield {
                **corpus,
                "kept": corpus["kept"] - drops["count"],
                "drops": {**corpus["drops"], "max_pieces": drops},
            }

    def _table(self) -> Table:
        table = Table("corpus", "pairs", "", "first lines", title="training text", title_justify="left")
        table.columns[1].justify = "right"
        for corpus in self._corpora():
            table.add_row(escape(corpus["name"]), f"{corpus['read']:,}", "read", "")
            for reason, drops in corpus["drops"].items():
                if drops["count"]:
                    table.add_row("", f"{drops['count']:,}", f"dropped: {reason}", _places(drops))
            table.add_row("", f"{corpus['kept']:,}", "kept", "", end_section=True)
        return table

    def _lines(self) -> Iterator[str]:
        text = self._parts.get("text", {})
        for counts in [*text.get("corpora", []), *text.get("held_out", [])]:
            for side in ("source", "target"):
                yield from _cleaned(counts["name"], side, counts["characters"][side])
        changed = [
            f"{step['kind']} {percent(step['source_changed'])} of source and {percent(step['target_changed'])} of "
            "target lines"
            for step in text.get("normalizers", [])
        ]
        if changed:
            yield f"changed by normalizers: {'; '.join(changed)}"
        yield from self._vocabulary()
        for split in ("train", "dev"):
            if split in self._parts:
                yield _packed(split, self._parts[split])
        yield from self._round_trip()
        if plan := self._parts.get("plan"):
            yield (
                f"first epoch: {counted(plan['updates'], 'update')} of {counted(plan['tensors'], 'tensor')}, "
                f"{plan['source_tokens']:,} source and {plan['target_tokens']:,} target tokens, "
                f"{percent(plan['padding'])} padding"
            )

    def _vocabulary(self) -> Iterator[str]:
        part = self._parts.get("vocabulary")
        if not part:
            return
        sides = ["source"] if part["joint"] else ["source", "target"]
        for side in sides:
            name = "joint" if part["joint"] else side
            size, fingerprint = part[side]["size"], part[side]["fingerprint"][:12]
            long = part[side]["lines_too_long"]
            left_out = f", {counted(long, 'line')} too long to learn from" if long else ""
            yield f"vocabulary: {name}, {part['kind']}, {size:,} pieces, fingerprint {fingerprint}{left_out}"

    def _round_trip(self) -> Iterator[str]:
        part = self._parts.get("dev")
        if not part:
            return
        left_out = [f"{reason} {drops['count']} (lines {_places(drops)})" for reason, drops in part["left_out"].items()]
        if left_out:
            yield f"dev: left out of perplexity: {', '.join(left_out)}"
        lost = {side: drops for side, drops in part["lost_in_segmenting"].items() if drops["count"]}
        if not lost:
            yield "dev: every line survives segmenting"
        for side, drops in lost.items():
            yield f"dev {side}: {percent(drops['share'])} of lines do not survive segmenting (lines {_places(drops)})"

    def _warnings(self) -> Iterator[str]:
        """Yield what is likely a mistake in the corpus."""
        for corpus in self._corpora():
            dropped = 1 - _share(corpus["kept"], corpus["read"])
            if dropped > 0.5:
                yield f"{percent(dropped)} of the pairs of {corpus['name']} were dropped; see the table"
            for side in ("source", "target"):
                lines = corpus.get(f"{side}_case")  # an earlier version did not count
                if lines and lines["capital"] < CAPITAL_SHARE * lines["cased"]:
                    yield (
                        f"{corpus['name']}, {side}: {lines['capital']:,} of {lines['cased']:,} lines have a capital "
                        "letter, so the model will not know capitals; give text as people write it, not in lower case"
                    )


def percent(share: float) -> str:
    """Return a share as people read it; what is not zero does not look like it."""
    if 0 < share < 0.0001:
        return "<0.01%"
    return f"{share:.2%}"


def _cleaned(name: str, side: str, counts: Mapping[str, int]) -> Iterator[str]:
    kinds = (
        ("separators_replaced", "first_separator", "tabs and other separators inside lines turned into spaces"),
        ("controls_removed", "first_control", "control characters removed"),
        ("invalid_bytes", "first_invalid", "bytes that are not UTF-8, their pairs dropped"),
    )
    for count, first, what in kinds:
        if counts[count]:
            yield f"{name}, {side}: {what}: {counts[count]:,} (first in line {counts[first]})"


def _packed(split: str, part: Mapping[str, Any]) -> str:
    unknown = part["source"]["unknown"], part["target"]["unknown"]
    return (
        f"{split}: {part['pairs']:,} pairs packed, {part['source']['pieces']:,} source and "
        f"{part['target']['pieces']:,} target pieces, {sum(unknown):,} unknown"
    )


def _places(drops: Mapping[str, Any]) -> str:
    lines: list[int] = drops["first_lines"]
    return ", ".join(str(line) for line in lines) + (", …" if drops["count"] > len(lines) else "")


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
