"""The table of broken inputs: what fails, and what must be said of it."""

import gzip
from typing import NamedTuple

from nmtkit.corpus.segmenters import BpeConfig, learn_segmenter
from real_world.scene import (
    Break,
    Scene,
    a_folder,
    appended,
    changed,
    denied,
    failing,
    failing_later,
    full,
    halved,
    holding,
    missing,
    moved_away,
    of_other_origin,
    together,
    whole,
)

LATIN = b"caf\xe9 noir\n"
SENTENCE = "give a file with one sentence a line"
PARTED = "find where they part and repair the files"
PREPARE = "run `nmtkit prepare` for this run folder again"
FILES = "score --system h --reference r"
TRANSLATE = "translate in -o out"
TRAIN = "train --set train.stop.updates=1"
ON = "train --set train.stop.updates=9"


class Row(NamedTuple):
    """A command that fails: in what project, what is broken, what it must say, its exit code."""

    stage: str
    command: str
    name: str
    broken: Break
    says: tuple[str, ...]
    code: int = 1
    mended: str = ""
    """A command that mends it; without one, everything is brought back as it was."""
    then: str = ""
    """What succeeds once it is mended, where that is not the same command."""


def of_file(stage: str, command: str, name: str) -> list[Row]:
    """Return what may be wrong with any file of text."""
    return [
        Row(stage, command, f"{name} missing", missing(name), (f"{name} does not exist; check the name",)),
        Row(stage, command, f"{name} a folder", a_folder(name), (f"{name} is a folder; {SENTENCE}",)),
        Row(stage, command, f"{name} denied", denied(name), (f"{name} cannot be read: Permission denied; check its",)),
        Row(stage, command, f"{name} unreadable", failing(name), (f"{name} cannot be read: Input/output error; ",)),
        Row(stage, command, f"{name} cut gzip", holding(gzip.compress(LATIN * 99)[:20], name),
            (f"{name} is a damaged gzip file (", "); fetch or compress it again")),
    ]  # fmt: skip


def of_pairs(stage: str, command: str, split: str, lines: int) -> list[Row]:
    """Return what may be wrong with two files of parallel text."""
    source, target = f"{split}.en", f"{split}.de"
    drop = ', or let such pairs be dropped: prepare.invalid_utf8 = "drop"\n' if split == "train" else "\n"
    latin = f"{source}, line {lines + 1}, byte 4: 0xe9 is not UTF-8; convert the file to UTF-8{drop}"
    return [
        Row(stage, command, f"{split} source longer", appended(b"one\n", source),
            (f"{source} has {lines + 1} lines but ", f"{target} has {lines}; line n of the one must", PARTED)),
        Row(stage, command, f"{split} target longer", appended(b"one\ntwo\n", target),
            (f"{source} has {lines} lines but ", f"{target} has {lines + 2}; line n of the one must", PARTED)),
        Row(stage, command, f"{split} not UTF-8", together(appended(LATIN, source), appended(b"x\n", target)),
            (latin,)),
        Row(stage, command, f"{split} UTF-16", holding(("the dog .\n" * lines).encode("utf-16"), source, target),
            (f"{source}, line 1, byte 1: 0xff is not UTF-8; convert the file to UTF-8",)),
        Row(stage, command, f"{split} unreadable later", failing_later(source),
            (f"{source} cannot be read: Input/output error; check its permissions and its disk",)),
        Row(stage, command, f"{split} empty", holding(b"", target), (f"{target} is empty; {SENTENCE}",)),
        *of_file(stage, command, source),
    ]  # fmt: skip


def of_config(stage: str, command: str) -> list[Row]:
    """Return what may be wrong with the config file."""
    name = "nmtkit.toml"
    return [
        Row(stage, command, "config missing", missing(name), (f"{name}: no such file; write one with `nmtkit in",), 2),
        Row(stage, command, "config a folder", a_folder(name), (f"{name}: a folder, not a file; name the TOML",), 2),
        Row(stage, command, "config denied", denied(name), (f"{name}: cannot be read (Permission denied); check",), 2),
        Row(stage, command, "config unreadable", failing(name), (f"{name}: cannot be read (Input/output error)",), 2),
        Row(stage, command, "config empty", holding(b"", name), (f"{name}: languages", "missing"), 2),
        Row(stage, command, "config not UTF-8", appended(LATIN, name), (f"{name}, line ", "0xe9 is not UTF-8; sav"), 2),
        Row(stage, command, "config with CR", changed(b"\n", b"\r", name), (f"{name}, line 1: not valid TOML",), 2),
    ]


def of_data(command: str) -> list[Row]:
    """Return what may be wrong with prepared data; preparing again mends it."""
    ids, offsets, model = (
        f"run/data/{name}" for name in ("train.source.ids.bin", "dev.target.offsets.bin", "source.model")
    )
    unfinished = ("run/data holds no data prepared to the end; run `nmtkit prepare` for this run folder",)
    unread = ("run/data/manifest.json is damaged or of another version; run `nmtkit prepare` for this run folder",)
    table: list[tuple[str, Break, tuple[str, ...]]] = [
        ("manifest missing", missing("run/data/manifest.json"), unfinished),
        ("manifest empty", holding(b"", "run/data/manifest.json"), unread),
        ("manifest halved", halved("run/data/manifest.json"), unread),
        ("ids missing", missing(ids), (f"{ids} does not exist; {PREPARE}",)),
        ("ids empty", holding(b"", ids), (f"{ids} is damaged or not written by this version of nmtkit; {PREPARE}",)),
        ("ids halved", halved(ids), (f"{ids}", PREPARE)),
        ("ids unreadable", denied("train.source.ids.bin"), (f"{ids} cannot be read (Permission denied); ",)),
        ("offsets halved", halved(offsets), (f"{offsets}", PREPARE)),
        (
            "vocabulary missing",
            missing(model),
            (f"the vocabulary {model} cannot be read (No such file", "run `nmtkit p"),
        ),
        ("vocabulary empty", holding(b"", model), (f"the vocabulary {model} is damaged or not made by nmtkit; run",)),
        ("vocabulary halved", halved(model), (f"the vocabulary {model} is damaged or not made by nmtkit; run",)),
    ]
    return [
        Row("prepared", command, name, broken, says, mended="" if "unreadable" in name else "prepare")
        for name, broken, says in table
    ]


BOTH = ("run/checkpoints/00000004", "run/checkpoints/00000008")
WEIGHTS = tuple(f"{folder}/weights.safetensors" for folder in BOTH)
STATES = tuple(f"{folder}/state.json" for folder in BOTH)
NO_AVERAGE = missing("run/checkpoints/average/weights.safetensors")


def of_run(command: str, says: str) -> list[Row]:
    """Return what may be wrong with a run as a whole, for a command that needs its weights."""
    return [
        Row("trained", command, "run missing", moved_away("run"), ("run: no such folder; give the folder that nmtk",)),
        Row("trained", command, "run without config", missing("run/config.toml"),
            ("run: no run folder, it has no config.toml; give the folder nmtkit train wrote",)),
        Row("trained", command, "run's config cut", halved("run/config.toml"), ("run/config.toml",), 2),
        Row("trained", command, "weights cut", together(halved(*WEIGHTS), NO_AVERAGE), (says,)),
        Row("trained", command, "weights empty", together(holding(b"", *WEIGHTS), NO_AVERAGE), (says,)),
        Row("trained", command, "states missing", together(missing(*STATES), NO_AVERAGE), (says,)),
        Row("trained", command, "no checkpoint", moved_away("run/checkpoints"), (says,)),
    ]  # fmt: skip


def of_surroundings(command: str) -> list[Row]:
    """Return what may be wrong with what the weights of a run fit, for a command that uses them."""
    model = "run/data/target.model"
    return [
        Row("trained", command, "vocabulary missing", missing(model), (f"the vocabulary {model} cannot be read (",)),
        Row("trained", command, "vocabulary cut", halved(model), (f"the vocabulary {model} is damaged or not",)),
        Row("trained", command, "vocabulary of another run", another_vocabulary,
            ("trained with the target vocabulary ", "; bring back the target.model it was trained with")),
        Row("trained", command, "heads edited", changed(b"heads = 2", b"heads = 4", "run/config.toml"),
            ("trained with other settings of the model:", "  model.heads: 2 in training, 4 now", "set them back")),
    ]  # fmt: skip


def another_vocabulary(scene: Scene) -> None:
    """Put a sound vocabulary that is not that of the weights beside them."""
    learned = learn_segmenter(BpeConfig(vocabulary_size=40, byte_fallback=False), ["a dog", "the bird", "every fox"])
    (scene.run.target_segmenter).write_bytes(learned.model)


UNUSABLE = "run/checkpoints: no usable checkpoint; run nmtkit train first"
NONE_LEFT = "run/checkpoints: training can go on from none of its checkpoints; delete the folder to begin anew"

PREPARING = [
    *(row for split, lines in (("train", 200), ("dev", 20), ("test", 20))
      for row in of_pairs("raw", "prepare", split, lines)),
    Row("raw", "prepare", "train blank", holding(b"\n \n" * 100, "train.en"),
        ("nothing is left to train on: all 200 pairs were dropped (blank 200 (100.00%)); check files and prepare.",)),
    Row("raw", "prepare", "dev blank", holding(b"\n" * 20, "dev.en"),
        ("dev.en: no pair of corpus.dev has text on both sides", "give another development set")),
    Row("raw", "prepare", "one column",
        changed(b'source = "train.en", target = "train.de"', b'tsv = "in"', "nmtkit.toml"),
        ("in, line 1: 1 columns where 2 are needed, source TAB target",)),
    Row("raw", "prepare", "run a file", holding(b"", "run"), ("run: File exists; ", "choose another folder wi")),
    Row("raw", "prepare --set prepare.invalid_utf8=drop", "dev not UTF-8",
        together(appended(LATIN, "dev.en"), appended(b"x\n", "dev.de")), ("dev.en, line 21, byte 4: 0xe9 is not",)),
    Row("trained", "prepare --set prepare.segmenter.vocabulary_size=110", "vocabulary changed", whole,
        ("weights trained with the vocabulary in run/data, which would change (prepare.segmenter.vocabulary_size: "
         "120 -> 110); choose another folder with --run, or delete run/checkpoints",), then="prepare"),
    Row("trained", "prepare", "text changed", appended(b"quite different words\n", "train.en", "train.de"),
        ("would change (the text it is learned from has changed); choose another folder with --run",)),
    *of_config("raw", "prepare"),
]  # fmt: skip

TRAINING = [
    Row("raw", TRAIN, "not prepared", whole, ("run/data holds no data prepared to the end; run `nmtkit prepare`",),
        mended="prepare"),
    *of_pairs("prepared", TRAIN, "dev", 20),
    *of_data(TRAIN),
    *(row for row in of_run(ON, NONE_LEFT) if row.name not in ("run missing", "no checkpoint")),
    *of_surroundings(ON),
    Row("trained", f"{ON} --set train.seed=2 --set model.width=32", "settings changed", whole,
        ("run: these settings cannot change in the middle of a training:", "model.width: 16 in the run, now 32",
         "train.seed: 1 in the run, now 2", "set them back, or train into another folder with --run"), then=ON),
    Row("prepared", f"{TRAIN} --set prepare.max_pieces=99", "data of other settings", whole,
        ("run/data was prepared with other settings:", "prepare.max_pieces: 64 -> 99", PREPARE), then=TRAIN),
    Row("trained", ON, "other training pairs", of_other_origin("data", *BOTH),
        ("run/data: the training pairs are not those that run/checkpoints/00000008 was trained with; bring the corp",)),
    *of_config("prepared", TRAIN),
]  # fmt: skip

TRANSLATING = [
    *of_file("trained", TRANSLATE, "in"),
    *of_run(TRANSLATE, UNUSABLE),
    *of_surroundings(TRANSLATE),
    Row("trained", "translate -o out < in", "cut gzip on stdin", holding(gzip.compress(LATIN * 99)[:20], "in"),
        ("standard input is a damaged gzip file (", "); fetch or compress it again")),
    Row("trained", f"{TRANSLATE} --checkpoint 8", "weights cut", halved(WEIGHTS[1]), (f"{WEIGHTS[1]}: missing or da",)),
    Row("trained", f"{TRANSLATE} --checkpoint 7", "no such checkpoint", whole,
        ("run/checkpoints: no checkpoint of update 7; there are: 4, 8",), then=f"{TRANSLATE} --checkpoint 8"),
    Row("trained", TRANSLATE, "output a folder", a_folder("out"), ("--output out is a folder; give the name of",),
        then="translate in -o out/out"),
    Row("trained", "translate in -o in/out", "output under a file", whole,
        ("--output in/out cannot be written (File exists); choose another",), then=TRANSLATE),
    Row("trained", TRANSLATE, "output denied", denied("out"), ("--output out cannot be written (Permission denied)",)),
    Row("trained", TRANSLATE, "disk full", full("out"), ("--output out cannot be written (No space left on device)",)),
    *of_config("trained", TRANSLATE),
]  # fmt: skip

SCORING = [
    *of_file("trained", FILES, "h"),
    *of_file("trained", FILES, "r"),
    Row("trained", FILES, "hypotheses longer", appended(b"one\n", "h"),
        ("h has 21 lines but r has 20; line n of the one belongs to line n of the other, so find where they part",)),
    Row("trained", FILES, "references longer", appended(b"one\n", "r"),
        ("h has 20 lines but r has 21; line n of the one belongs to line n of the other, so find where they part",)),
    Row("trained", FILES, "hypotheses empty", holding(b"", "h"), ("h has 0 lines but r has 20",)),
    Row("trained", FILES, "both empty", holding(b"", "h", "r"), ("h and r are empty: no lines to score",)),
    Row("trained", FILES, "not UTF-8", holding(LATIN, "h", "r"),
        ("r, line 1, byte 4: 0xe9 is not UTF-8; convert the file to UTF-8\n",)),
    *of_file("trained", f"{FILES} --labels in", "in"),
    Row("trained", f"{FILES} --labels in", "labels longer", appended(b"one\n", "in"),
        ("in has 21 lines but r has 20; line n of the one belongs to line n of the other",)),
    *of_pairs("trained", "score", "test", 20),
    *of_run("score", UNUSABLE),
    *of_surroundings("score"),
    Row("trained", "score --checkpoint average", "disk full", full("test.average.txt"),
        ("run/translations/test.average.txt: No space left on device; free some space",)),
    Row("trained", "score", "translations a file", holding(b"", "run/translations"),
        ("run/translations cannot be written (File exists)", "nmtkit translate --output")),
    *of_config("trained", "score"),
]  # fmt: skip

OTHERS = [
    *of_run("average --last 2", "run/checkpoints: no checkpoint to average; run nmtkit train first"),
    Row("trained", "average --last 2", "disk full", full("state.json"),
        ("run/checkpoints/average: could not be written ([Errno 28] No space left on device); make room and run",)),
    Row("raw", "init in --source en --target de", "folder a file", whole, ("in: not a folder; choose another one",), 2,
        then="init new --source en --target de"),
    Row("raw", "init . --source en --target de", "file there", whole, ("nmtkit.toml: exists already", "remove it"), 2,
        then="init new --source en --target de"),
    Row("raw", "init new --source en --target de", "disk full", full("nmtkit.toml"),
        ("new/nmtkit.toml: No space left on device; free some space",)),
]  # fmt: skip

ROWS = [*PREPARING, *TRAINING, *TRANSLATING, *SCORING, *OTHERS]
