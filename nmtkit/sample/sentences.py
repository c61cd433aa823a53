"""A finished sentence pair, and how words become one: capitals, commas, marks."""

import re
from typing import NamedTuple

from nmtkit.sample import english_clause, german_clause
from nmtkit.sample.clauses import Clause
from nmtkit.sample.entries import Twin


class Sentence(NamedTuple):
    """Text in both languages."""

    english: str
    german: str


def finish(text: str, mark: str = ".") -> str:
    """Make a sentence of words: commas set once and none before the mark, a capital, the mark."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"(?: ?,)+", ",", text).strip(", ")
    return text[0].upper() + text[1:] + mark


def sentence(words: Twin, mark: str = ".") -> Sentence:
    """Finish both sides."""
    return Sentence(finish(words.english, mark), finish(words.german, mark))


def joined(*parts: Twin) -> Twin:
    """Put expressions one after the other."""
    return Twin(" ".join(part.english for part in parts), " ".join(part.german for part in parts))


def main(clause: Clause, front: Twin | None = None) -> Twin:
    """Return a main clause."""
    return Twin(english_clause.statement(clause, front), german_clause.main(clause, front))


def final(clause: Clause, conjunction: Twin | None = None) -> Twin:
    """Return a subordinate clause with its conjunction."""
    words = Twin(english_clause.statement(clause), german_clause.final(clause))
    return joined(conjunction, words) if conjunction else words


def after_clause(clause: Clause) -> Twin:
    """Return a main clause that follows a subordinate one: the German verb comes first."""
    return Twin(english_clause.statement(clause), german_clause.question(clause))


def question(clause: Clause, word: Twin | None = None) -> Twin:
    """Return a question; `word` asks for anything but the subject."""
    asked = word or Twin("", "")
    return Twin(english_clause.question(clause, asked.english), german_clause.question(clause, asked.german))


def infinitive(clause: Clause) -> Twin:
    """Return the clause with to and zu."""
    return Twin(english_clause.infinitive(clause), german_clause.infinitive(clause))


def command(clause: Clause) -> Twin:
    """Return the clause as an imperative."""
    return Twin(english_clause.command(clause), german_clause.command(clause))
