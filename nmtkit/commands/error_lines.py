"""Lines of the error report: source, references and translations, one above the other, with what differs marked."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

from nmtkit.analysis.differences import Likeness, compare
from nmtkit.analysis.faults import KINDS
from nmtkit.analysis.findings import Findings
from nmtkit.analysis.texts import Line
from nmtkit.analysis.tokens import tokens
from nmtkit.commands.error_choice import LONGEST, Part
from nmtkit.commands.report_charts import badge, kind
from nmtkit.commands.report_markup import name, plainly, sentence_of, visible

TITLES = {each.key: each.title for each in KINDS}


class Piece(NamedTuple):
    """A token as markup, and the tags of the elements that it stands in, from outside in."""

    tags: tuple[str, ...]
    markup: str


class Shown:
    """A sentence as it is shown, cut where it is too long, with its tokens."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._text = line.text[:LONGEST]
        self._all = tokens(self._text)
        self.tokens = [token for token in self._all if not token.isspace()]
        self.cut = len(line.text) - len(self._text)

    def markup(self, pieces: Sequence[Piece], language: str) -> str:
        """Return the sentence, given its tokens as pieces; neighbours in the same elements share them."""
        if self._line.blank:
            return '<span class="sentence blank">blank</span>'
        given = iter(pieces)
        own = [None if token.isspace() else next(given) for token in self._all]
        spaced = [piece or Piece(_shared(own, place), visible(self._all[place])) for place, piece in enumerate(own)]
        text = "".join(_within(tags, "".join(piece.markup for piece in some)) for tags, some in groupby(spaced, _tags))
        rest = f" <small>… and {self.cut:,} characters more</small>" if self.cut else ""
        return sentence_of(f"{text}{rest}", language)

    def plain(self, language: str) -> str:
        """Return the sentence with nothing marked."""
        return self.markup([Piece((), visible(token)) for token in self.tokens], language)


def _tags(piece: Piece) -> tuple[str, ...]:
    return piece.tags


def _shared(pieces: Sequence[Piece | None], place: int) -> tuple[str, ...]:
    """Return the elements that both neighbours of white space stand in, where they are the same."""
    before = pieces[place - 1] if place else None
    after = pieces[place + 1] if place + 1 < len(pieces) else None
    return before.tags if before and after and before.tags == after.tags else ()


def _within(tags: tuple[str, ...], markup: str) -> str:
    for tag in reversed(tags):
        markup = f"<{tag}>{markup}</{tag.split(' ')[0]}>"
    return markup


class Marked(NamedTuple):
    """A line made ready to be shown: the translations, by the likeness of their tokens, and the references."""

    references: list[str]
    systems: list[str]


def _marked(findings: Findings, line: int) -> Marked:
    texts = findings.texts
    language = texts.target_language
    references = [Shown(reference) for reference in texts.references_of(line)]
    shown = [Shown(lines[line]) for lines in texts.systems]
    chosen = [texts.closest(place, line) for place in findings.places]
    both = [compare(ours.tokens, references[other].tokens) for ours, other in zip(shown, chosen, strict=True)]
    differ: list[list[Likeness]] = [[] for _ in shown]
    if len(shown) == 2:
        differ = list(compare(shown[0].tokens, shown[1].tokens))
    systems = [
        ours.markup(list(_pieces(ours.tokens, likeness, others)), language)
        for ours, (likeness, _), others in zip(shown, both, differ, strict=True)
    ]
    missing = [
        [theirs for (_, theirs), other in zip(both, chosen, strict=True) if other == place]
        for place in range(len(references))
    ]
    return Marked(
        [
            reference.markup(list(_missing(reference.tokens, some)), language)
            for reference, some in zip(references, missing, strict=True)
        ],
        systems,
    )


def _pieces(ours: Sequence[str], likeness: Sequence[Likeness], others: Sequence[Likeness]) -> Iterator[Piece]:
    """Yield the tokens of a translation, marked where the reference differs, underlined where the other system does."""
    for place, (token, like) in enumerate(zip(ours, likeness, strict=True)):
        under = ("u",) if others and others[place].mark != "same" else ()
        if like.mark == "same":
            yield Piece(under, visible(token))
        elif like.mark == "near":
            parts = [visible(part) for part in (token[: like.begin], token[like.begin : like.end], token[like.end :])]
            middle = f"<b>{parts[1]}</b>" if parts[1] else ""
            yield Piece((*under, 'mark class="n"'), f"{parts[0]}{middle}{parts[2]}")
        else:
            yield Piece((*under, 'mark class="m"' if like.mark == "moved" else "mark"), visible(token))


def _missing(theirs: Sequence[str], systems: Sequence[Sequence[Likeness]]) -> Iterator[Piece]:
    """Yield the tokens of a reference, underlined where all systems, or some, have nothing like them."""
    for place, token in enumerate(theirs):
        times = sum(likeness[place].mark == "only" for likeness in systems)
        tag = 'del class="all"' if times == len(systems) else "del"
        yield Piece((tag,) if times else (), visible(token))


class Ranks:
    """Where lines stand in the rankings of the page."""

    def __init__(self, rankings: Iterable[Part]) -> None:
        self._ranks: dict[int, list[str]] = {}
        for part in rankings:
            for rank, line in enumerate(part.lines, start=1):
                self._ranks.setdefault(line, []).append(f"{part.key}:{rank}")

    def __getitem__(self, line: int) -> str:
        """Return the keys of the rankings that a line is in, with its rank from 1 in each."""
        return " ".join(self._ranks.get(line, []))


def card(findings: Findings, line: int, ranks: Ranks) -> str:
    """Return all there is to show about a line."""
    texts = findings.texts
    length = len(texts.measured[line].words)
    scores = [system.lines[line] for system in findings.systems]
    marked = _marked(findings, line)
    rows = []
    if source := texts.source_of(line):
        rows.append(_row("source", Shown(source).plain(texts.source_language)))
    for place, reference in enumerate(marked.references, start=1):
        rows.append(_row("reference" if len(marked.references) == 1 else f"reference {place}", reference))
    for place, translation in enumerate(marked.systems):
        found = "; ".join(
            TITLES[fault.kind] + (f": {visible(fault.detail)}" if fault.detail else "")
            for fault in findings.faults[place][line]
        )
        rows.append(_system(place, findings.systems[place].name, translation, scores[place], found))
    faults = [f"{place}.{fault.kind}" for place in findings.places for fault in findings.faults[place][line]]
    data = {
        "line": f"{line + 1}",
        "length": f"{length}",
        "scores": " ".join(f"{score:.1f}" for score in scores),
        "ranks": ranks[line],
        "faults": " ".join(faults),
    }
    attributes = "".join(f' data-{key}="{escape(value)}"' for key, value in data.items() if value)
    side = "source" if texts.sources else "reference"
    title = f"<b>line {line + 1:,}</b><span>{length:,} {texts.measured_unit} of {side}</span>"
    return f'<article class="line" id="line-{line + 1}"{attributes}>\n<h4>{title}</h4>\n{"".join(rows)}</article>\n'


def _row(who: str, sentence: str) -> str:
    return f'<div class="row {who.partition(" ")[0]}"><span class="who">{who}</span>{sentence}</div>\n'


def _system(place: int, who: str, sentence: str, score: float, found: str) -> str:
    fault = f'<span class="fault">{found}</span>' if found else ""
    part = f'<span class="points-of" style="--part:{max(0.0, min(100.0, score)):.0f}%">{score:.1f}</span>'
    label = f'<span class="who" title="{plainly(who)}">{badge(place)}{name(who)}</span>'
    return f'<div class="row system {kind(place)}">{label}{sentence}{part}{fault}</div>\n'
