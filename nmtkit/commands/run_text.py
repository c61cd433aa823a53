"""The run card on a terminal, and in what two runs differ, as lines of text."""

from collections.abc import Iterator, Mapping
from typing import Any

from nmtkit.commands import run_words as words
from nmtkit.commands.inspect_text import printable
from nmtkit.commands.prepare_suspicions import SIDES
from nmtkit.commands.run_differences import Difference, shown
from nmtkit.commands.run_remarks import remarks
from nmtkit.commands.run_repeat import repeating
from nmtkit.log import counted, duration

_WIDTH, _KEY = 110, 14


def card_text(content: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the lines that show a card."""
    yield printable(f"{name}: {words.languages(content)}, {words.state(content)}")
    for section, lines in (
        ("scores", _scores(content)),
        ("training", _training(content)),
        ("model", _model(content["model"])),
        ("data", _data(content)),
        ("software", _software(content["software"])),
        ("machine", dict.fromkeys(words.machine(session["machine"]) for session in content["sessions"])),
        ("sessions", map(_session, content["sessions"])),
        ("look at", remarks(content)),
        ("repeat", repeating(content)),
    ):
        for place, line in enumerate(lines):
            yield f"{'' if place else section:{_KEY}}{printable(line)}"


def _scores(content: Mapping[str, Any]) -> Iterator[str]:
    for what, judged in content["development"].items():
        yield f"development set, {what}: {words.score(judged)} ({_updates(judged)})"
    for test in content["tests"]:
        values = ", ".join(f"{score['name']} {score['value']:.2f}" for score in test["scores"])
        yield f"{test['name']}: {values} ({words.weights(test)})"
    signatures = dict.fromkeys(
        f"{score['name']} {score['signature']}" for test in content["tests"] for score in test["scores"]
    )
    for judged in content["development"].values():
        if "metric" in judged:
            signatures[f"{judged['metric']} {judged['signature']}"] = None
    yield from signatures


def _updates(judged: Mapping[str, Any]) -> str:
    updates = judged.get("updates", [judged["update"]])
    return f"update{'' if len(updates) == 1 else 's'} {', '.join(f'{update:,}' for update in updates)}"


def _training(content: Mapping[str, Any]) -> Iterator[str]:
    training, time, energy = content["training"], content["time"], content["energy"]
    yield (
        f"{counted(training['pairs'], 'pair')}, {training['source_tokens']:,} source and "
        f"{training['target_tokens']:,} target tokens seen, {counted(training['skipped'], 'update')} not applied, "
        f"precision {training['precision']}, seed {content['config']['train']['seed']}"
    )
    yield (
        f"{duration(time['seconds'])}, {words.rate(time)} source + target tokens a second, in updates alone "
        f"{words.rate(time, '_of_updates')}"
    )
    for counter, joules in energy["joules"].items():
        yield f"energy, {counter}: {words.energy({counter: joules})}"
    for line in energy["unread"]:
        yield f"energy: {line}"


def _model(model: Mapping[str, Any]) -> Iterator[str]:
    yield f"{model['kind']}, {words.parts(model['parameters'])}"
    if model["initial"]:
        yield words.initial(model["initial"])


def _data(content: Mapping[str, Any]) -> Iterator[str]:
    data, vocabulary = content["data"], content["vocabulary"]
    yield f"fingerprint {data['fingerprint']}"
    for corpus in data["corpora"]:
        dropped = ", ".join(f"{reason} {count:,}" for reason, count in corpus["dropped"].items())
        kept = f"{corpus['kept']:,} of {counted(corpus['read'], 'pair')} kept"
        yield f"{corpus['name']}: {kept}; dropped: {dropped or 'none'}"
    for side in SIDES[: 1 if vocabulary["joint"] else 2]:
        which = f"{'joint' if vocabulary['joint'] else side}, {vocabulary['kind']}"
        size, fingerprint = vocabulary[side]["size"], vocabulary[side]["fingerprint"]
        yield f"vocabulary: {which}, {size:,} pieces, fingerprint {fingerprint[:12]}"


def _software(software: Mapping[str, Any]) -> Iterator[str]:
    yield words.origin(software)
    others = {key: value for key, value in software.items() if key not in ("nmtkit", "commit", "changed", "source")}
    yield ", ".join(f"{name} {version or 'not installed'}" for name, version in others.items())


def _session(session: Mapping[str, Any]) -> str:
    updates = f"updates {session['from_update']:,} to {session['to_update']:,}"
    command = session["command"] or "called from Python"
    took = f"{updates} in {duration(session['seconds'])}, {words.ending(session)}"
    return f"{words.moment(session['began'])}, {took}: {command}"


def differences_text(found: Mapping[str, list[Difference]], first: str, second: str) -> Iterator[str]:
    """Yield the lines that show in what two runs differ, and in what they do not."""
    yield printable(f"{first} | {second}")
    for section, differences in found.items():
        if differences:
            yield section
        for difference in differences:
            yield from _difference(difference, scores=section == "scores")
    if same := [section for section, differences in found.items() if not differences]:
        yield f"the same: {', '.join(same)}"


def _difference(difference: Difference, *, scores: bool) -> Iterator[str]:
    """Yield a fact with both values on one line; where that is too long, on a line each."""
    key, one, other = difference
    both = [shown(one), shown(other)]
    if both[0] == both[1]:  # they differ beyond what is usually shown
        both = [repr(one), repr(other)]
    change = f" ({other - one:+.2f})" if scores and isinstance(one, float) and isinstance(other, float) else ""
    line = printable(f"  {key}: {both[0]} | {both[1]}{change}")
    if len(line) <= _WIDTH:
        yield line
        return
    yield printable(f"  {key}:")
    yield from (f"    {printable(value)}" for value in both)
