"""Small WMT14 archives under the real names and with the real layout, out of invented sentences, dirt included."""

import gzip
import json
import random
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from recipes.archives import as_copy, pack

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
Pairs = Sequence[tuple[str, str]]

DEV_LINES, TEST_LINES = 60, 40

DIRT = (
    ("Buy cheap tickets now!", "Buy cheap tickets now!"),  # never translated
    ("The\u2009price\u00a0is 1\u202f000 euros.", "Das\u00a0kostet 1\u202f000 Euro."),  # unusual spaces
    ("One line\u2028that looks like two.", "Eine Zeile\x85wie zwei."),  # ends of lines for some programs
    ("Carriage\rreturn", "Wagen\rrücklauf"),
    ("A NUL \x00 inside.", "Ein NUL \x00 darin."),
    ("", "Links steht nichts."),
    ("Nothing on the right.", "   "),
    ("word " * 300, "Wort " * 300),  # a page on one line
    ("No.", "Nein, das hat mit der anderen Seite gar nichts zu tun, kein bisschen, wirklich nicht, von Anfang an."),
)


class Wmt14(NamedTuple):
    """A mirror's folder, and a manifest of what is in it."""

    folder: Path
    manifest: Path


def write(folder: Path, recipe: str, pairs: Pairs) -> Wmt14:
    """Write all archives that the manifest of a recipe names first, with so many sentences as there are, and its like.

    Names, paths and inner layout are those of the real manifest; sizes, checksums and lines are those of what is here.
    The archives hold other files too.
    """
    real = json.loads((RECIPES / recipe / "files.json").read_text(encoding="utf-8"))
    foreign = recipe.rsplit("-", 1)[1]
    supply = cycle(pairs)
    items = []
    for item in real["items"]:
        texts = _contents(list(item["texts"]), foreign, supply)
        copy = item["copies"][0]
        archive = pack(folder / copy["path"], {**_others(list(texts)), **{n: text for n, (text, _) in texts.items()}})
        lines = {name: {"lines": count} for name, (_, count) in texts.items()}
        items.append({"copies": [as_copy(archive, copy["path"], copy["mirrors"])], "texts": lines})
    manifest = folder.parent / f"{recipe}.json"
    manifest.write_text(json.dumps({**real, "unpacked_bytes": 1_000_000, "items": items}))
    return Wmt14(folder, manifest)


def _contents(names: list[str], foreign: str, supply: Any) -> dict[str, tuple[bytes, int]]:
    """Return, for the two files of a text, what they hold and how many lines or segments."""
    kind = names[0]
    if kind.endswith(".sgm"):
        pairs = list(islice(supply, TEST_LINES))
        return {
            name: (sgm([pair[side] for pair in pairs], "src" if side == 0 else "ref"), len(pairs))
            for side, name in enumerate(names)
        }
    if kind.startswith("dev/"):
        pairs = list(islice(supply, DEV_LINES))
    else:
        pairs = list(islice(supply, 400))
        dirty = DIRT if kind.startswith(("commoncrawl", "un/")) else ()
        pairs[50:50] = dirty
    return {name: _file(name, [pair[side] for pair in pairs], side) for side, name in enumerate(names)}


def _file(name: str, lines: list[str], side: int) -> tuple[bytes, int]:
    content = "".join(f"{line}\n" for line in lines).encode()
    if name.startswith("commoncrawl") and side:  # what is not UTF-8, in a line of its own pair
        first, rest = content.split(b"\n", 1)
        content = first + b" \xff\n" + rest
    if name.endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    return content, len(lines)


def sgm(lines: list[str], kind: str) -> bytes:
    """Return a test set as WMT wrote it: two documents, entities, typographic apostrophes."""
    half, parts = len(lines) // 2, []
    for number, document in enumerate((lines[:half], lines[half:]), start=1):
        segments = "".join(
            f'<seg id="{place}">{_marked_up(line)}</seg>\n' for place, line in enumerate(document, start=1)
        )
        parts.append(f'<doc sysid="ref" docid="invented-{number}" genre="news">\n<p>\n{segments}</p>\n</doc>\n')
    return f'<{kind}set setid="newstest2014" srclang="any">\n{"".join(parts)}</{kind}set>\n'.encode()


def _marked_up(line: str) -> str:
    return line.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;").replace("'", "\u2019")


def _others(names: list[str]) -> dict[str, bytes]:
    """Return other files of an archive: other languages, and a page of documentation."""
    folder = str(Path(names[0]).parent)
    prefix = "" if folder == "." else f"{folder}/"
    return {f"{prefix}README": b"Invented.\n", f"{prefix}other.cs-en.cs": b"jedna\ndva\n"}


# English and French, invented

_SYLLABLES = ("ba", "lo", "mi", "ter", "san", "vel", "dor", "ki", "nu", "gra", "fel", "or", "tan", "pi", "sol", "ve")
_NOUNS = (
    ("house", "maison", "la"), ("dog", "chien", "le"), ("garden", "jardin", "le"), ("street", "rue", "la"),
    ("bread", "pain", "le"), ("table", "table", "la"), ("letter", "lettre", "la"), ("train", "train", "le"),
    ("river", "rivière", "la"), ("forest", "forêt", "la"), ("teacher", "professeur", "le"), ("town", "ville", "la"),
    ("window", "fenêtre", "la"), ("market", "marché", "le"), ("bridge", "pont", "le"), ("song", "chanson", "la"),
)  # fmt: skip
_VERBS = (
    ("sees", "voit"), ("buys", "achète"), ("likes", "aime"), ("finds", "trouve"), ("paints", "peint"),
    ("sells", "vend"), ("knows", "connaît"), ("forgets", "oublie"), ("shows", "montre"), ("crosses", "traverse"),
)  # fmt: skip
_ENDS = ((" today.", " aujourd'hui."), (" again!", " encore !"), (".", "."), (", doesn't he?", ", n'est-ce pas ?"))


def french_pairs(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Return invented English-French pairs: names of people and places, numbers, French spaces before marks."""
    drawn = random.Random(seed)

    def name() -> str:
        return "".join(drawn.choice(_SYLLABLES) for _ in range(drawn.randint(2, 4))).capitalize()

    pairs = []
    for _ in range(count):
        who, where = name(), name()
        english_noun, french_noun, article = drawn.choice(_NOUNS)
        english_verb, french_verb = drawn.choice(_VERBS)
        english_end, french_end = drawn.choice(_ENDS)
        number = drawn.randint(2, 9_999)
        english = f"{who} {english_verb} the {english_noun} of {where} at number {number:,}{english_end}"
        french_number = f"{number:,}".replace(",", "\u202f")
        french = f"{who} {french_verb} {article} {french_noun} de {where} au numéro {french_number}{french_end}"
        pairs.append((english, french))
    return pairs
