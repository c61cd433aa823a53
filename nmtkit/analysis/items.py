"""Items: what a translation carries over as it is (numbers, addresses, placeholders), and whether it did."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial, reduce
from operator import and_, or_
from typing import NamedTuple

from nmtkit.corpus.filters.mismatches import numbers, urls

_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PLACEHOLDER = re.compile(
    r"\$?\{{1,2}[\w.:$-]{0,40}\}{1,2}"  # {name}, {0}, {{name}}, ${name}
    r"|(?<![\d%])%(?:\(\w{1,40}\))?(?:\d{1,2}\$)?[sdf](?!\w)"  # %s, %(name)s, %1$s
    r"|</?[A-Za-z][^<>]{0,200}>"  # <b>, </b>, <br/>
    r"|&(?:#\d{1,7}|[A-Za-z]\w{1,9});"  # &amp;, &#39;
)
_BRACKETS = dict(zip(")]}）】」』》", "([{（【「『《", strict=True))
_QUOTES = frozenset('"„“”«»‟〝〞')


class Changed(NamedTuple):
    """Items that a hypothesis lacks, and items that come from nowhere."""

    missing: list[str]
    invented: list[str]

    def __bool__(self) -> bool:
        return bool(self.missing or self.invented)

    def __str__(self) -> str:
        both = (("missing", self.missing), ("invented", self.invented))
        return "; ".join(f"{what}: {', '.join(some)}" for what, some in both if some)


def mails(text: str) -> list[str]:
    """Return the e-mail addresses in a text, in lower case."""
    return [mail.casefold() for mail in _MAIL.findall(text)] if "@" in text else []


def placeholders(text: str) -> list[str]:
    """Return the placeholders, tags and entities of markup in a text."""
    return _PLACEHOLDER.findall(text)


def changed(find: Callable[[str], list[str]], source: str | None, references: Sequence[str], ours: str) -> Changed:
    """Return which items a hypothesis lacks that source and all references have, and which it has but none of these.

    What stands in some of them only (two and 2) may be there or not.
    """
    others = [Counter(find(text)) for text in (*references, *([] if source is None else [source]))]
    here = Counter(find(ours))
    if not here and not all(others):
        return Changed([], [])
    needed, allowed = reduce(and_, others), reduce(or_, others)
    return Changed(sorted((needed - here).elements()), sorted((here - allowed).elements()))


def changed_numbers(source: str | None, references: Sequence[str], ours: str) -> Changed:
    """Return which numbers differ, however their digits are grouped.

    Those of one digit are often written as words, so they count only where one has another in its place.
    """
    missing, invented = changed(partial(numbers, minimum_digits=1), source, references, ours)
    if any(len(number) == 1 for number in missing) and any(len(number) == 1 for number in invented):
        return Changed(missing, invented)
    return Changed(*([number for number in some if len(number) > 1] for some in (missing, invented)))


def unbalanced(text: str) -> str:
    """Return which brackets or quotes of a text lack their other half, empty where none does."""
    opened: list[str] = []
    for character in text:
        if character in _BRACKETS.values():
            opened.append(character)
        elif character in _BRACKETS and (not opened or opened.pop() != _BRACKETS[character]):
            return character
    if opened:
        return opened[-1]
    quotes = [character for character in text if character in _QUOTES]
    return quotes[-1] if len(quotes) % 2 else ""


CHANGES: dict[str, Callable[[str | None, Sequence[str], str], Changed]] = {
    "numbers": changed_numbers,
    "URLs": partial(changed, urls),
    "mails": partial(changed, mails),
    "placeholders": partial(changed, placeholders),
}
"""What finds the changes of each sort of items, given the source, the references and a hypothesis."""
