"""The part of the error report that shows lines: what the marks mean, the form that finds lines, and the lines."""

from collections.abc import Sequence

from nmtkit.analysis.faults import KINDS
from nmtkit.analysis.findings import Findings
from nmtkit.analysis.rankings import MOST
from nmtkit.commands.error_choice import Choice, Part, choose, lists
from nmtkit.commands.error_lines import Ranks, card
from nmtkit.commands.report_markup import plainly, visible


def lines_section(findings: Findings, *, every_line: bool) -> str:
    """Return the lines, in parts, and above them a form, which shows itself where scripts run."""
    choice = choose(findings, every_line=every_line)
    rankings = {part.key: part for part in lists(findings)}
    ranks = Ranks(rankings.values())
    parts = "".join(
        f'<div class="group {part.key}">\n<h3 class="of-list">{visible(part.title)}</h3>\n'
        f"{_about(findings, part, rankings.get(part.key, part))}"
        f"{''.join(card(findings, line, ranks) for line in part.lines)}</div>\n"
        for part in choice.parts
        if rankings.get(part.key, part).lines
    )
    return f'{_introduction(findings, choice)}{_form(findings, choice)}<div id="cards">\n{parts}</div>\n'


def _introduction(findings: Findings, choice: Choice) -> str:
    shown = len(findings.texts) - choice.left_out
    if choice.left_out:
        extent = (
            f"Here are {shown:,} of {len(findings.texts):,} lines: the worst and most different ones, and examples of "
            f"each fault; all counts and figures above are of all lines. The other {choice.left_out:,} would make a "
            "slow page: <code>--report-all</code> puts them here too."
        )
    else:
        extent = f"Here are all {shown:,} lines." if shown > 1 else "Here is the one line."
    return (
        f"<p>{extent} The number beside a translation is its {visible(findings.metric)}: it compares letters, so it "
        "tells a wrong ending from a wrong word, and needs no smoothing on single sentences, as BLEU does.</p>\n"
        f"{_key(findings)}"
    )


def _key(findings: Findings) -> str:
    """Return what the marks mean."""
    several = len(findings.systems) > 1
    whose = "no system that is compared with this one" if len(findings.texts.references) > 1 else "no system"
    missing = f'<del class="all">missing</del> {whose} has it' if several else '<del class="all">missing</del>'
    some = "<span><del>missing</del> some systems lack it</span>" if several else ""
    pair = "<span><u>underlined</u> the other system has something else</span>" if len(findings.systems) == 2 else ""
    return (
        '<div class="key-marks"><span class="soft">In translations</span>'
        "<span><mark>other</mark> not in the reference</span>"
        '<span><mark class="n">near<b>ly</b></mark> but for some letters</span>'
        f'<span><mark class="m">moved</mark> elsewhere in the reference</span>{pair}</div>\n'
        f'<div class="key-marks"><span class="soft">In references</span><span>{missing}</span>{some}</div>\n'
    )


def _about(findings: Findings, part: Part, ranking: Part) -> str:
    """Return how lines were chosen, and which of them stand above already, as links."""
    metric = visible(findings.metric)
    if part.key.startswith("worst"):
        about = f"Lowest {metric} first, at most {MOST}; blank translations are among the faults."
    elif part.key == "apart":
        about = f"By the distance between the highest and the lowest {metric}, at most {MOST}."
    elif part.key == "faults":
        about = "The first lines with each fault, without lines shown above."
    else:
        about = "In the order of the test set."
    own = set(part.lines)
    above = ", ".join(f'<a href="#line-{line + 1}">{line + 1}</a>' for line in ranking.lines if line not in own)
    shown = f" Shown above: {above}." if above else ""
    return f'<p class="soft">{about}{shown}</p>\n'


def _form(findings: Findings, choice: Choice) -> str:
    shown = {line for part in choice.parts for line in part.lines}
    options = "".join(_option(part.key, f"{part.title} ({len(part.lines)})") for part in lists(findings) if part.lines)
    faults = ""
    for kind in KINDS:
        found = {line for place in findings.places for line in findings.with_fault(kind.key, place)}
        if found:
            count = f"{len(found & shown):,} of {len(found):,}" if found - shown else f"{len(found):,}"
            faults += _option(f"fault {kind.key}", f"{kind.title} ({count})")
    names = [system.name for system in findings.systems]
    systems = [("any", "any"), *((f"{place}", name) for place, name in enumerate(names))] if len(names) > 1 else []
    orders = [("page", "as listed"), ("line", "line number"), ("lowest", "lowest score"), ("highest", "highest score")]
    orders += [("apart", "difference of systems")] if len(names) > 1 else []
    orders += [("shortest", "shortest"), ("longest", "longest")]
    lists_ = _option("all", f"all lines here ({len(shown):,})") + options
    group = f'<optgroup label="Faults">{faults}</optgroup>' if faults else ""
    unit = findings.texts.measured_unit
    metric = plainly(findings.metric)
    return (
        '<form id="find" hidden="hidden">\n'
        f'<label>show<select name="show">{lists_}{group}</select></label>\n'
        f"{_select('of', 'system', systems)}{_select('sort', 'order', orders)}"
        '<label>with the text<input name="text" type="search" autocomplete="off"/></label>\n'
        f"{_range(metric, ('least', 'most'), 100)}{_range(unit, ('shortest', 'longest'), None)}{_pairs(names)}"
        '<button type="reset">Reset</button>\n<output></output>\n</form>\n'
    )


def _pairs(names: Sequence[str]) -> str:
    if len(names) != 2:
        return ""
    return (
        '<label>underlines<span class="both"><input name="pairs" type="checkbox" checked="checked"/></span></label>\n'
    )


def _select(field: str, label: str, options: Sequence[tuple[str, str]]) -> str:
    if not options:
        return ""
    return f'<label>{label}<select name="{field}">{"".join(_option(*each) for each in options)}</select></label>\n'


def _option(value: str, label: str) -> str:
    return f'<option value="{value}">{plainly(label)}</option>'


def _range(label: str, names: tuple[str, str], most: int | None) -> str:
    highest = f' max="{most}"' if most else ""
    inputs = "–".join(
        f'<input name="{name}" type="number" min="0"{highest} aria-label="{label}, {limit}"/>'
        for name, limit in zip(names, ("at least", "at most"), strict=True)
    )
    return f'<label>{label}<span class="both">{inputs}</span></label>\n'
