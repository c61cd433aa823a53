"""In what two runs differ, by their cards: software, settings, data, machine, scores; times are not compared."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from nmtkit.commands.run_words import newest

Content = Mapping[str, Any]
Facts = dict[str, Any]

_SHORT = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{28,52}\b")
"""A digest, which people know by its beginning."""


class Difference(NamedTuple):
    """A fact with its value in either run; None where it is not there."""

    key: str
    first: Any
    second: Any


def differences(first: Content, second: Content) -> dict[str, list[Difference]]:
    """Return the differences of two cards by section; a section without any has an empty list."""
    found = {section: list(_between(facts(first), facts(second))) for section, facts in _SECTIONS.items()}
    return {"scores": list(_between(*_scores(first, second))), **found}


def _between(first: Facts, second: Facts) -> Iterator[Difference]:
    """Yield what differs, in the order of the first, then what only the second has."""
    for key in [*first, *(key for key in second if key not in first)]:
        if first.get(key) != second.get(key):
            yield Difference(key, first.get(key), second.get(key))


def shown(value: Any) -> str:
    """Return a value in short; digests by their beginning."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) >= 1 else f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    return _SHORT.sub(r"\1", str(value))


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of nested tables under dotted keys; members of a list go by their name or kind."""
    if isinstance(value, Mapping):
        for inner, part in value.items():
            yield from leaves(part, f"{key}.{inner}" if key else inner)
    elif isinstance(value, list) and value and all(_label(member) for member in value):
        labels = [_label(member) for member in value]
        for place, (label, member) in enumerate(zip(labels, value, strict=True)):
            again = labels[:place].count(label)
            yield from leaves(member, f"{key}[{label}{f' {again + 1}' if again else ''}]")
    else:
        yield key, value


def _label(member: Any) -> str:
    return str(member.get("name") or member.get("kind") or "") if isinstance(member, Mapping) else ""


# The sections.


def _settings(card: Content) -> Facts:
    """Return all settings but the place of the corpus files, which are known by their content."""
    return {key: value for key, value in leaves(card["config"]) if key != "corpus.folder"}


def _data(card: Content) -> Facts:
    data = dict(card["data"])
    files = data.pop("files")
    prepared = data.pop("prepared_with")
    return {
        **dict(leaves(data)),
        **{f"file of {name}": fact for name, fact in files.items()},
        **{f"prepared with {name}": fact for name, fact in prepared.items()},
    }


def _machine(card: Content) -> Facts:
    """Return the machine of the newest session, and how many other ones there were."""
    machines = [session["machine"] for session in card["sessions"]]
    return {**dict(leaves(machines[-1])), "machines of a run": len({str(each) for each in machines})}


def _scores(first: Content, second: Content) -> tuple[Facts, Facts]:
    """Return the scores of both cards; of a test set that was scored in one run only, nothing but that."""
    tests = [{test["name"]: test for test in newest(card["tests"])} for card in (first, second)]
    both = tests[0].keys() & tests[1].keys()
    found = []
    for card, own in zip((first, second), tests, strict=True):
        shared = [test for name, test in own.items() if name in both]
        found.append({**_scores_of(card["development"], shared), **{f"{name}: scored": True for name in own}})
    return found[0], found[1]


def _scores_of(development: Content, tests: Iterable[Content]) -> Facts:
    """Return the scores of the development set and of test sets."""
    facts: Facts = {}
    for what, judged in development.items():
        facts |= {f"development set, {what}: {key}": value for key, value in judged.items()}
    for test in tests:
        name = test["name"]
        metrics: list[str] = []
        for score in test["scores"]:
            metrics.append(score["name"])
            again = metrics.count(score["name"])
            metric = f"{name}: {score['name']}{f' {again}' if again > 1 else ''}"
            facts |= {metric: score["value"], f"{metric}, signature": score["signature"]}
        facts |= {f"{name}: {key}": test[key] for key in ("checkpoint", "updates", "tag")}
        facts |= {f"{name}: references": test["references_sha256"], f"{name}: translation": test["hypotheses_sha256"]}
        facts |= {f"{name}: translate.{key}": value for key, value in leaves(test["translate"])}
    return facts


_SECTIONS: dict[str, Callable[[Content], Facts]] = {
    "settings": _settings,
    "data": _data,
    "vocabulary": lambda card: dict(leaves(card["vocabulary"])),
    "model": lambda card: dict(leaves(card["model"])),
    "software": lambda card: dict(card["software"]),
    "machine": _machine,
    "training": lambda card: dict(card["training"]),
}
