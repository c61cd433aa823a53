"""The corpora on the report page: what became of their pairs, what their text is like, some pairs after every step."""

from collections.abc import Iterator

from nmtkit.commands.prepare_report import CLEANED, places
from nmtkit.commands.prepare_suspicions import SIDES, percent, share
from nmtkit.commands.report_figures import statistics
from nmtkit.commands.report_markup import Part, bar, folded, name, pieces, sentence, table

OPENED = 3
"""Corpora whose parts are shown without a click; of more, each waits for one."""


def corpora_section(report: Part) -> str:
    """Return how many pairs of each corpus were kept and why the others were not, with the first of these."""
    rows = []
    for corpus in report["corpora"]:
        part = share(corpus["kept"].value, corpus["read"].value)
        mean = [statistics(corpus["profile"][side]["words"].value).mean for side in SIDES]
        rows.append([name(corpus["name"].value), bar(part, "kept"), corpus["read"].number, corpus["kept"].number,
                     percent(part), *(f"{words:.1f}" for words in mean)])  # fmt: skip
    head = ["corpus", "", "pairs read", "kept", "share", "source words", "target words"]
    parts = "".join(_drops(corpus, report) for corpus in report["corpora"])
    dropped = f"<h3>Dropped, and why</h3>\n{parts or '<p>No pair was dropped.</p>'}"
    return f"{table(head, rows, text=2)}{dropped}{_held_out(report)}"


def _drops(corpus: Part, report: Part) -> str:
    dropped = [(reason, drops) for reason, drops in corpus["drops"].items() if drops["count"].value]
    if not dropped:
        return ""
    read = corpus["read"].value
    rows = []
    for reason, drops in dropped:
        part = share(drops["count"].value, read)
        rows.append([reason, bar(part), places(drops.value), drops["count"].number, percent(part)])
    head = ["filter", "", "first lines", "pairs", "of all"]
    lines = "".join(
        _dropped_pair(one, reason, report)
        for reason, _ in dropped
        if reason in corpus["dropped_examples"]
        for one in corpus["dropped_examples"][reason]
    )
    examples = folded("The first of them", lines) if lines else ""
    few = len(report["corpora"].value) <= OPENED
    return _corpus(name(corpus["name"].value), table(head, rows, text=3) + examples, opened=few)


def _dropped_pair(one: Part, reason: str, report: Part) -> str:
    languages = report.value["languages"]
    why = f": {name(one['objection'].value)}" if one["objection"].value else ""
    sides = "".join(f'<div class="step">{sentence(one[side].value, languages[side])}</div>' for side in SIDES)
    return (
        f'<div class="pair"><h4>line {one["line"].number}, {reason}{why}</h4><div class="sides">{sides}</div></div>\n'
    )


def _held_out(report: Part) -> str:
    if not report["held_out"].value:
        return ""
    rows = [[name(text["name"].value), text["read"].number, _left_out(text["drops"])] for text in report["held_out"]]
    return f"<h3>Development and test sets</h3>\n{table(['set', 'pairs', 'left out'], rows)}"


def _left_out(drops: Part) -> str:
    return ", ".join(f"{each['count'].number} {name(key)}" for key, each in drops.items() if each["count"].value) or "0"


def _corpus(summary: str, content: str, *, opened: bool) -> str:
    return folded(summary, content, opened=opened).replace("<details", '<details class="corpus"', 1)


def text_section(report: Part) -> str:
    """Return what was made alike in the text, and what it is like."""
    normal = [
        [name(each["kind"].value), each["source_changed"].percent, each["target_changed"].percent]
        for each in report["normalizers"]
    ]
    changed = f"<h3>Lines changed by normalizers</h3>\n{table(['', *SIDES], normal)}" if normal else ""
    looked_at = sum(corpus["profile"]["looked_at"].value for corpus in report["corpora"])
    head = ["corpus, side", "letters", "lines with capitals", "ended by . ! ? …", "pairs with numbers", "that differ"]
    likeness = table(head, (row for corpus in report["corpora"] for row in _likeness(corpus)), text=2)
    met = [row for part in ("corpora", "held_out") for corpus in report[part] for row in _met(corpus)]
    cleaned = (
        f"<h3>Taken out of lines</h3>\n{table(['file', 'what', 'times', 'first line'], met, text=2)}" if met else ""
    )
    return (
        f"{changed}<h3>What the text is like</h3>\n{likeness}"
        f'<p class="soft">Of {looked_at:,} pairs that were looked at, evenly spread.</p>\n{cleaned}'
    )


def _likeness(corpus: Part) -> Iterator[list[str]]:
    profile = corpus["profile"]
    for side in SIDES:
        part, looked_at = profile[side], profile["looked_at"].value
        letters = sum(part["scripts"].value.values())
        most = sorted(part["scripts"].items(), key=lambda both: -both[1].value)[:3]
        scripts = ", ".join(f"{script} {percent(share(count.value, letters))}" for script, count in most)
        numbers = [profile["with_numbers"].number, profile["numbers_differ"].number] if side == "source" else ["", ""]
        yield [
            f"{name(corpus['name'].value)}, {side}",
            scripts or "none",
            percent(share(part["capital"].value, part["cased"].value)) if part["cased"].value else "no case",
            percent(share(part["ended"].value, looked_at)),
            *numbers,
        ]


def _met(corpus: Part) -> Iterator[list[str]]:
    for side in SIDES:
        counts = corpus["characters"][side]
        for count, first, what in CLEANED:
            if counts[count].value:
                yield [f"{name(corpus['name'].value)}, {side}", what, counts[count].number, counts[first].number]


def pairs_section(report: Part) -> str:
    """Return pairs of each corpus, drawn at random, raw, normalised, and in pieces with their ids."""
    few = len(report["corpora"].value) <= OPENED
    corpora = [
        _corpus(
            name(corpus["name"].value),
            "".join(_pair(one, report) for one in corpus["examples"]),
            opened=few and not place,
        )
        for place, corpus in enumerate(report["corpora"])
        if corpus["examples"].value
    ]
    return f"<p>Drawn at random; the number below a piece is its id.</p>\n{''.join(corpora)}"


def _pair(one: Part, report: Part) -> str:
    languages = report.value["languages"]
    sides = "".join(_steps(one[side], languages[side]) for side in SIDES)
    return f'<div class="pair"><h4>line {one["line"].number}</h4><div class="sides">{sides}</div></div>\n'


def _steps(side: Part, language: str) -> str:
    raw, normal = side["raw"].value, side["normalised"].value
    after = "<small>raw, and unchanged by normalizers</small>" if raw == normal else "<small>raw</small>"
    markup = f"{after}{sentence(raw, language)}"
    if raw != normal:
        markup += f"<small>normalised</small>{sentence(normal, language)}"
    markup += f"<small>pieces</small>{pieces(side['pieces'].value, side['ids'].value, language)}"
    return f'<div class="step">{markup}</div>'
