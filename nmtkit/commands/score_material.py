"""What is scored: the sources, references and systems of a test set, line by line, and the files they came from."""

from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class System:
    """A system and its translations of a test set, one a line."""

    name: str
    hypotheses: list[str]
    file: str = ""


@dataclass(frozen=True)
class Material:
    """A test set and the systems that translated it: line n of each list belongs to line n of the others.

    `references` is one list of lines for each reference translation, at least one; the first of `systems` is the
    baseline that others are compared with. `sources` is None where they were not given, `labels` empty where there are
    none (a line without a label has an empty one).
    """

    name: str
    sources: list[str] | None
    references: list[list[str]]
    systems: list[System]
    labels: list[str]
    source_file: str | None = None
    reference_files: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    """All that was read but the systems' files."""
    tag: str = ""
    """What stands before each source; empty where nothing does."""

    def translated_by(self, system: System) -> "Material":
        """Return it with one more system."""
        return replace(self, systems=[*self.systems, system])

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self.references[0])
