"""What `nmtkit inspect` found, as text for a terminal."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nmtkit.commands.prepare_suspicions import SIDES, percent
from nmtkit.log import counted

_WIDTH = 100


def printable(text: str) -> str:
    """Return text with what shows nothing, or would move what stands around it, named: <U+202E>."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else f"<U+{ord(character):04X}>" for character in text)


def pair_text(pair: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that show a pair."""
    yield f"pair {pair['pair']:,} of {pair['of']:,}: {place_text(pair)}"
    for side in SIDES:
        ids, pieces = pair[side]["ids"], pair[side]["pieces"]
        yield f"  {side}  {printable(pair[side]['text'])}"
        yield from _columns([printable(piece) for piece in pieces], [str(id_) for id_ in ids])


def place_text(pair: Mapping[str, Any]) -> str:
    """Return where a pair comes from, as `--line` takes it where its line is known, and the tag before its source."""
    tag = f", tag {pair['tag']}" if "tag" in pair else ""
    return (f"{pair['corpus']}:{pair['line']}" if "line" in pair else str(pair["corpus"])) + tag


def _columns(pieces: Sequence[str], ids: Sequence[str]) -> Iterator[str]:
    """Yield pieces with their ids below."""
    widths = [max(len(piece), len(id_)) for piece, id_ in zip(pieces, ids, strict=True)]
    begin = 0
    while begin < len(widths):
        end, used = begin, 10
        while end < len(widths) and (end == begin or used + widths[end] < _WIDTH):
            used += widths[end] + 1
            end += 1
        for row in (pieces, ids):
            cells = [cell.ljust(width) for cell, width in zip(row[begin:end], widths[begin:end], strict=True)]
            yield f"{'':10}{' '.join(cells)}".rstrip()
        begin = end


def batch_text(batch: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that show an update."""
    yield (
        f"update {batch['update']:,} of epoch {batch['epoch']}: {counted(len(batch['tensors']), 'tensor')}, "
        f"{counted(batch['pairs'], 'pair')}, {batch['source_tokens']:,} source and {batch['target_tokens']:,} target "
        f"tokens, {percent(batch['padding'])} padding"
    )
    for number, tensor in enumerate(batch["tensors"], start=1):
        yield ""
        yield (
            f"tensor {number}: source {tensor['pairs']} × {tensor['source_length']}, "
            f"target {tensor['pairs']} × {tensor['target_length']}, {percent(tensor['padding'])} padding"
        )
        for sentence in tensor["sentences"]:
            yield f"  pair {sentence['pair']:,}, {place_text(sentence)}"
            yield from (f"    {printable(sentence[side])}" for side in SIDES)


def line_text(line: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that explain what became of a line."""
    yield f"{line['corpus']}:{line['line']}"
    before = None
    for step in line["steps"]:
        both = [step[side] for side in SIDES]
        if both == before:
            yield f"  {step['step']}: unchanged"
            continue
        yield f"  {step['step']}"
        for place, side in enumerate(SIDES):
            same = before is not None and before[place] == both[place]
            yield f"    {side}  {'unchanged' if same else printable(both[place])}"
        before = both
    if "pieces" in line:
        yield f"  pieces, with the tag {line['tag']} before the source" if "tag" in line else "  pieces"
        for side in SIDES:
            shown = " ".join(map(printable, line["pieces"][side]))
            folded = textwrap.wrap(shown, _WIDTH - 12, break_long_words=False, break_on_hyphens=False)
            yield f"    {side}  {len(line['pieces'][side])}"
            yield from (f"            {row}" for row in folded)
    yield f"  {line['result']}"
