"""The report of a preparation as one page: all of it drawn from prepare.json, nothing from anywhere else."""

from collections.abc import Mapping
from html import escape
from typing import Any

import nmtkit
from nmtkit.commands.prepare_report import pieces_per_word
from nmtkit.commands.prepare_suspicions import SIDES, percent, share
from nmtkit.commands.report_corpora import corpora_section, pairs_section, text_section
from nmtkit.commands.report_figures import histogram, statistics
from nmtkit.commands.report_markup import Part, bar, document, folded, name, table, visible, warnings, word
from nmtkit.corpus.profile import added


def page(content: Mapping[str, Any]) -> str:
    """Return the page, well-formed as HTML and as XML; the same content gives the same page."""
    report = Part(content)
    languages = f"{visible(content['languages']['source'])} → {visible(content['languages']['target'])}"
    sections = {
        "look": ("Worth a look", _suspicions(report)),
        "corpora": ("Corpora", corpora_section(report)),
        "lengths": ("Lengths", _lengths(content)),
        "vocabulary": ("Vocabulary", _vocabulary(report)),
        "text": ("Text", text_section(report)),
        "pairs": ("Pairs after every step", pairs_section(report)),
        "batches": ("Batches", _batches(report) if "plan" in report else ""),
        "facts": ("Made from", _facts(report)),
    }
    beneath = f'nmtkit {nmtkit.__version__}, data <span class="hash">{content["fingerprint"]}</span>'
    return document(f"Prepared data, {languages}", beneath, _cards(report), sections)


def _cards(report: Part) -> list[tuple[str, str]]:
    content = report.value
    read, kept = (sum(corpus[what] for corpus in content["corpora"]) for what in ("read", "kept"))
    per_word = [pieces_per_word(content, side) for side in SIDES]
    looked_at = sum(corpus["profile"]["looked_at"] for corpus in content["corpora"])
    lost = [sum(corpus["profile"][side]["lost"] for corpus in content["corpora"]) for side in SIDES]
    unknown = [content["train"][side]["unknown"] / max(1, content["train"][side]["pieces"]) for side in SIDES]
    vocabulary = " + ".join(
        report["vocabulary"][side]["size"].number for side in SIDES[: 1 if content["vocabulary"]["joint"] else 2]
    )
    cards = [
        (report["train"]["pairs"].number, "pairs to train on"),
        (_short(share(kept, read)), f"kept of {read:,} read"),
        (vocabulary, f"pieces, {escape(content['vocabulary']['kind'])}"),
        (f"{per_word[0]:.2f} · {per_word[1]:.2f}", "pieces a word, source · target"),
        (" · ".join(map(_short, unknown)), "of pieces unknown"),
        (
            " · ".join(_short(1 - share(some, looked_at)) for some in lost),
            f"of {looked_at:,} lines survive segmenting",
        ),
    ]
    if "plan" in report:
        cards.append((report["plan"]["updates"].number, "updates an epoch"))
        cards.append((report["plan"]["padding"].percent, "of tensors is padding"))
    return cards


def _short(part: float) -> str:
    """Return a share without decimals that say nothing."""
    return percent(part).replace(".00%", "%")


def _suspicions(report: Part) -> str:
    found = warnings(each.value["message"] for each in report["suspicions"])
    return found or "<p>Nothing looks like a mistake.</p>\n"


def _lengths(content: Mapping[str, Any]) -> str:
    words: list[list[int]] = [[], []]
    for corpus in content["corpora"]:
        words = [added(mine, corpus["profile"][side]["words"]) for mine, side in zip(words, SIDES, strict=True)]
    units = {"words": words, "pieces": [content["train"][side]["lengths"] for side in SIDES]}
    figures = "".join(
        f"<div><h3>{unit.title()}</h3>{histogram(both[0], both[1], unit)}</div>\n" for unit, both in units.items()
    )
    rows = []
    for unit, both in units.items():
        for side, counts in zip(SIDES, both, strict=True):
            found = statistics(counts)
            rows.append([f"{unit}, {side}", f"{found.mean:.1f}", *(f"{number:,}" for number in found[1:])])
    head = ["", "mean", "median", "95% have at most", "longest"]
    keys = "".join(f'<span class="key {side}">{side}</span>' for side in SIDES)
    return (
        f'<p>Of the pairs to train on. {keys}</p>\n<div class="figures">\n{figures}</div>\n{table(head, rows)}'
        '<p class="soft">Words are parted by spaces; pieces do not count the end mark.</p>\n'
    )


def _vocabulary(report: Part) -> str:
    train, vocabulary = report["train"], report["vocabulary"]
    joint = vocabulary["joint"].value
    covered = [
        [
            "both sides" if joint else side,
            vocabulary[side]["size"].number,
            f"{each['used'].number} ({percent(share(each['used'].value, each['pieces'].value))})",
            each["rare"].number,
        ]
        for side, each in zip(SIDES[: 1 if joint else 2], train["coverage"], strict=True)
    ]
    head = [
        f"vocabulary ({escape(vocabulary['kind'].value)})",
        "pieces",
        "met in training text",
        "of these, less than 100 times",
    ]
    lines = [
        ["pieces in training text", *(train[side]["pieces"].number for side in SIDES)],
        ["pieces a word", *(f"{pieces_per_word(report.value, side):.3f}" for side in SIDES)],
        ["unknown pieces", *(train[side]["unknown"].number for side in SIDES)],
    ]
    if "dev" in report:
        dev = report["dev"]
        lines.append(["development set: pieces", *(dev[side]["pieces"].number for side in SIDES)])
        lines.append(["development set: unknown pieces", *(dev[side]["unknown"].number for side in SIDES)])
        lost = [dev["lost_in_segmenting"][side]["count"].number for side in SIDES]
        lines.append(["development set: lines that do not survive segmenting", *lost])
    languages = report.value["languages"]
    tables = "".join(
        f"<div><h3>Most frequent, {side}</h3>{_most_frequent(train[side], side, languages[side])}</div>\n"
        for side in SIDES
    )
    most = folded("The most frequent pieces", f'<div class="figures">{tables}</div>\n')
    return f"{table(head, covered)}{table(['', *SIDES], lines)}{most}"


def _most_frequent(part: Part, side: str, language: str) -> str:
    counts = [each["count"].value for each in part["most_frequent"]]
    rows = [
        [word(each["piece"].value, language), bar(count / counts[0], side),
         each["count"].number, percent(share(count, part["pieces"].value))]
        for each, count in zip(part["most_frequent"], counts, strict=True)
    ]  # fmt: skip
    return table(["piece", "", "times", "of all"], rows, text=2)


def _batches(report: Part) -> str:
    plan = report["plan"]
    rows = [[key.replace("_", " "), plan[key].number] for key in plan.value if key != "padding"]
    rows.append(["positions that are padding", plan["padding"].percent])
    rows.append(["pairs an update", f"{share(plan['pairs'].value, plan['updates'].value):,.1f}"])
    return f"<p>What the first epoch costs. Tokens count end marks, positions padding too.</p>\n{table([], rows)}"


def _facts(report: Part) -> str:
    facts: Mapping[str, str] = report.value["facts"]
    files: dict[str, str] = {}
    versions: dict[str, str] = {}
    settings: dict[str, str] = {}
    for fact, value in facts.items():
        group = files if fact.startswith("corpus ") else versions if fact.startswith("version of ") else settings
        group[fact.removeprefix("version of ")] = value
    made = folded("All settings that prepare heeds", _listed(settings))
    return f"{_listed(files)}<h3>Versions</h3>\n{_listed(versions)}{made}"


def _listed(facts: Mapping[str, str]) -> str:
    return table(
        [], ([name(fact), f'<span class="hash">{visible(value)}</span>'] for fact, value in facts.items()), text=2
    )
