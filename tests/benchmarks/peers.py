"""Other toolkits, for benchmarks: their scripts run, each prints one JSON line with its target tokens a second.

A script is called as `run_NAME.sh TEXT WORK A|B`: text to be segmented (once), a folder for virtual environments, data
and models, and the task. It counts target tokens without padding, end marks included, and leaves its first updates out.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from processes import run

NOT_PYTORCH = ("marian",)
LOGS = {"eole": "eole", "opennmt_py": "onmt"}
"""Of those whose JSON line does not say how many tokens an update has: what the folder of their log begins with."""
TOKENS = re.compile(r"bsz: *\d+/ *(\d+)/")
"""Where that log says it: source tokens, target tokens, sentences."""
LONGER_TEXT = {
    "sockeye": "--max-seq-len 600 --batch-sentences-multiple-of 1",
    "fairseq": "--required-batch-size-multiple 1",
}
"""More options for longer sentences: by default Sockeye leaves them out, and both fill their batches badly."""
MOST = {"marian": 256}
"""Pieces beyond which a script has sentences left out, whatever options it is given."""


class Peer(NamedTuple):
    """A toolkit in a precision."""

    name: str
    precision: str = "fp32"

    @classmethod
    def parse(cls, text: str) -> "Peer":
        """Return the peer that `name` or `name:precision` means. Raises ValueError where it has no such precision."""
        name, _, precision = text.partition(":")
        if precision not in {"", "fp32"} and name != "eole":
            raise ValueError(f"{text}: on a CPU only eole trains in anything but fp32")
        return cls(name, precision or "fp32")

    @property
    def is_pytorch(self) -> bool:
        """Whether its memory compares with ours."""
        return self.name not in NOT_PYTORCH


class Places(NamedTuple):
    """Where the scripts, the raw text and the working folder of a text are."""

    scripts: Path
    text: Path
    work: Path


def link_environments(work: Path, into: Path) -> None:
    """Let another working folder use the virtual environments of this one."""
    into.mkdir(parents=True, exist_ok=True)
    for environment in work.glob("venv-*"):
        link = into / environment.name
        if (environment / "ok").exists() and not link.exists():
            link.symlink_to(environment.resolve())


def segment(places: Places) -> None:
    """Make the segmented text where it is not there yet. Raises SystemExit where no peer is installed to do so."""
    if (places.work / "data" / "vocab.txt").exists():
        return
    pythons = [mark.parent / "bin" / "python" for mark in sorted(places.work.glob("venv-*/ok"))]
    if not pythons:
        raise SystemExit(f"{places.work}: no peer is installed; its script does so when it is first run")
    done = run([pythons[0], places.scripts / "prep.py", places.text, places.work])
    if done.code:
        raise SystemExit(done.complaint)


def measure(peer: Peer, places: Places, task: str, updates: int | None, *, longest: int) -> dict[str, Any]:
    """Run a peer's script and return what it prints and what memory it takes, or its `error`.

    `longest` is how many pieces a sentence of the text may have where they are not those of captions, else 0.
    """
    if longest > MOST.get(peer.name, longest):
        return {"error": f"its script leaves out sentences of more than {MOST[peer.name]} pieces"}
    environment: dict[str, str] = {}
    tag = ""
    if peer.precision != "fp32":
        tag = peer.precision
        environment |= {"TAG": tag, "DTYPE": peer.precision}
    if updates:
        environment["UPDATES"] = str(updates)
    if longest and peer.name in LONGER_TEXT:
        environment["EXTRA"] = LONGER_TEXT[peer.name]
    script = places.scripts / f"run_{peer.name}.sh"
    done = run(["bash", script, places.text, places.work, task], environment)
    lines = done.output.strip().split("\n")
    if done.code or not lines[-1].startswith("{"):
        return {"error": f"{done.complaint}\n(its log is below {places.work})"}
    record = json.loads(lines[-1])
    per_update = record.get("tgt_tok_per_update") or _tokens(places.work / f"{LOGS.get(peer.name)}-{task}{tag}" / "log")
    return {
        "target_tokens_per_second": record["tgt_tok_per_s"],
        "target_tokens_per_update": per_update,
        "peak_mib": round(done.largest_mib),
        "peak_mib_together": round(done.together_mib),
        "seconds": round(done.seconds, 1),
    }


def _tokens(log: Path) -> int | None:
    found = [int(tokens) for tokens in TOKENS.findall(log.read_text("utf-8", "replace"))] if log.exists() else []
    return round(sum(found) / len(found)) if found else None
