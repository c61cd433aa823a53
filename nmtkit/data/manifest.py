"""The manifest of prepared data: what was made from what, stage by stage, so that only what changed is made again."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nmtkit.checksums import file_checksum
from nmtkit.errors import DataError
from nmtkit.run_folder import RunFolder, write_text
from nmtkit.seals import digest, seal, unseal

FORMAT = 5
"""Rises when the same inputs would be prepared to something else."""


@dataclass(frozen=True)
class Stage:
    """A finished step. `key` is the digest of all it depends on, `digest` that of what later stages take from it.

    `files` maps the names of its files in the data folder to their checksums; `report` is its part of the report.
    """

    key: str
    digest: str = ""
    files: dict[str, str] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)

    def damaged(self, folder: Path, advance: Callable[[int], None] = lambda _: None) -> Iterator[Path]:
        """Yield the files that are not as they were written; `advance` hears of the bytes as they are read.

        Raises OSError for one that is there but cannot be read: whether it is damaged nobody knows.
        """
        for name, checksum in self.files.items():
            try:
                whole = file_checksum(folder / name, advance) == checksum
            except (FileNotFoundError, NotADirectoryError):
                whole = False
            if not whole:
                yield folder / name


@dataclass
class Manifest:
    """The stages of a data folder.

    `facts` says in words what they were made from, for people and for comparison. While a preparation is at work, or
    was interrupted, `complete` is false: then some stages may still be those of other facts.
    """

    facts: dict[str, str] = field(default_factory=dict)
    stages: dict[str, Stage] = field(default_factory=dict)
    complete: bool = False

    @property
    def fingerprint(self) -> str:
        """The digest that packed data, train and dev, is known by; empty while it is not finished.

        It tells data apart by what was packed, so another name or a newer library alone does not change it.
        """
        if not self.complete:
            return ""
        return digest({name: stage.digest for name, stage in self.stages.items() if name in ("train", "dev")})

    def finished(self, name: str, key: str, folder: Path) -> Stage | None:
        """Return a stage if it was made from the same things and its files, all read, are as they were written."""
        stage = self.stages.get(name)
        if stage is None or stage.key != key:
            return None
        return stage if next(stage.damaged(folder), None) is None else None

    def save(self, path: Path) -> None:
        """Write the manifest: for people each fact, and each part of a stage, stands on a line of its own."""
        content = {"format": FORMAT, "fingerprint": self.fingerprint, **vars(self)}
        content["stages"] = {name: vars(stage) for name, stage in self.stages.items()}
        write_text(path, _lines(seal(content), 3) + "\n")


def load_manifest(path: Path) -> Manifest:
    """Read a manifest; an empty one where there is none, or none that this version wrote just so."""
    try:
        content = unseal(path.read_bytes())
        if content["format"] != FORMAT:
            return Manifest()
        stages = {name: Stage(**stage) for name, stage in content["stages"].items()}
        return Manifest(content["facts"], stages, complete=content["complete"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Manifest()


def prepared(run: RunFolder) -> Manifest:
    """Return the manifest of a run that can be trained. Raises DataError where it was not prepared to the end."""
    manifest = load_manifest(run.manifest)
    if not manifest.fingerprint:
        unread = run.manifest.exists() and not manifest.facts
        why = (
            f"{run.manifest} is damaged or of another version"
            if unread
            else f"{run.data} holds no data prepared to the end"
        )
        raise DataError(f"{why}; run `nmtkit prepare` for this run folder")
    return manifest


def usual_pieces(run: RunFolder) -> int:
    """Return how many pieces nearly no source line trained on had more of; 0 where the run does not tell."""
    try:
        return int(load_manifest(run.manifest).stages["train"].report["usual_pieces"])
    except (KeyError, TypeError, ValueError):
        return 0


def changes(old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    """Yield a line for each fact that is new, gone or different."""
    for name in [*new, *(name for name in old if name not in new)]:
        before, after = old.get(name), new.get(name)
        if before is None:
            yield f"{name}: new, {_short(str(after))}"
        elif after is None:
            yield f"{name}: gone, was {_short(before)}"
        elif before != after:
            yield f"{name}: {_short(before)} -> {_short(after)}"


def _lines(value: Any, depth: int, indent: str = "") -> str:
    """Return JSON in which what stands at most `depth` deep begins a line."""
    if not depth or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    inner = [
        f"{indent}  {json.dumps(name, ensure_ascii=False)}: {_lines(part, depth - 1, f'{indent}  ')}"
        for name, part in value.items()
    ]
    return "{" + ",".join(f"\n{line}" for line in inner) + f"\n{indent}}}"


def _short(fact: str) -> str:
    """Shorten the SHA-256 in a fact to what people compare."""
    return re.sub(r"\b([0-9a-f]{12})[0-9a-f]{52}\b", r"\1", fact)
