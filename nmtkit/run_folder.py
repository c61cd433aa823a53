"""The run folder: the names of all files that a run consists of, and how files are written.

    RUN/
      config.toml                 the full settings the run was trained with
      prepare.json report.html    what became of the corpora, for programs and for people
      data/
        manifest.json             what was prepared from what; fingerprints
        source.model target.model the segmenters (one file twice where joint)
        train.*.bin dev.*.bin     packed ids
        .unfinished/              what an interrupted preparation goes on with
      checkpoints/
        00001000/                 weights.safetensors, state.json, optimizer.safetensors
        average/                  weights.safetensors, state.json
      translations/
        NAME.CHECKPOINT.txt       what `score` translated of a test set
        NAME.CHECKPOINT.json      its scores
      run.json run.html           the run card: what it takes to repeat the run and to judge it
      metrics.jsonl               one line a logged update or validation
      train.log                   what training said
      run.lock                    held, with its number in it, by the process that prepares, trains or averages here
      learning_curve.png
      tensorboard/                events, where asked for

Every file but those that grow (metrics.jsonl, train.log, tensorboard/) and the lock is written under a temporary name,
flushed to the disk and renamed, so a name is a whole file.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmtkit.errors import ConfigError, naming


class RunFolder:
    """Names the files of one run. Touches nothing by itself."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.toml"
        self.report = path / "prepare.json"
        self.report_page = path / "report.html"
        self.data = path / "data"
        self.manifest = self.data / "manifest.json"
        self.source_segmenter = self.data / "source.model"
        self.target_segmenter = self.data / "target.model"
        self.checkpoints = path / "checkpoints"
        self.average = self.checkpoints / "average"
        self.translations = path / "translations"
        self.metrics = path / "metrics.jsonl"
        self.log = path / "train.log"
        self.lock = path / "run.lock"
        self.learning_curve = path / "learning_curve.png"
        self.tensorboard = path / "tensorboard"
        self.card = path / "run.json"
        self.card_page = path / "run.html"

    def translation(self, test_set: str, checkpoint: str) -> Path:
        """Name the translation of a test set."""
        return self.translations / f"{as_file_name(test_set)}.{checkpoint}.txt"

    def scores(self, test_set: str, checkpoint: str) -> Path:
        """Name the scores of the translation of a test set."""
        return self.translation(test_set, checkpoint).with_suffix(".json")

    def __str__(self) -> str:
        return str(self.path)


def as_file_name(name: str) -> str:
    """Return a name as the name of a file. What none can hold is spelled in hexadecimal: a/b is a%2Fb."""
    return re.sub("[%/\0]", lambda match: f"%{ord(match[0]):02X}", name)


def sync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; what was written there becomes `path` once the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with naming(path):
            yield temporary
            sync(temporary)
            temporary.replace(path)
            sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a whole UTF-8 file, or nothing."""
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode("utf-8"))


def check_place(option: str, file: Path) -> None:
    """Raise ConfigError where no file can be written that an option names, before there is anything to write."""
    if file.is_dir():
        raise ConfigError(f"{option} {file}: this is a folder; give the name of a file in it")
    if file.exists() and not file.is_file():
        raise ConfigError(f"{option} {file}: this is no file, and would be replaced by one; give another name")
    folder = next(folder for folder in file.absolute().parents if folder.exists())
    if not folder.is_dir():
        raise ConfigError(f"{option} {file}: {folder} is no folder; give another name")
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"{option} {file}: {folder} cannot be written to; set its permissions, or name another place")
