"""Tags: words that say what a source is, each a control piece put before it. Who asks for one must have trained it."""

from collections.abc import Iterable, Iterator, Mapping

from nmtkit.errors import ConfigError
from nmtkit.schema import quoted
from nmtkit.section import Conflict
from nmtkit.toml import inline


def tag_conflicts(tag: str) -> Iterator[Conflict]:
    """Report a tag that is not one word, or that cannot be seen."""
    if tag and (tag.split() != [tag] or not tag.isprintable()):
        yield Conflict("tag", "holds white space or what cannot be seen; give one word")


def check_tags(asked: Mapping[str, str], known: Iterable[str]) -> None:
    """Raise ConfigError that names, by their keys, the tags asked for that a vocabulary does not have.

    `asked` maps keys to tags, empty where none is asked for; `known` are the tags of the vocabulary.
    """
    known = list(known)
    remedy = (
        f"no such tag; choose {quoted(known)}, or remove it"
        if known
        else "the vocabulary has no tags, which are those of training corpora; remove it, or train with tags"
    )
    problems = [f"{key} = {inline(tag)}: {remedy}" for key, tag in asked.items() if tag and tag not in known]
    if problems:
        raise ConfigError(problems)


def untagged(asked: str, trained: Iterable[str]) -> str:
    """Return what is wrong with text that has no tag where every training corpus had one; empty: nothing."""
    trained = list(dict.fromkeys(trained))
    if asked or not trained or "" in trained:
        return ""
    return (
        f"has no tag, though every training corpus has one, so the model knows nothing like it; give {quoted(trained)}"
    )
