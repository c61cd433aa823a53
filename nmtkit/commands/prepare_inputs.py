"""What a preparation starts from: files, settings and versions, as facts for people and as keys of the stages."""

import hashlib
import json
import unicodedata
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import nmtkit
from nmtkit.config import Config
from nmtkit.corpus.lines import reading
from nmtkit.corpus.reader import ParallelText, check_files, locate
from nmtkit.data.manifest import FORMAT, digest
from nmtkit.errors import ConfigError
from nmtkit.log import Log


class InputFile(NamedTuple):
    """A file by its content."""

    bytes: int
    sha256: str


class Inputs(NamedTuple):
    """The parallel texts of a configuration and the content of their files."""

    train: list[ParallelText]
    dev: ParallelText | None
    test: list[ParallelText]
    content: dict[Path, InputFile]

    @property
    def held_out(self) -> list[ParallelText]:
        """Development and test sets."""
        return [*([self.dev] if self.dev else []), *self.test]

    def contents(self, texts: list[ParallelText]) -> list[list[str]]:
        """Return the SHA-256 of the files of texts: their names and places do not matter."""
        return [[self.content[path].sha256 for path in text.files] for text in texts]


class Keys:
    """The digest of all that each stage depends on. Later keys need what earlier stages made."""

    def __init__(self, config: Config, inputs: Inputs) -> None:
        self._config = config
        self._prepare = config.prepare.model_dump(mode="json")
        self._inputs = inputs
        self._cleaning = {
            "format": FORMAT,
            "languages": config.languages.model_dump(mode="json"),
            "normalizers": self._prepare["normalizers"],
            "invalid_utf8": config.prepare.invalid_utf8,
            "versions": [unicodedata.unidata_version, version("sacremoses")],
        }

    def text(self) -> str:
        """Return the key of clean training text."""
        train, held_out = self._inputs.contents(self._inputs.train), self._inputs.contents(self._inputs.held_out)
        return digest([self._cleaning, self._prepare["filters"], train, held_out])

    def vocabulary(self, text: str) -> str:
        """Return the key of the vocabulary learned from a text of this digest."""
        return digest([FORMAT, text, self._prepare["segmenter"], version("sentencepiece")])

    def train(self, vocabulary: str) -> str:
        """Return the key of training pairs packed with the vocabulary of this digest."""
        return digest([self.text(), vocabulary, self._config.prepare.max_pieces])

    def dev(self, vocabulary: str) -> str:
        """Return the key of development pairs packed with the vocabulary of this digest; empty without a set."""
        if self._inputs.dev is None:
            return ""
        content = self._inputs.contents([self._inputs.dev])
        return digest([self._cleaning, content, vocabulary, self._config.prepare.max_pieces])

    def plan(self, train: str) -> str:
        """Return the key of the plan of batches over training pairs packed under this key."""
        return digest([train, self._config.train.batch.model_dump(mode="json"), self._config.train.seed])


def gather(config: Config, base: Path, log: Log) -> Inputs:
    """Find and read all files that the configuration in folder `base` names, to know them by their content.

    Raises ConfigError where no training corpus is named, DataError for all files that cannot be used.
    """
    if not config.corpus.train:
        raise ConfigError(
            "corpus.train: no training corpus is given; add a table [[corpus.train]] with name, source and target"
        )
    train, test = (
        [locate(base, config.corpus, files) for files in texts] for texts in (config.corpus.train, config.corpus.test)
    )
    dev = locate(base, config.corpus, config.corpus.dev) if config.corpus.dev else None
    texts = [*train, *([dev] if dev else []), *test]
    check_files(texts)
    paths = list(dict.fromkeys(path for text in texts for path in text.files))
    with log.progress("reading", sum(path.stat().st_size for path in paths), "bytes") as meter:
        content = {}
        for path in paths:
            content[path] = InputFile(*_content(path))
            meter.advance(content[path].bytes)
    return Inputs(train, dev, test, content)


def describe(config: Config, inputs: Inputs) -> dict[str, str]:
    """Return what a preparation is made from, each fact under the name of its file or key."""
    facts = {}
    for text in [*inputs.train, *inputs.held_out]:
        sides = ("source", "target") if text.target else ("tsv",)
        for side, path in zip(sides, text.files, strict=True):
            file = inputs.content[path]
            facts[f"corpus {text.name}, {side}"] = f"{path.name}, {file.bytes} bytes, sha256 {file.sha256}"
    settings = {
        "languages": config.languages.model_dump(mode="json"),
        "prepare": config.prepare.model_dump(mode="json"),
        "train": {"seed": config.train.seed, "batch": config.train.batch.model_dump(mode="json")},
    }
    facts.update(_flat("", settings))
    facts["version of nmtkit"] = nmtkit.__version__
    facts["version of Unicode"] = unicodedata.unidata_version
    facts.update({f"version of {name}": version(name) for name in ("numpy", "sacremoses", "sentencepiece")})
    return facts


def _flat(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the leaves of nested settings under dotted keys; members of a list go by their kind."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{key}.{name}" if key else name, inner)
    elif isinstance(value, list) and all(isinstance(member, dict) and "kind" in member for member in value):
        kinds = [member["kind"] for member in value]
        yield key, ", ".join(kinds) or "none"
        for place, member in enumerate(value):
            again = kinds[:place].count(member["kind"])
            settings = {name: setting for name, setting in member.items() if name != "kind"}
            yield from _flat(f"{key}.{member['kind']}" + (f"_{again + 1}" if again else ""), settings)
    else:
        yield key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _content(path: Path) -> tuple[int, str]:
    with reading(str(path)), path.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        return stream.tell(), sha256
