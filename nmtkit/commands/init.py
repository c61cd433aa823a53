"""`nmtkit init`: a short commented config file to start from, and the sample corpus where asked for."""

import tomllib
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from nmtkit.config import FILE_NAME, resolve
from nmtkit.errors import ConfigError
from nmtkit.log import Log
from nmtkit.run_folder import write_text
from nmtkit.sample import LABELS, Sample, files_of, generate
from nmtkit.toml import inline


class Start(NamedTuple):
    """What suits a preset. `schedule` is TOML; `average` is also the number of checkpoints kept."""

    note: str
    norm: str
    vocabulary: int
    tokens_per_update: int
    tokens_per_tensor: int
    schedule: str
    updates: int
    validate_every: int
    checkpoint_every: int
    average: int
    more_model: str = ""  # further lines of [model]


_WSD = '{{ kind = "wsd", peak = {} }}  # rises, stays, and falls to zero in the last fifth of training'
_NOAM = '{ kind = "noam", warmup = 4000 }  # the curve of the paper'

_NORM_NOTES = {"pre": "learns sooner from little text than the paper's post", "post": "as in the paper"}

STARTS = {
    "tiny": Start(
        note="for some 10,000 to 100,000 pairs; trains on a CPU",
        norm="pre",
        vocabulary=8_000,
        tokens_per_update=4_096,
        tokens_per_tensor=2_048,
        schedule=_WSD.format(0.003),
        updates=8_000,
        validate_every=500,
        checkpoint_every=500,
        average=5,
    ),
    "small": Start(
        note="for some 100,000 to 1,000,000 pairs; trains on one GPU, or slowly on a CPU",
        norm="pre",
        vocabulary=10_000,
        tokens_per_update=8_192,
        tokens_per_tensor=4_096,
        schedule=_WSD.format(0.001),
        updates=30_000,
        validate_every=1_000,
        checkpoint_every=1_000,
        average=5,
    ),
    "base": Start(
        note="the base model of Vaswani et al. 2017, for millions of pairs; needs a GPU",
        norm="post",
        vocabulary=37_000,
        tokens_per_update=25_000,
        tokens_per_tensor=8_192,
        schedule=_NOAM,
        updates=100_000,
        validate_every=2_000,
        checkpoint_every=1_000,
        average=5,
    ),
    "big": Start(
        note="the big model of Vaswani et al. 2017, for millions of pairs; needs large GPUs",
        norm="post",
        vocabulary=37_000,
        tokens_per_update=25_000,
        tokens_per_tensor=4_096,
        schedule=_NOAM,
        updates=300_000,
        validate_every=5_000,
        checkpoint_every=1_000,
        average=20,
    ),
}

SAMPLE_SEED = 1
"""The sample corpus that scores are compared on."""

SAMPLE_START = Start(
    note="a few minutes on two cores",
    norm="pre",
    vocabulary=3_000,
    tokens_per_update=2_048,
    tokens_per_tensor=2_048,
    schedule='{ kind = "linear", peak = 0.004, warmup = 300, decay_to = 1350 }',
    updates=1_350,
    validate_every=270,
    checkpoint_every=50,
    average=5,
    more_model="dropout = 0.1         # the grammar has no exceptions to learn by heart, so little is needed\n",
)

_TEMPLATE = """\
# Settings of nmtkit. Whatever is not written here has its default; `nmtkit options` explains every key.

[languages]
source = {source}
target = {target}

[corpus]
folder = "data"       # the files below lie here, seen from this file; plain text or .gz, one sentence a line

[[corpus.train]]      # one such table for each training corpus
name = "train"
source = {train_source}
target = {train_target}

[corpus.dev]
name = "dev"
source = {dev_source}
target = {dev_target}

[[corpus.test]]       # one for each test set
name = "test"
source = {test_source}
target = {test_target}
{test_labels}
[prepare.segmenter]
vocabulary_size = {vocabulary}
joint = true          # one vocabulary for both; false (with model.share_embeddings = "target") where scripts differ

[model]
preset = "{preset}"{gap}# {note}
norm = "{norm}"{norm_gap}# {norm_note}
{more_model}
[train]
batch.tokens_per_update = {tokens_per_update}
batch.tokens_per_tensor = {tokens_per_tensor}  # computed at once; lower it where memory is short
stop.updates = {updates}   # stop.minutes = 20 would end it by the clock; the first limit reached ends it
validation.every = {validate_every}
schedule = {schedule}
checkpoints = {{ every = {checkpoint_every}, keep_last = {average}, average = {average} }}

[translate.search]
beam = 4
length_penalty = 0.6
"""


def init(folder: Path, log: Log, *, source: str, target: str, preset: str) -> None:
    """Write nmtkit.toml for a pair of languages and a size. Raises ConfigError; never overwrites a file."""
    if preset not in STARTS:
        raise ConfigError(f"--preset {preset}: no such preset; choose {', '.join(STARTS)}")
    for name, language in (("--source", source), ("--target", target)):
        if not language.strip():
            raise ConfigError(f"{name} {inline(language)}: no language; give a code such as en")
    path = folder / FILE_NAME
    _write(folder, {path: _checked(path, render(source, target, preset, STARTS[preset]))})
    log.info(f"Wrote {path}. Put your files where [corpus] says, or change the names there. Then:")
    _say_what_next(folder, path, log)


def init_sample(folder: Path, log: Log) -> None:
    """Write the sample corpus and an nmtkit.toml that trains on it. Raises ConfigError; never overwrites a file."""
    path, data = folder / FILE_NAME, folder / "data"
    sample = generate(SAMPLE_SEED)
    texts = {data / name: text for name, text in files_of(sample).items()}
    _write(folder, {**texts, path: _checked(path, render("en", "de", "tiny", SAMPLE_START, labels=LABELS))})
    sizes = ", ".join(f"{len(part):,} pairs of {name}" for name, part in zip(Sample._fields, sample, strict=True))
    log.info(f"Wrote {path} and the sample corpus in {data}: {sizes}. Then:")
    _say_what_next(folder, path, log)


def _checked(path: Path, text: str) -> str:
    resolve(tomllib.loads(text), str(path))
    return text


def _write(folder: Path, texts: dict[Path, str]) -> None:
    """Write files that are not there yet. Raises ConfigError, before any is written, where one holds something else."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: not a folder; choose another one")
    missing = {path: text for path, text in texts.items() if not path.exists()}
    for path, text in texts.items():
        if path not in missing and (not path.is_file() or path.read_bytes() != text.encode()):
            raise ConfigError(f"{path}: exists already, with other content; remove it, or choose another folder")
    for path, text in missing.items():
        write_text(path, text)


def _say_what_next(folder: Path, path: Path, log: Log) -> None:
    where = "" if folder == Path() else f" --config {quote(str(path))}"
    for command in ("prepare", "train", "score"):
        log.info(f"  nmtkit {command}{where}")


def render(source: str, target: str, preset: str, start: Start, *, labels: str = "") -> str:
    """Return the text of the config file; `labels` names the file of the test set's labels."""
    endings = (source, target) if source != target else (f"source.{source}", f"target.{target}")
    files: dict[str, Any] = {}
    for name in ("train", "dev", "test"):
        for side, ending in zip(("source", "target"), endings, strict=True):
            files[f"{name}_{side}"] = inline(f"{name}.{ending}")
    return _TEMPLATE.format(
        **files,
        **start._asdict(),
        test_labels=f"labels = {inline(labels)}   # what each of its pairs is about\n" if labels else "",
        source=inline(source),
        target=inline(target),
        preset=preset,
        gap=" " * (11 - len(preset)),
        norm_gap=" " * (13 - len(start.norm)),
        norm_note=_NORM_NOTES[start.norm],
    )
