"""The content of the report of a preparation, prepare.json: what its stages reported, put together for readers."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from nmtkit.commands.prepare_inputs import dev_tag
from nmtkit.commands.prepare_suspicions import SIDES, share, suspicions
from nmtkit.config import Config
from nmtkit.corpus.blocks import MISSING_LANGUAGE
from nmtkit.corpus.counts import INVALID
from nmtkit.corpus.segmenters import Segmenter

BEFORE = (MISSING_LANGUAGE, INVALID)
"""The reasons for which pairs are dropped before normalizers see them."""
SHOWN = 10
"""Pairs of each corpus that are shown after every step."""

_NUMBERS = re.compile(r"\[\s+(-?\d+(?:,\s+-?\d+)*)\s+\]")
"""A list of numbers, each on a line of its own. No string of JSON holds a line feed, so none looks like it."""


class Made(NamedTuple):
    """What a preparation made: the reports of its stages, its facts, the fingerprint of its data, its segmenters."""

    stages: Mapping[str, Mapping[str, Any]]
    facts: Mapping[str, str]
    fingerprint: str
    segmenters: tuple[Segmenter, Segmenter]


def content_of(config: Config, made: Made) -> dict[str, Any]:
    """Return the whole content, of JSON's types, the same for the same input."""
    stages = made.stages
    text, train = stages["text"], stages["train"]
    content: dict[str, Any] = {
        "languages": {"source": config.languages.source, "target": config.languages.target},
        "fingerprint": made.fingerprint,
        "corpora": [],
        "held_out": [_held_out(corpus) for corpus in text["held_out"]],
        "normalizers": list(_normalizers(text)),
        "vocabulary": stages["vocabulary"],
        "train": {name: part for name, part in train.items() if name not in ("too_long", "profiles")},
    }
    parts = zip(text["corpora"], train["too_long"], train["profiles"], config.corpus.train, strict=True)
    for corpus, too_long, profile, settings in parts:
        pieces = _Pieces(made.segmenters, settings.tag, config)
        content["corpora"].append({**_corpus(corpus, too_long, profile, pieces), "tag": settings.tag})
    if "dev" in stages:
        content["dev"] = {**stages["dev"], "tag": dev_tag(config)}
    if "plan" in stages:
        content["plan"] = stages["plan"]
    content["suspicions"] = [suspicion._asdict() for suspicion in suspicions(content)]
    content["facts"] = dict(made.facts)
    return content


def to_json(content: Any) -> str:
    """Return JSON for people too: a list of numbers takes one line."""
    text = json.dumps(content, ensure_ascii=False, indent=2)
    return _NUMBERS.sub(lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


class _Pieces:
    """Turns the pairs of a corpus into pieces and ids, as packing does."""

    def __init__(self, segmenters: tuple[Segmenter, Segmenter], tag: str, config: Config) -> None:
        self._segmenters, self._longest = segmenters, config.prepare.max_pieces
        self._before = [segmenters[0].tag(tag)] if tag else []

    def of(self, pair: Sequence[str]) -> list[list[int]] | None:
        """Return the ids of both sides, None where they are too many."""
        both = [segmenter.encode([text])[0] for segmenter, text in zip(self._segmenters, pair, strict=True)]
        return None if max(map(len, both)) > self._longest else [[*self._before, *both[0]], both[1]]

    def pieces(self, ids: Sequence[Sequence[int]]) -> list[list[str]]:
        """Return the pieces of both sides."""
        return [segmenter.pieces(side) for segmenter, side in zip(self._segmenters, ids, strict=True)]


def _corpus(
    corpus: Mapping[str, Any], too_long: Mapping[str, Any], profile: Mapping[str, Any], pieces: _Pieces
) -> dict[str, Any]:
    """Return what became of a corpus, with the pairs that only packing dropped."""
    drops = {**corpus["drops"], **({"max_pieces": too_long} if too_long["count"] else {})}
    return {
        "name": corpus["name"],
        "read": corpus["read"],
        "kept": corpus["kept"] - too_long["count"],
        "drops": drops,
        "characters": {side: corpus[side] for side in SIDES},
        **{f"{side}_case": {name: profile[side][name] for name in ("cased", "capital")} for side in SIDES},
        "profile": dict(profile),
        "examples": list(_steps(corpus["examples"]["kept"], pieces)),
        "dropped_examples": {reason: some for reason, some in corpus["examples"]["dropped"].items() if some},
    }


def _steps(drawn: Sequence[Mapping[str, Any]], pieces: _Pieces) -> Iterator[dict[str, Any]]:
    """Yield the pairs that are shown, after every step, in the order of their lines."""
    shown: list[tuple[Mapping[str, Any], list[list[int]]]] = []
    for one in drawn:
        ids = pieces.of((one["source"], one["target"]))
        if ids is not None and len(shown) < SHOWN:
            shown.append((one, ids))
    for one, ids in sorted(shown, key=lambda both: int(both[0]["line"])):
        yield {
            "line": one["line"],
            **{
                side: {
                    "raw": one[f"raw_{side}"],
                    "normalised": one[side],
                    "pieces": pieces.pieces(ids)[place],
                    "ids": ids[place],
                }
                for place, side in enumerate(SIDES)
            },
        }


def _held_out(corpus: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was met in a development or test set."""
    return {
        "name": corpus["name"],
        "read": corpus["read"],
        "drops": corpus["drops"],
        "characters": {side: corpus[side] for side in SIDES},
    }


def _normalizers(text: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield each normalizer with the share of lines of source and target that it changed, over all training corpora.

    Pairs that lack a side or are no text are dropped before there is anything to change.
    """
    corpora = text["corpora"]
    dropped = (corpus["drops"].get(reason, {"count": 0}) for corpus in corpora for reason in BEFORE)
    read = sum(corpus["read"] for corpus in corpora) - sum(drops["count"] for drops in dropped)
    for place, kind in enumerate(text["normalizers"]):
        changed = {
            f"{side}_changed": share(
                sum(corpus[f"{side}_changed"][place]["count"] for corpus in corpora if corpus[f"{side}_changed"]), read
            )
            for side in SIDES
        }
        yield {"kind": kind, **changed}
