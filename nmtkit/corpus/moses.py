"""Moses's rules for punctuation and tokens, by sacremoses, and the ways back from tokens to text.

sacremoses takes 0.3 s to import, so this module is imported only where it is used.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer
from sacremoses.corpus import NonbreakingPrefixes

from nmtkit.corpus.normalizers import Normalizer
from nmtkit.errors import ConfigError

if TYPE_CHECKING:
    from nmtkit.corpus.normalizers import MosesTokensConfig

MARK = "\uffed"
"""Stands before a token that no space stood before; doubled where the text itself holds it."""
HYPHEN = "@-@"
"""What a hyphen inside a word becomes where words are split at hyphens."""

# What a rule of the punctuation normalizer begins with: some fifty rules are tried only where one can apply.
_PUNCTUATION = re.compile("[\r()`\"„“”–—´‘‚’…«»\xa0]|  | [%:;]|''")


class Punctuation(Normalizer):
    """Moses's punctuation normalizer."""

    def __init__(self, language: str) -> None:
        self._rules = MosesPunctNormalizer(base(language))

    def __call__(self, line: str) -> str:
        """Return the line with its punctuation in one form."""
        if _PUNCTUATION.search(line) is None:
            return line.strip()
        normal: str = self._rules.normalize(line)
        return normal


class Tokens(Normalizer):
    """Moses's tokenizer."""

    def __init__(self, config: "MosesTokensConfig", language: str) -> None:
        self._tokenizer = MosesTokenizer(known(config.language or language))
        self._aggressive, self._escape = config.aggressive_hyphens, config.escape
        self._marks = config.restore == "marks"

    def __call__(self, line: str) -> str:
        """Return the tokens of the line, with one space between them."""
        if not self._marks:
            return " ".join(self._tokens(line, self._escape))
        marked = _marked(line, self._tokens(line, escape=False))
        return " ".join(map(self._tokenizer.escape_xml, marked) if self._escape else marked)

    def _tokens(self, line: str, escape: bool) -> list[str]:
        tokens: list[str] = self._tokenizer.tokenize(
            line, aggressive_dash_splits=self._aggressive, return_str=False, escape=escape
        )
        return tokens


class MosesRestorer:
    """Moses's detokenizer: guesses where spaces were."""

    def __init__(self, config: "MosesTokensConfig", language: str) -> None:
        self._detokenizer = MosesDetokenizer(known(config.language or language))
        self._unescape = config.escape

    def __call__(self, text: str) -> str:
        """Return the text that the tokens were made from, or something like it."""
        try:
            restored: str = self._detokenizer.detokenize(text.split(), unescape=self._unescape)
        except (
            TypeError
        ):  # its Czech rule for "-li" does not work; no tokenized text meets it, but a model may write it
            return text
        return restored


class MarkedRestorer:
    """Puts together what no space stood between, as the marks tell."""

    def __init__(self, config: "MosesTokensConfig") -> None:
        self._unescape = MosesDetokenizer().unescape_xml if config.escape else str
        self._hyphens = config.aggressive_hyphens

    def __call__(self, text: str) -> str:
        """Return the text that the tokens were made from."""
        restored = ""
        for token in text.split():
            marks = len(token) - len(token.lstrip(MARK))
            glued = marks % 2
            word = token[glued:]
            word = "-" if self._hyphens and word == HYPHEN else self._unescape(word)
            restored += ("" if glued or not restored else " ") + word.replace(2 * MARK, MARK)
        return restored


def _marked(line: str, tokens: Sequence[str]) -> list[str]:
    """Return the tokens of a line, marked where no space stood before them; its words where a token is not found."""
    marked, place = [], 0
    for token in tokens:
        written = "-" if token == HYPHEN else token
        begin = place
        while line[begin : begin + 1].isspace():
            begin += 1
        if not line.startswith(written, begin):  # the tokenizer takes some words for marks of its own: "DOTMULTI"
            return _words(line)
        glued = MARK if begin == place and place else ""
        marked.append(glued + token.replace(MARK, 2 * MARK))
        place = begin + len(written)
    return marked if not line[place:].strip() else _words(line)


def _words(line: str) -> list[str]:
    """Return the words of a line, marked so that they come back."""
    words = [word.replace(MARK, 2 * MARK) for word in line.split()]
    return [part for word in words for part in (("@", f"{MARK}-@") if word == HYPHEN else (word,))]


def base(language: str) -> str:
    """Return the language of a code with a region or script: de of de-AT, zh of zh_Hant."""
    return re.split("[-_]", language, maxsplit=1)[0].lower()


def known(language: str) -> str:
    """Return the language that Moses's rules go by. Raises ConfigError where it has none for it."""
    code = base(language)
    languages = sorted(code for code in NonbreakingPrefixes().available_langs if len(code) <= 3)
    if code not in languages:
        raise ConfigError(
            f'prepare.normalizers: kind = "moses_tokens": Moses has no abbreviations of the language {language!r}; '
            f"give another whose rules will do as its key language ({', '.join(languages)}), or leave moses_tokens out"
        )
    return code
