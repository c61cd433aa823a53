"""What a preparation starts from: files, settings and versions, as facts for people and as keys of the stages."""

import hashlib
import json
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import nmtkit
from nmtkit.config import Config
from nmtkit.corpus.archives import reading
from nmtkit.corpus.filters import LanguageConfig
from nmtkit.corpus.reader import ParallelText, check_files, locate
from nmtkit.corpus.segmenters import FileConfig, learn_segmenter, open_segmenter
from nmtkit.corpus.tags import check_tags
from nmtkit.data.manifest import FORMAT, Manifest, changes
from nmtkit.errors import ConfigError, DataError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.seals import digest

version = cache(metadata.version)
"""Each look for a version reads files."""


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
    given_vocabulary: str = ""
    """The SHA-256 of the model files that the settings give, if they do."""

    @property
    def held_out(self) -> list[ParallelText]:
        """Development and test sets."""
        return [*([self.dev] if self.dev else []), *self.test]

    def contents(self, texts: list[ParallelText]) -> list[list[str]]:
        """Return the SHA-256 of the files of texts, and how they are read: their names and places do not matter."""
        return [
            [*map(str, text.manner), *(self.content[file.path].sha256 for _, file in text.named_files())]
            for text in texts
        ]


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
            "versions": [unicodedata.unidata_version, _versions(config)],
        }

    def text(self) -> str:
        """Return the key of clean training text."""
        train, held_out = self._inputs.contents(self._inputs.train), self._inputs.contents(self._inputs.held_out)
        own_filters = [corpus.model_dump(mode="json")["filters"] for corpus in self._config.corpus.train]
        return digest([self._cleaning, self._prepare["filters"], own_filters, train, held_out])

    def vocabulary(self, text: str) -> str:
        """Return the key of the vocabulary learned from a text of this digest."""
        tags = [corpus.tag for corpus in self._config.corpus.train]
        return digest(
            [FORMAT, text, self._prepare["segmenter"], self._inputs.given_vocabulary, tags, version("sentencepiece")]
        )

    def train(self, vocabulary: str) -> str:
        """Return the key of training pairs packed with the vocabulary of this digest."""
        tags = [corpus.tag for corpus in self._config.corpus.train]
        return digest([self.text(), vocabulary, self._config.prepare.max_pieces, tags])

    def dev(self, vocabulary: str) -> str:
        """Return the key of development pairs packed with the vocabulary of this digest; empty without a set."""
        if self._inputs.dev is None:
            return ""
        content, tag = self._inputs.contents([self._inputs.dev]), dev_tag(self._config)
        return digest([self._cleaning, content, vocabulary, self._config.prepare.max_pieces, *([tag] if tag else [])])

    def name_corpora(self, manifest: Manifest) -> None:
        """Call the corpora of a text that stays as they are called now: nothing is made again for a name."""
        text = manifest.stages.get("text")
        if text is not None and text.key == self.text():
            for part, named in (("corpora", self._inputs.train), ("held_out", self._inputs.held_out)):
                for corpus, now in zip(text.report[part], named, strict=True):
                    corpus["name"] = now.name

    def plan(self, train: str) -> str:
        """Return the key of the plan of batches over training pairs packed under this key."""
        weights = [corpus.weight for corpus in self._config.corpus.train], self._config.corpus.temperature
        return digest([train, self._config.train.batch.model_dump(mode="json"), self._config.train.seed, weights])


def dev_tag(config: Config) -> str:
    """Return the tag of the development set; empty where it has none."""
    return config.corpus.dev.tag if config.corpus.dev else ""


def known_tags(config: Config, base: Path) -> list[str]:
    """Return the tags that the vocabulary will have: those of training corpora, and of a model file that is given.

    Raises ConfigError where that file cannot be used.
    """
    settings, tags = config.prepare.segmenter, config.corpus.trained_tags
    if not isinstance(settings, FileConfig):
        return list(tags)
    if not settings.joint:  # only to see that it can be used
        learn_segmenter(settings, (), side="target", base=base)
    return list(open_segmenter(learn_segmenter(settings, (), tags=tags, base=base).model, settings.path).tags)


def gather(config: Config, base: Path, log: Log, standard_input: Path | None = None) -> Inputs:
    """Find and read all files that the configuration in folder `base` names, to know them by their content.

    `standard_input` is the file that holds a copy of it, where it is a corpus.

    Raises ConfigError where no training corpus is named, a tag is asked for that none has, or a vocabulary given cannot
    be used; DataError for all files that cannot be used.
    """
    if not config.corpus.train:
        raise ConfigError(
            "corpus.train: no training corpus is given; add a table [[corpus.train]] with name, source and target"
        )
    check_tags(config.tags, known_tags(config, base))
    train, test = (
        [locate(base, config.corpus, files, config.languages, standard_input) for files in texts]
        for texts in (config.corpus.train, config.corpus.test)
    )
    dev = locate(base, config.corpus, config.corpus.dev, config.languages) if config.corpus.dev else None
    texts = [*train, *([dev] if dev else []), *test]
    check_files(texts)
    paths = list(dict.fromkeys(file.path for text in texts for _, file in text.named_files()))
    with log.progress("reading", sum(path.stat().st_size for path in paths), "bytes") as meter:
        content = {}
        for path in paths:
            content[path] = InputFile(*_content(path))
            meter.advance(content[path].bytes)
    return Inputs(train, dev, test, content, _given_vocabulary(config, base))


def _given_vocabulary(config: Config, base: Path) -> str:
    settings = config.prepare.segmenter
    if not isinstance(settings, FileConfig):
        return ""
    return " ".join(_content(base / path)[1] for path in (settings.path, settings.target_path) if path)


def describe(config: Config, inputs: Inputs) -> dict[str, str]:
    """Return what a preparation is made from, each fact under the name of its file or key."""
    facts = {}
    for text in [*inputs.train, *inputs.held_out]:
        for key, named in text.named_files():
            file = inputs.content[named.path]
            name = named.path.name if named.name == str(named.path) else named.name
            facts[f"corpus {text.name}, {key}"] = name + _fact(file)
    settings = {
        "languages": config.languages.model_dump(mode="json"),
        "prepare": config.prepare.model_dump(mode="json"),
        "train": {"seed": config.train.seed, "batch": config.train.batch.model_dump(mode="json")},
    }
    facts.update(_flat("", settings))
    facts.update(_of_corpora(config))
    facts["version of nmtkit"] = nmtkit.__version__
    facts["version of Unicode"] = unicodedata.unidata_version
    facts.update({f"version of {name}": version(name) for name in ("numpy", "sentencepiece")})
    facts.update({f"version of {name}": number for name, number in _versions(config).items()})
    return facts


def _of_corpora(config: Config) -> Iterator[tuple[str, str]]:
    """Yield what single corpora have of settings beside their files; what only mixes them is under other names."""
    keys = {f"corpus.train[{place}]": corpus for place, corpus in enumerate(config.corpus.train)}
    for key, corpus in {**keys, **({"corpus.dev": config.corpus.dev} if config.corpus.dev else {})}.items():
        values = corpus.model_dump(mode="json", exclude_none=True)
        for name in ("columns", "codes", "tag", "filters"):
            if name in values and getattr(corpus, name) != type(corpus).model_fields[name].get_default():
                yield from _flat(f"{key}.{name}", values[name])
        if "weight" in values:
            yield f"weight of {key}", str(values["weight"])
    if config.corpus.temperature is not None:
        yield "temperature of corpus.train", str(config.corpus.temperature)


def _fact(file: InputFile) -> str:
    return f", {file.bytes} bytes, sha256 {file.sha256}"


def check_settings(config: Config, run: RunFolder, manifest: Manifest) -> None:
    """Raise DataError where a run was prepared with other settings than these, which are then named."""
    asked = _settings(describe(config, Inputs([], None, [], {})))
    differences = [f"  {difference}" for difference in changes(_settings(manifest.facts), asked)]
    if differences:
        raise DataError(
            "\n".join([f"{run.data} was prepared with other settings:", *differences])
            + "\nrun `nmtkit prepare` for this run folder again, or set them back"
        )


def check_content(text: ParallelText, run: RunFolder, manifest: Manifest) -> None:
    """Raise DataError where a file of a text is not the one, by its content, that a run was prepared with."""
    for key, file in text.named_files():
        if not manifest.facts.get(f"corpus {text.name}, {key}", "").endswith(_fact(InputFile(*_content(file.path)))):
            raise DataError(
                f"{file.path}: is not the file that {run.data} was prepared with (corpus {text.name}, {key}); run "
                "`nmtkit prepare` for this run folder again, or bring the file back"
            )


def _settings(facts: dict[str, str]) -> dict[str, str]:
    """Return the settings among the facts that change packed data."""
    return {name: fact for name, fact in facts.items() if name.startswith(("languages.", "prepare.", "corpus."))}


def _versions(config: Config) -> dict[str, str]:
    """Return the libraries that clean text depends on, those of an extra only where they are used."""
    filters = [config.prepare.filters, *(corpus.filters or () for corpus in config.corpus.train)]
    used = ["regex", "sacremoses"]
    if any(isinstance(filter_, LanguageConfig) for some in filters for filter_ in some) and find_spec("eldc"):
        used.append("eldc")
    return {name: version(name) for name in used}


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
