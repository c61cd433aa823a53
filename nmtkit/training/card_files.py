"""Run cards and scores on the disk, sealed: what is read is what was written. Imports no torch."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nmtkit.errors import CheckpointError
from nmtkit.run_folder import RunFolder, write_text
from nmtkit.seals import seal, unseal

FORMAT = 1
"""Rises when a card of this version cannot be read as one of an earlier one."""
PASSING = ("sessions", "time", "energy", "scored", "checksum")
"""The parts in which equal runs differ."""

Content = dict[str, Any]
Page = Callable[[Mapping[str, Any], bytes], str]
"""Makes the page of a card out of its content and the picture of the learning curve, which may have no bytes."""


def now() -> str:
    """Return the time as ISO 8601 has it, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def card_text(content: Mapping[str, Any]) -> str:
    """Return content as JSON by which `card_in` knows it."""
    return json.dumps(seal({"format": FORMAT, **content}), ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def card_in(data: bytes) -> Content | None:
    """Return what `card_text` wrote; None for anything else: damaged, changed by hand, of another format."""
    try:
        content = unseal(data)
    except ValueError:
        return None
    return content if content.get("format") == FORMAT else None


def write_card(run: RunFolder, content: Mapping[str, Any], page: Page) -> None:
    """Write run.json and run.html, each whole or not at all."""
    write_text(run.card, card_text(content))
    picture = run.learning_curve.read_bytes() if run.learning_curve.exists() else b""
    write_text(run.card_page, page(content, picture))


def read_card(place: Path) -> Content:
    """Return the content of a card: of a run folder, with all scores that are there by now, or of a run.json.

    Raises CheckpointError, naming the file, where there is none or it is not as it was written.
    """
    file = RunFolder(place).card if place.is_dir() else place
    if not file.exists():
        what = "no such folder or file" if file == place else f"has no {file.name}"
        raise CheckpointError(f"{place}: {what}; give a run folder that nmtkit train wrote, or the run.json of one")
    card = card_in(file.read_bytes())
    if card is None or "sessions" not in card:
        raise CheckpointError(
            f"{file}: no run card that this version can read: damaged, changed by hand or of another version; "
            "nmtkit train writes it anew when it goes on"
        )
    return {**card, "tests": measured_scores(RunFolder(place))} if place.is_dir() else card


def measured_scores(run: RunFolder) -> list[Content]:
    """Return what `nmtkit score` measured in a run, by test set and checkpoint; what is damaged is left out."""
    files = sorted(run.translations.glob("*.json")) if run.translations.is_dir() else []
    return [found for file in files if (found := card_in(file.read_bytes())) is not None and "scores" in found]


def lasting(content: Mapping[str, Any]) -> Content:
    """Return what of a card is the same for equal runs in one place."""
    tests = [{key: value for key, value in test.items() if key not in PASSING} for test in content["tests"]]
    return {**{key: value for key, value in content.items() if key not in PASSING}, "tests": tests}
