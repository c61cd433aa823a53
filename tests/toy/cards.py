"""The content of a run card, as training and scoring leave it, made by hand."""

from copy import deepcopy
from typing import Any

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"

MACHINE: dict[str, Any] = {
    "hosts": ["loom"],
    "system": "Linux-6.1-x86_64-with-glibc2.36",
    "cpu": "A Processor",
    "cores": 2,
    "memory": 25_769_803_776,
    "gpus": [],
    "cuda": None,
    "device": "cpu",
    "processes": 1,
    "threads": 2,
    "kernels": True,
}

SOFTWARE: dict[str, Any] = {
    "nmtkit": "0.1.0",
    "commit": "0123456789abcdef0123456789abcdef01234567",
    "changed": False,
    "source": "5" * 64,
    "python": "3.11.2",
    "torch": "2.13.0+cpu",
    "numpy": "2.4.6",
    "sentencepiece": "0.2.3",
    "sacremoses": "0.2.0",
    "regex": "2026.11.19",
    "sacrebleu": "2.6.0",
    "safetensors": "0.7.0",
}

SESSION: dict[str, Any] = {
    "began": "2026-11-30T01:00:00+00:00",
    "command": "nmtkit train --config 'a b.toml' --set train.seed=3",
    "folder": "captions",
    "machine": MACHINE,
    "software": SOFTWARE,
    "changed": [],
    "from_update": 0,
    "to_update": 8,
    "written": "2026-11-30T01:25:07+00:00",
    "seconds": 1507.0,
    "ending": "train.stop.updates = 8",
    "energy": {"joules": {"processor package-0": 61_000.5}, "unread": []},
}

CARD: dict[str, Any] = {
    "format": 1,
    "software": SOFTWARE,
    "config": {
        "languages": {"source": "en", "target": "de"},
        "corpus": {"folder": "captions", "train": [{"name": "toy", "source": "train.en", "target": "train.de"}]},
        "prepare": {"filters": [{"kind": "blank"}, {"kind": "ratio", "maximum": 9.0}]},
        "train": {"seed": 3, "label_smoothing": 0.1},
    },
    "data": {
        "fingerprint": "d" * 64,
        "pairs": 196,
        "source_pieces": 1_200,
        "target_pieces": 1_300,
        "source_unknown": 0,
        "target_unknown": 1,
        "corpora": [{"name": "toy", "read": 200, "kept": 196, "dropped": {"ratio": 3, "max_pieces": 1}}],
        "held_out": [{"name": "dev", "read": 20}, {"name": "test", "read": 20}],
        "files": {"toy, source": f"train.en, 9000 bytes, sha256 {'e' * 64}"},
        "prepared_with": {"sentencepiece": "0.2.3"},
    },
    "vocabulary": {
        "kind": "bpe",
        "joint": True,
        "source": {"size": 96, "fingerprint": "f" * 64},
        "target": {"size": 96, "fingerprint": "f" * 64},
    },
    "model": {
        "kind": "transformer",
        "parameters": {"embeddings": 1_536, "encoder": 2_000, "decoder": 3_000},
        "initial": {},
    },
    "training": {
        "precision": "fp32",
        "updates": 8,
        "epochs": 0.8,
        "pairs": 160,
        "source_tokens": 1_400,
        "target_tokens": 1_500,
        "skipped": 0,
        "returns": 0,
        "passed_over": None,
        "ended": "train.stop.updates = 8",
    },
    "development": {
        "best": {"update": 4, "perplexity": 41.5, "metric": "BLEU", "score": 3.25, "signature": SIGNATURE},
        "last": {"update": 8, "perplexity": 38.25, "metric": "BLEU", "score": 2.5, "signature": SIGNATURE},
        "average": {
            "update": 8,
            "updates": [4, 8],
            "perplexity": 40.0,
            "metric": "BLEU",
            "score": 3.5,
            "signature": SIGNATURE,
        },
    },
    "tests": [
        {
            "format": 1,
            "name": "test",
            "checkpoint": "average",
            "updates": [4, 8],
            "tag": "",
            "lines": 20,
            "scores": [
                {"name": "BLEU", "value": 4.5, "signature": SIGNATURE, "higher_is_better": True, "details": ""},
                {"name": "chrF2", "value": 20.25, "signature": "nrefs:1", "higher_is_better": True, "details": ""},
            ],
            "parts": [],
            "hypotheses_sha256": "a" * 64,
            "references_sha256": "b" * 64,
            "translate": {"search": {"kind": "beam", "beam": 4}, "batch_tokens": 4_096},
            "nmtkit": "0.1.0",
            "scored": "2026-11-30T01:26:00+00:00",
        }
    ],
    "time": {
        "seconds": 1500.0,
        "source_tokens_per_second": 9_140.0,
        "source_tokens_per_second_of_updates": 10_000.0,
        "target_tokens_per_second": 9_431.0,
        "target_tokens_per_second_of_updates": 10_500.0,
    },
    "energy": {"joules": {"processor package-0": 61_000.5}, "unread": []},
    "sessions": [SESSION],
}


def run_card(**parts: Any) -> dict[str, Any]:
    """Return the content of a card, with parts of it replaced: dotted keys have a double underscore."""
    card = deepcopy(CARD)
    for key, value in parts.items():
        *path, last = key.split("__")
        place = card
        for name in path:
            place = place[int(name)] if isinstance(place, list) else place[name]
        place[last] = value
    return card
