"""The run card as one page: all of it drawn from run.json and the learning curve, nothing from anywhere else."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nmtkit.commands import run_words as words
from nmtkit.commands.report_markup import Part, document, folded, name, table, visible, warnings
from nmtkit.commands.run_remarks import remarks
from nmtkit.commands.run_repeat import repeating
from nmtkit.commands.run_sections import (
    data_section,
    model_section,
    sessions_section,
    settings_section,
    software_section,
    training_section,
)
from nmtkit.log import duration, rounded

TESTS_ON_CARDS = 3
JUDGED = ("average", "best", "last")
"""What of a training is validated, in the order in which it is worth knowing."""

Metric = tuple[str, str]
"""A metric by its name and signature."""


def page(content: Mapping[str, Any], picture: bytes) -> str:
    """Return the page, well-formed as HTML and as XML; `picture` is a PNG of the learning curve, or empty."""
    card = Part(content)
    title = f"Run, {visible(words.languages(content))}"
    data = f'data <span class="hash">{content["data"]["fingerprint"]}</span>'
    beneath = "<br/>".join((visible(words.state(content)), visible(words.origin(content["software"])), data))
    sections = {
        "look": ("Worth a look", warnings(remarks(content))),
        "scores": ("Scores", _scores(card)),
        "curve": ("Learning curve", _curve(picture)),
        "repeat": ("How to repeat", _repeat(content)),
        "model": ("Model", model_section(card)),
        "data": ("Data", data_section(card)),
        "training": ("Training", training_section(card)),
        "sessions": ("Sessions", sessions_section(card)),
        "software": ("Software and machine", software_section(card)),
        "settings": ("Settings", settings_section(content)),
    }
    return document(title, beneath, _large(card), sections)


def _large(card: Part) -> Iterator[tuple[str, str]]:
    """Yield what a person wants to know first."""
    content = card.value
    for test in words.newest(content["tests"])[:TESTS_ON_CARDS]:
        first = test["scores"][0]
        yield f"{first['value']:.2f}", f"{visible(first['name'])} of {name(test['name'])}"
    for what in JUDGED:
        if judged := content["development"].get(what):
            yield _judged_in_large(judged, what)
            break
    parameters = sum(content["model"]["parameters"].values())
    yield rounded(parameters, 0), "parameters"
    yield card["training"]["updates"].number, "updates"
    yield duration(content["time"]["seconds"]), "of training"
    yield rounded(content["training"]["target_tokens"]), "target tokens seen"
    yield words.rate(content["time"]), "source + target tokens a second, validations included"
    if content["energy"]["joules"]:
        yield words.energy(content["energy"]["joules"]), "of energy"


def _judged_in_large(judged: Mapping[str, Any], what: str) -> tuple[str, str]:
    of = f"development set, {what}"
    if "score" in judged:
        return f"{judged['score']:.2f}", f"{visible(str(judged['metric']))} of the {of}"
    perplexity = judged.get("perplexity")
    return "not known" if perplexity is None else f"{perplexity:.2f}", f"perplexity of the {of}"


def _scores(card: Part) -> str:
    return _development(card["development"].value) + _tests(card["tests"].value)


def _development(development: Mapping[str, Any]) -> str:
    if not development:
        return "<p>Nothing has been validated yet.</p>\n"
    rows = []
    for what in JUDGED:
        if judged := development.get(what):
            updates = ", ".join(f"{update:,}" for update in judged.get("updates", [judged["update"]]))
            perplexity = judged.get("perplexity")
            rows.append([what, updates, _value(judged.get("score")), _value(perplexity)])
    scored = [(judged["metric"], judged["signature"]) for judged in development.values() if "metric" in judged]
    metrics = dict.fromkeys(metric for metric, _ in scored)
    head = ["development set", "updates", visible(", ".join(metrics)), "perplexity"]
    return f"{table(head, rows, text=2)}{_signatures(scored)}"


def _tests(tests: Sequence[Mapping[str, Any]]) -> str:
    if not tests:
        return '<p class="soft">No test set has been scored; <code>nmtkit score</code> puts its scores here.</p>\n'
    metrics = list(dict.fromkeys(_metric(score) for test in tests for score in test["scores"]))
    rows, compared = [], []
    for test in tests:
        label = name(test["name"]) + (f" with tag {name(test['tag'])}" if test["tag"] else "")
        rows.append([label, visible(words.weights(test)), f"{test['lines']:,}", *_values(test, metrics)])
        both = [f'<span class="hash">{test[what]}</span>' for what in ("hypotheses_sha256", "references_sha256")]
        compared.append([label, *both, visible(words.moment(test["scored"]))])
    names = [visible(metric) for metric, _ in metrics]
    parts = "".join(_labels(test, metrics) for test in tests)
    head = ["test set", "SHA-256 of the translation", "of the references", "scored"]
    made = folded("What was compared, and when", table(head, compared, text=4))
    found = table(["test set", "weights", "lines", *names], rows, text=2)
    return f"<h3>Test sets</h3>\n{found}{_signatures(metrics)}{parts}{made}"


def _labels(test: Mapping[str, Any], metrics: Sequence[Metric]) -> str:
    """Return the scores of the lines of each label."""
    rows = [[name(part["label"]), f"{part['lines']:,}", *_values(part, metrics)] for part in test["parts"]]
    head = ["label", "lines", *(visible(metric) for metric, _ in metrics)]
    return folded(f"{name(test['name'])} by label", table(head, rows)) if rows else ""


def _metric(score: Mapping[str, Any]) -> Metric:
    return score["name"], score["signature"]


def _values(scored: Mapping[str, Any], metrics: Sequence[Metric]) -> list[str]:
    """Return a cell for each metric; scores with other signatures stand in columns of their own."""
    values = {_metric(score): score["value"] for score in scored["scores"]}
    return [_value(values.get(metric)) for metric in metrics]


def _value(value: float | None) -> str:
    return "" if value is None else f'<span class="value">{value:.2f}</span>'


def _signatures(metrics: Iterable[Metric]) -> str:
    lines = (f"{metric} {signature}" for metric, signature in dict.fromkeys(metrics))
    return "".join(f'<p class="hash soft">{visible(line)}</p>\n' for line in lines)


def _curve(picture: bytes) -> str:
    if not picture:
        return ""
    return f'<img class="picture" alt="Learning curve" src="data:image/png;base64,{b64encode(picture).decode()}"/>\n'


def _repeat(content: Mapping[str, Any]) -> str:
    lines = "\n".join(map(visible, repeating(content)))
    return (
        f"<pre>{lines}</pre>\n"
        "<p>On one kind of processor, with as many threads, the weights come out equal to the bit; a GPU, another "
        "processor or another number of threads rounds sums otherwise. The data is the same where its fingerprint "
        "is.</p>\n"
    )
