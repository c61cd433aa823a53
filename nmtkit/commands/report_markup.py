"""Markup of pages: text made harmless and visible, numbers that name their place in the JSON beside the page."""

import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from typing import Any

from nmtkit.commands.prepare_suspicions import percent
from nmtkit.commands.report_style import STYLE
from nmtkit.corpus.filters.scripts import scripts_of

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Nothing is loaded and nothing runs, whatever the text says, but for a script of ours, known by its digest."""
_JOINERS = "\u200c\u200d"
"""They spell words and hold emoji together; by themselves they show nothing and move nothing."""
_RIGHT_TO_LEFT = frozenset(("Arabic", "Hebrew", "Thaana", "Syriac", "Nko", "Adlam"))


class Part:
    """A part of the content, which knows where it stands in it (a JSON pointer, RFC 6901)."""

    def __init__(self, value: Any, path: str = "") -> None:
        self.value, self.path = value, path

    def __getitem__(self, key: str | int) -> "Part":
        name = str(key).replace("~", "~0").replace("/", "~1")
        return Part(self.value[key], f"{self.path}/{name}")

    def __contains__(self, key: str) -> bool:
        return key in self.value

    def __iter__(self) -> Iterator["Part"]:
        """Yield the parts of a list."""
        return (self[place] for place in range(len(self.value)))

    def items(self) -> Iterator[tuple[str, "Part"]]:
        """Yield the names of a table with their parts."""
        return ((name, self[name]) for name in self.value)

    @property
    def number(self) -> str:
        """The markup of a whole number."""
        return self._data(f"{self.value:,}")

    @property
    def percent(self) -> str:
        """The markup of a share."""
        return self._data(percent(self.value))

    def _data(self, shown: str) -> str:
        return f'<data value="{self.value}" data-at="{escape(self.path)}">{escape(shown)}</data>'


def visible(text: str) -> str:
    """Return text as markup in which nothing acts: markup is escaped, what shows nothing is named (U+202E)."""
    return "".join(escape(run) if not hidden else _named(hidden) for run, hidden in _runs(text))


def plainly(text: str) -> str:
    """Return text as `visible` does, but without elements, for attributes and for titles in figures."""
    return "".join(escape(run) if not hidden else f"U+{ord(hidden):04X}" for run, hidden in _runs(text))


def _runs(text: str) -> Iterator[tuple[str, str]]:
    """Yield what is printed, and each character that is not, as (printed, "") or ("", character)."""
    begin = 0
    for place, character in enumerate(text):
        if not character.isprintable() and character not in _JOINERS:
            if begin < place:
                yield text[begin:place], ""
            yield "", character
            begin = place + 1
    if begin < len(text):
        yield text[begin:], ""


def _named(character: str) -> str:
    name = unicodedata.name(character, "")
    title = f' title="{escape(name)}"' if name else ""
    return f'<span class="hidden"{title}>U+{ord(character):04X}</span>'


def name(text: str) -> str:
    """Return the markup of a name: whatever it holds, what stands around it keeps its order."""
    return f"<bdi>{visible(text)}</bdi>"


def sentence(text: str, language: str) -> str:
    """Return the markup of a sentence of a language."""
    return sentence_of(visible(text), language)


def sentence_of(markup: str, language: str) -> str:
    """Return the markup of a sentence of a language, given the markup of its text."""
    return f'<bdi class="sentence" {_language(language)}>{markup}</bdi>'


def word(text: str, language: str) -> str:
    """Return the markup of a word or piece of a language."""
    return f"<bdi {_language(language)}>{visible(text)}</bdi>"


def pieces(parts: Sequence[str], ids: Sequence[int], language: str) -> str:
    """Return the markup of pieces with their ids below."""
    both = zip(parts, ids, strict=True)
    chips = "".join(f"<span><bdi>{visible(piece)}</bdi><small>{id_}</small></span>" for piece, id_ in both)
    return f'<div class="pieces" {_language(language)}>{chips}</div>'


def _language(language: str) -> str:
    direction = "rtl" if _RIGHT_TO_LEFT & set(scripts_of(language)) else "ltr"
    known = f'lang="{escape(language)}" ' if re.fullmatch(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", language) else ""
    return f'{known}dir="{direction}"'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, text: int = 1) -> str:
    """Return a table of markup; its first `text` columns hold text, the others numbers."""

    def cells(row: Sequence[str], tag: str) -> str:
        kinds = ["" if place < text else ' class="number"' for place in range(len(row))]
        return "".join(f"<{tag}{kind}>{cell}</{tag}>" for kind, cell in zip(kinds, row, strict=True))

    body = "".join(f"<tr>{cells(row, 'td')}</tr>\n" for row in rows)
    top = f"<thead><tr>{cells(head, 'th')}</tr></thead>\n" if head else ""
    return f'<div class="wide"><table>{top}<tbody>\n{body}</tbody></table></div>\n'


def bar(share: float, kind: str = "") -> str:
    """Return a bar of a share of its width."""
    return f'<span class="bar {kind}"><span style="width:{100 * share:.2f}%"></span></span>'


def folded(summary: str, content: str, *, opened: bool = False) -> str:
    """Return content that a click shows."""
    state = ' open="open"' if opened else ""
    return f"<details{state}><summary>{summary}</summary>\n{content}</details>\n"


def section(anchor: str, title: str, content: str) -> str:
    """Return a part of the page under a title."""
    return f'<section id="{anchor}">\n<h2>{title}</h2>\n{content}</section>\n'


def warnings(messages: Iterable[str]) -> str:
    """Return a list of what should be noticed; nothing where there is nothing."""
    items = "".join(f"<li>{visible(message)}</li>" for message in messages)
    return f'<ul class="warnings">{items}</ul>\n' if items else ""


def document(
    title: str,
    beneath: str,
    cards: Iterable[tuple[str, str]],
    sections: Mapping[str, tuple[str, str]],
    *,
    style: str = "",
    script: str = "",
) -> str:
    """Return a page, well-formed as HTML and as XML, all arguments but the last two being markup.

    `beneath` stands under the title, `cards` are large words and what they are about, `sections` map an anchor to a
    title and its content; those without content are left out. `style` is more of it, for this kind of page; `script`,
    which holds neither < nor &, runs when all is there.
    """
    there = {anchor: both for anchor, both in sections.items() if both[1]}
    links = "".join(f'<a href="#{anchor}">{heading}</a>' for anchor, (heading, _) in there.items())
    shown = "".join(f'<div class="card"><b>{big}</b>{what}</div>' for big, what in cards)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_policy(script))}"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        f"<title>{title}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n"
        f'<header>\n<h1>{title}</h1>\n<p class="soft">{beneath}</p>\n'
        f'<nav>{links}</nav>\n<div class="cards">{shown}</div></header>\n<main>\n'
        f"{''.join(section(anchor, *both) for anchor, both in there.items())}</main>\n"
        f"{f'<script>{script}</script>' if script else ''}</body>\n</html>\n"
    )


def _policy(script: str) -> str:
    if not script:
        return _POLICY
    assert not {"<", "&"} & set(script)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return f"{_POLICY}; script-src 'sha256-{digest}'"
