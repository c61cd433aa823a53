"""`nmtkit prepare`: raw text to packed ids, in stages of which only those are done again whose inputs changed.

text: read, normalise, filter; depends on all files, normalizers and filters.
vocabulary: learn the segmenters; depends on the clean text and the segmenter's settings.
train, dev: pack ids; depend on their text, the vocabulary, max_pieces and their tags.
plan: the batches of the first epoch; depends on the packed pairs, train.batch and train.seed.
"""

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from nmtkit.commands import prepare_stages as stages
from nmtkit.commands.batches import corpus_sizes
from nmtkit.commands.prepare_content import Made, content_of, to_json
from nmtkit.commands.prepare_inputs import Inputs, Keys, describe, dev_tag, gather
from nmtkit.commands.prepare_refusals import has_checkpoints, refusal, vocabulary_changes
from nmtkit.commands.prepare_report import show
from nmtkit.commands.prepare_text import CleanText, clean_text
from nmtkit.commands.report_page import page
from nmtkit.config import Config
from nmtkit.corpus.segmenters import Segmenter, load_segmenter
from nmtkit.corpus.standard_input import reads_standard_input, received
from nmtkit.data.manifest import Stage, changes, load_manifest
from nmtkit.errors import DataError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder, write_text
from nmtkit.run_lock import RunLock
from nmtkit.seals import digest
from nmtkit.workers import processors

STAGES = ("text", "vocabulary", "train", "dev", "plan")
"""In the order in which they are done; each depends on earlier ones only."""


def prepare(config: Config, base: Path, run: RunFolder, log: Log, *, processes: int = 0) -> tuple[str, ...]:
    """Bring the data of a run up to date with its configuration, whose paths start from `base`.

    A large text is worked on by `processes` processes beside this one; 0: one for each core. How many makes no
    difference to what is written.

    Returns the names of the stages that were done, none where nothing had changed. Raises ConfigError without a
    training corpus, DataError for files that cannot be used, CheckpointError where trained weights would lose their
    vocabulary.
    """
    try:
        with ExitStack() as stack:
            copied = None
            if reads_standard_input(config.corpus):
                copied = stack.enter_context(received(run.data / f".standard_input.{os.getpid()}.tmp"))
            inputs = gather(config, base, log, copied)
            preparation = _Preparation(config, base, inputs, run, log, processes or processors())
            if preparation.first_due() is None:
                preparation.note()
                return ()
            run.path.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(RunLock(run.lock))
            lock.sign()
            return _Preparation(config, base, inputs, run, log, processes or processors()).bring_up_to_date()
    except OSError as error:
        raise DataError(
            f"{error.filename or run.data}: {error.strerror or error}; make room or set permissions, "
            "or choose another folder with --run"
        ) from None


class _Preparation:
    """One call of prepare. Its manifest is always true to the files.

    A stage leaves the manifest before its files change and returns once they are whole, so after an interruption at any
    moment the next call knows what to do.
    """

    def __init__(self, config: Config, base: Path, inputs: Inputs, run: RunFolder, log: Log, processes: int) -> None:
        self._base, self._processes = base, processes
        self._config, self._inputs, self._run, self._log = config, inputs, run, log
        self._keys = Keys(config, inputs)
        self._facts = describe(config, inputs)
        self._manifest = load_manifest(run.manifest)
        self._keys.name_corpora(self._manifest)
        self._found = replace(self._manifest, stages=dict(self._manifest.stages))
        self._unfinished = run.data / ".unfinished"
        self._done: list[str] = []
        self._whole: dict[str, Stage] = {}

    def bring_up_to_date(self) -> tuple[str, ...]:
        """Do what is due, stage by stage."""
        due = self.first_due()
        differences = self._differences()
        self._refuse_early()
        self._say_why(due, differences)
        self._run.data.mkdir(parents=True, exist_ok=True)
        self._clear_leftovers()
        self._do_stages()
        shutil.rmtree(self._unfinished, ignore_errors=True)
        self._manifest.complete = True
        content = self._write_report()
        self._save(complete=True)
        show(content, self._log)
        self._log.info(f"report: {self._run.report_page}")
        return tuple(self._done)

    # What is due.

    def _finished(self, name: str, key: str) -> Stage | None:
        """Return a stage that stays; that its files are whole is seen once."""
        stage = self._whole.get(name)
        if stage is None or stage.key != key:
            stage = self._manifest.finished(name, key, self._run.data)
            self._whole |= {name: stage} if stage else {}
        return stage

    def first_due(self) -> str | None:
        """Return the first stage that must be done, or "report" where only the end is missing; all before it stay."""
        keys = self._keys
        text = self._finished("text", keys.text())
        if text is None:
            return "text"
        vocabulary = self._finished("vocabulary", keys.vocabulary(text.digest))
        if vocabulary is None:
            return "vocabulary"
        train = self._finished("train", keys.train(vocabulary.digest))
        if train is None:
            return "train"
        if self._dev_is_due(keys.dev(vocabulary.digest)):
            return "dev"
        if self._finished("plan", keys.plan(train.key)) is None:
            return "plan"
        reported = self._run.report.is_file() and self._run.report_page.is_file() and not self._unfinished.exists()
        return None if self._manifest.complete and reported else "report"

    def _dev_is_due(self, key: str) -> bool:
        if self._inputs.dev is None:
            return "dev" in self._manifest.stages
        return self._finished("dev", key) is None

    def _vocabulary_on_disk(self) -> str:
        """Return the digest of the model files; empty where one is missing."""
        files = (self._run.source_segmenter, self._run.target_segmenter)
        if not all(file.is_file() for file in files):
            return ""
        return stages.vocabulary_digest(*(hashlib.sha256(file.read_bytes()).hexdigest() for file in files))

    # What people hear of it.

    def _differences(self) -> list[str]:
        return list(changes(self._manifest.facts, self._facts)) if self._found.stages else []

    def note(self) -> None:
        """Say that nothing is due; what changed may be a file's name, or a version that matters to no stage."""
        differences = self._differences()
        if differences:
            self._say_changes(differences)
            self._write_report()
            self._save(complete=True)
        self._log.info(f"{self._run.data} is up to date: nothing to prepare")

    def _say_changes(self, differences: Sequence[str]) -> None:
        self._log.info("changed since the last preparation:")
        for difference in differences:
            self._log.info(f"  {difference}")

    def _say_why(self, due: str | None, differences: Sequence[str]) -> None:
        if differences:
            self._say_changes(differences)
        elif self._found.stages:
            self._log.info(
                f"the last preparation was not finished, or files in {self._run.data} changed; going on from: {due}"
            )
        else:
            self._log.info(f"preparing {self._run.data}")

    def _write_report(self) -> dict[str, Any]:
        """Write the report of a complete preparation, for programs and for people, and return its content."""
        reports = {name: stage.report for name, stage in self._manifest.stages.items()}
        segmenters = (load_segmenter(self._run.source_segmenter), load_segmenter(self._run.target_segmenter))
        content = content_of(self._config, Made(reports, self._facts, self._manifest.fingerprint, segmenters))
        write_text(self._run.report, to_json(content))
        write_text(self._run.report_page, page(content))
        return content

    # What is refused.

    def _refuse_early(self) -> None:
        """Refuse settings that would change the vocabulary under trained weights before any work is done."""
        found = list(vocabulary_changes(self._manifest.facts, self._facts)) if self._found.stages else []
        if found and has_checkpoints(self._run):
            raise refusal(self._run, found[0])

    def _refuse_vocabulary(self, new: str) -> None:
        """Refuse a vocabulary that differs from the one weights were trained with."""
        before = self._found.stages.get("vocabulary")
        old = before.digest if before else self._vocabulary_on_disk()
        if old not in ("", new) and has_checkpoints(self._run):
            self._found.save(self._run.manifest)  # what the run was prepared with is there as ever
            raise refusal(self._run, "the text it is learned from has changed")

    # What is done.

    def _clear_leftovers(self) -> None:
        """Remove what an interrupted preparation left under temporary names, but for what this one can go on with."""
        reports = (f".{path.name}.*.tmp" for path in (self._run.report, self._run.report_page))
        left = [*self._run.data.glob(".*.tmp"), *(path for name in reports for path in self._run.path.glob(name))]
        for path in left:
            if path not in self._inputs.content:
                path.unlink(missing_ok=True)

    def _do_stages(self) -> None:
        keys = self._keys
        text = self._finished("text", keys.text()) or self._text.stage
        vocabulary = self._finished("vocabulary", keys.vocabulary(text.digest))
        if vocabulary is None:
            vocabulary = self._do_vocabulary(keys.vocabulary(text.digest))
        else:
            self._log.info("vocabulary: unchanged, kept")
        segmenters = (load_segmenter(self._run.source_segmenter), load_segmenter(self._run.target_segmenter))
        train = self._finished("train", keys.train(vocabulary.digest))
        if train is None:
            train = self._do_train(keys.train(vocabulary.digest), segmenters, made_of=[text.digest, vocabulary.digest])
        else:
            self._log.info("training pairs: unchanged, kept")
        if self._dev_is_due(keys.dev(vocabulary.digest)):
            self._do_dev(keys.dev(vocabulary.digest), segmenters, made_of=[vocabulary.digest])
        if self._finished("plan", keys.plan(train.key)) is None:
            sizes = corpus_sizes({"text": text, "train": train})
            plan = stages.plan_batches(self._config, sizes, folder=self._run.data, key=keys.plan(train.key))
            self._complete("plan", plan)

    @cached_property
    def _text(self) -> CleanText:
        """The clean text, as soon as a later stage asks for it."""
        text = clean_text(
            self._config,
            self._inputs,
            self._unfinished / "text",
            self._log,
            key=self._keys.text(),
            processes=self._processes,
        )
        if self._finished("text", text.stage.key) is None:
            self._complete("text", text.stage)
        return text

    def _do_vocabulary(self, key: str) -> Stage:
        learned = stages.learn_vocabularies(self._config, self._base, self._text.spool, self._log, key=key)
        self._refuse_vocabulary(learned.stage.digest)
        self._undo("vocabulary")
        return self._complete("vocabulary", learned.write(self._run))

    def _do_train(self, key: str, segmenters: tuple[Segmenter, Segmenter], made_of: list[str]) -> Stage:
        spool = self._text.spool
        self._undo("train", "plan")
        stage = stages.pack_train(
            self._config, spool, segmenters, self._log, run=self._run, key=key, processes=self._processes
        )
        tags = [corpus.tag for corpus in self._config.corpus.train]
        sizes = list(corpus_sizes({"text": self._text.stage, "train": stage}).values())
        more = [*([tags] if any(tags) else []), *([sizes] if len(sizes) > 1 else [])]  # where each corpus ends
        made = digest([*made_of, self._config.prepare.max_pieces, *more])
        return self._complete("train", replace(stage, digest=made))

    def _do_dev(self, key: str, segmenters: tuple[Segmenter, Segmenter], made_of: list[str]) -> None:
        self._undo("dev")
        if self._inputs.dev is None:
            stages.remove_split(self._run.data, "dev")
        else:
            stage = stages.pack_dev(self._config, self._inputs.dev, segmenters, folder=self._run.data, key=key)
            tag = dev_tag(self._config)
            made = digest([stage.digest, *made_of, self._config.prepare.max_pieces, *([tag] if tag else [])])
            self._complete("dev", replace(stage, digest=made))

    def _undo(self, *names: str) -> None:
        for name in names:
            self._manifest.stages.pop(name, None)
            self._whole.pop(name, None)
        self._save()

    def _complete(self, name: str, stage: Stage) -> Stage:
        self._manifest.stages[name] = self._whole[name] = stage
        self._done.append(name)
        self._log.detail("; ".join([f"{name}: done", *stage.files]))
        self._save()
        return stage

    def _save(self, *, complete: bool = False) -> None:
        self._manifest.complete = complete
        self._manifest.facts = self._facts
        self._manifest.stages = {name: self._manifest.stages[name] for name in STAGES if name in self._manifest.stages}
        self._manifest.save(self._run.manifest)
