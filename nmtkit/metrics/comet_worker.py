"""Scores segments with COMET. Run by the interpreter of another environment, perhaps an old one, without nmtkit.

    python comet_worker.py --check               is the package there?
    python comet_worker.py MODEL BATCH GPUS      stdin: a segment a line, as {"src": …, "mt": …, "ref": …}

Answers on stdout with one line of JSON: {"package": true}, or {"scores": [a number for each line], "version": "2.2"}.
"""

import importlib
import importlib.util
import json
import os
import sys
from typing import Any


def main() -> None:
    """Answer one question."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    if sys.path and os.path.abspath(sys.path[0]) == here:  # noqa: PTH100
        del sys.path[0]  # else `comet` would be the module beside this one
    # What the package prints goes to stderr, and only the answer to stdout.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr  # and not at its end, when the last line should say what went wrong
    if sys.argv[1] == "--check":
        answer = {"package": importlib.util.find_spec("comet") is not None}
    else:
        segments = [json.loads(line) for line in sys.stdin.buffer.read().split(b"\n") if line]
        answer = score(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), segments)
    json.dump(answer, answers)
    answers.close()


def score(model: str, batch_size: int, gpus: int, segments: Any) -> Any:
    """Return the scores of segments and the version of the package."""
    comet = importlib.import_module("comet")
    loaded = comet.load_from_checkpoint(model)
    found = loaded.predict(segments, batch_size=batch_size, gpus=gpus, progress_bar=False)
    scores = found.scores if hasattr(found, "scores") else found[0]
    return {"scores": [float(each) for each in scores], "version": version(comet)}


def version(comet: Any) -> str:
    """Return the version of the package."""
    try:
        return str(importlib.import_module("importlib.metadata").version("unbabel-comet"))
    except Exception:  # not installed as a package, or a Python without importlib.metadata
        return str(getattr(comet, "__version__", "unknown"))


if __name__ == "__main__":
    main()
