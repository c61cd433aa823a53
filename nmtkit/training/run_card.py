"""The run card, run.json and run.html: what it takes to repeat a run and to judge it, kept up while training goes on.

Everything in it but `sessions`, `time` and `energy` is the same for equal runs, whatever interrupted them.
"""

import math
import shutil
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nmtkit.data.manifest import Manifest
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder
from nmtkit.training.card_files import Content, Page, card_in, measured_scores, now, write_card
from nmtkit.training.changes import changes
from nmtkit.training.curve import Record, Records, read_records
from nmtkit.training.energy import EnergyMeter
from nmtkit.training.state import TrainingState

ROOM = 2**20
"""Bytes that must be free: the last of a disk is not for cards."""


class RunCard:
    """Keeps the card of a run while it is trained. Nothing that fails here ends a training."""

    def __init__(
        self, run: RunFolder, facts: Content, session: Content, *, meter: EnergyMeter, page: Page, log: Log
    ) -> None:
        """`facts` are the parts of the card that stay, `session` says how training was called, and on what machine."""
        self._run, self._facts, self._session = run, facts, session
        self._meter, self._page, self._log = meter, page, log
        self._earlier: list[Content] = []
        self._changed: list[str] = []
        """Settings that are not what they were in the session before."""
        self._state = TrainingState()
        self._began = time.monotonic()
        self._said = ""

    @contextmanager
    def session(self, state: TrainingState) -> Iterator[None]:
        """Begin behind `state`. What ends the training early is named on the card."""
        self._begin(state)
        try:
            yield
        except Exception as error:
            self.write(self._state, mishap=str(error).split("\n", 1)[0] or type(error).__name__)
            raise
        finally:
            self._meter.stop()

    def write(self, state: TrainingState, limit: str | None = None, mishap: str | None = None) -> None:
        """Write the card as training stands; `limit` is the one that ended it, or `mishap` what did, where one did."""
        self._state = state
        with self._tolerant():
            self._run.path.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(self._run.path).free < ROOM:
                raise OSError(f"less than {ROOM // 2**20} MiB is free, which is left to checkpoints")
            write_card(self._run, self._content(state, limit, mishap), self._page)

    def _begin(self, state: TrainingState) -> None:
        with self._tolerant():
            self._take_over(state)
        self._began = time.monotonic()
        self._session = {
            "began": now(),
            **self._session,
            "software": self._facts["software"],
            "changed": self._changed,
            "from_update": state.update,
        }
        with self._tolerant():
            self._meter.start()
        self.write(state)

    def _take_over(self, state: TrainingState) -> None:
        """Take over what the card says of earlier sessions; where training begins anew, only of the same settings."""
        if not self._run.card.exists():
            return
        card = card_in(self._run.card.read_bytes())
        if card is None:
            self._log.warn(f"{self._run.card}: damaged or changed, so what it says of earlier sessions is lost")
        elif state.update or card["config"] == self._facts["config"]:
            self._earlier = list(card["sessions"])
            self._changed = [str(change) for change in changes(card["config"], self._facts["config"])]

    @contextmanager
    def _tolerant(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # a card is not worth the end of a training of days
            if str(error) != self._said:
                self._said = str(error)
                self._log.warn(f"{self._run.card} could not be written: {error}")

    def _content(self, state: TrainingState, limit: str | None, mishap: str | None) -> Content:
        records = read_records(self._run.metrics)
        session = {
            **self._session,
            "to_update": state.update,
            "written": now(),
            "seconds": time.monotonic() - self._began,
            "ending": limit or mishap,
            "energy": {"joules": self._meter.read(), "unread": self._meter.unread},
        }
        sessions = [*self._earlier, session]
        return {
            **self._facts,
            "training": {"precision": self._facts["training"]["precision"], **_progress(state), "ended": limit},
            "development": development(records, state),
            "tests": measured_scores(self._run),
            "time": _time(records, state),
            "energy": _energy(sessions),
            "sessions": sessions,
        }


def data_facts(manifest: Manifest) -> Content:
    """Return the parts of a card on data and vocabulary: what a preparation made, and of what."""
    text, train, vocabulary = (manifest.stages[name].report for name in ("text", "train", "vocabulary"))
    corpora = []
    for corpus, too_long in zip(text["corpora"], train["too_long"], strict=True):
        drops = {**corpus["drops"], "max_pieces": too_long}
        corpora.append(
            {
                "name": corpus["name"],
                "read": corpus["read"],
                "kept": corpus["kept"] - too_long["count"],
                "dropped": {reason: each["count"] for reason, each in drops.items() if each["count"]},
            }
        )
    facts = manifest.facts
    data = {
        "fingerprint": manifest.fingerprint,
        "pairs": train["pairs"],
        **{f"{side}_pieces": train[side]["pieces"] for side in ("source", "target")},
        **{f"{side}_unknown": train[side]["unknown"] for side in ("source", "target")},
        "corpora": corpora,
        "held_out": [{"name": corpus["name"], "read": corpus["read"]} for corpus in text["held_out"]],
        "files": {name.removeprefix("corpus "): fact for name, fact in facts.items() if name.startswith("corpus ")},
        "prepared_with": {
            name.removeprefix("version of "): fact for name, fact in facts.items() if name.startswith("version of ")
        },
    }
    sides = {side: {key: vocabulary[side][key] for key in ("size", "fingerprint")} for side in ("source", "target")}
    return {"data": data, "vocabulary": {"kind": vocabulary["kind"], "joint": vocabulary["joint"], **sides}}


def _progress(state: TrainingState) -> Content:
    return {
        "updates": state.update,
        "epochs": state.passes,
        "pairs": state.pairs,
        "source_tokens": state.source_tokens,
        "target_tokens": state.target_tokens,
        "skipped": state.skipped,
        "returns": state.returns,
        "passed_over": [state.passed_from, state.passed_to] if state.returns else None,
    }


def development(records: Records, state: TrainingState) -> Content:
    """Return what the development set said: the best and the last validation, and the average of these updates."""
    validations = [record for record in records.validation if record["update"] <= state.update]
    best = [record for record in validations if record.get("best")]
    averages = [record for record in records.average if record.get("update") == state.update]
    found = {"average": averages[-1:], "best": best[-1:], "last": validations[-1:]}
    return {what: _judged(some[0]) for what, some in found.items() if some}


def _judged(record: Record) -> Content:
    wanted = ("update", "updates", "perplexity", "metric", "score", "signature")
    return {key: record[key] for key in wanted if key in record}


def _time(records: Records, state: TrainingState) -> Content:
    """Return the seconds of training, and tokens a second: over all of it, and of updates alone, in the middle."""
    content: Content = {"seconds": state.seconds}
    for side in ("source", "target"):
        tokens, key = getattr(state, f"{side}_tokens"), f"{side}_tokens_per_second"
        rates = [record[key] for record in records.train if _is_finite(record.get(key))]
        content[key] = tokens / state.seconds if state.seconds else None
        content[f"{key}_of_updates"] = statistics.median(rates) if rates else None
    return content


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _energy(sessions: list[Content]) -> Content:
    """Return the joules of all sessions, those behind the last checkpoint before a kill included, by counter."""
    joules: dict[str, float] = {}
    for session in sessions:
        for name, value in session["energy"]["joules"].items():
            joules[name] = joules.get(name, 0.0) + value
    unread = dict.fromkeys(line for session in sessions for line in session["energy"]["unread"])
    return {"joules": joules, "unread": list(unread)}
