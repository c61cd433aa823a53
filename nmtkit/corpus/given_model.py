"""Vocabularies that exist already: taken over from a file, of SentencePiece or of nmtkit, with what they lack added."""

from collections.abc import Sequence
from pathlib import Path

from nmtkit.corpus import own_model, sentencepiece_file
from nmtkit.errors import ConfigError


def adopt(key: str, path: str, base: Path, symbols: Sequence[str], tags: Sequence[str]) -> bytes:
    """Return the model in the file that a key of the settings names, with the symbols and tags that it lacks.

    A relative path starts from the folder `base`. Raises ConfigError, naming the key, where there is no such file,
    where it holds no vocabulary, or where a name is taken.
    """
    file = base / path
    given = f"{key} = {str(file)!r}"
    try:
        model = file.read_bytes()
    except OSError as error:
        within = file / "data" / "source.model"
        remedy = f"for the vocabulary of a run give {within}" if within.is_file() else "give a SentencePiece model file"
        raise ConfigError(f"{given}: cannot be read ({error.strerror}); {remedy}") from None
    adopt_kind = own_model.adopt if own_model.is_own(model) else sentencepiece_file.adopt
    return adopt_kind(model, given, symbols, tags)
