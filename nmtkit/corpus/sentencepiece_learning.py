"""BPE and unigram vocabularies learned by SentencePiece, in silence."""

import io
import re
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import sentencepiece

from nmtkit.corpus.learning import (
    LONGEST_LINE,
    LearnableLines,
    LineSample,
    WordSample,
    special_pieces,
    too_large,
    too_small,
)
from nmtkit.corpus.pieces import CONTROLS, UNKNOWN, tag_piece
from nmtkit.corpus.segmenters import LONGEST_PIECE, BpeConfig, Learned, UnigramConfig
from nmtkit.corpus.vocabulary import BOS, EOS, PAD, UNK
from nmtkit.errors import DataError, raise_terminated

MOST_OF_WORDS = 40_000_000
"""Characters of the different words that BPE is learned from: 2.4 GB."""
MOST_OF_LINES = 100_000_000
"""Characters of the lines that a unigram model is learned from: 2.4 GB."""


def learn(config: BpeConfig | UnigramConfig, lines: Iterable[str], of: str, tags: Sequence[str]) -> Learned:
    """Learn a vocabulary; see `segmenters.learn_segmenter`.

    BPE sees nothing but words and their counts, and learns the very same pieces from these. A unigram model draws its
    first candidates from whole lines, each as often as it occurs, so it is given the lines.
    """
    text = LearnableLines(lines, tags)
    sample: WordSample | LineSample
    if isinstance(config, BpeConfig):
        sample = WordSample(MOST_OF_WORDS)
        sample.take(text)
        sentences = _counted(sample.words())
    else:
        sample = LineSample(MOST_OF_LINES)
        sample.take(text)
        sentences = iter(sample)
    if not text.lines:
        raise text.none_left(of)
    return Learned(_train(config, sentences, of, tags), sample.lines, text.too_long)


def _counted(words: dict[str, int]) -> Iterator[str]:
    """Yield words with their counts, each forgotten once it is given."""
    while words:
        word, count = words.popitem()
        yield f"{word}\t{count}"


def _train(config: BpeConfig | UnigramConfig, sentences: Iterator[str], of: str, tags: Sequence[str]) -> bytes:
    model = io.BytesIO()
    try:
        with _interruptible():
            # Text and model pass through memory: SentencePiece would write their file names into the model.
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=sentences,
                input_format="tsv" if isinstance(config, BpeConfig) else "text",
                model_writer=model,
                model_type=config.kind,
                vocab_size=config.vocabulary_size,
                byte_fallback=config.byte_fallback,
                character_coverage=config.character_coverage,
                control_symbols=[tag_piece(name) for name in tags],
                user_defined_symbols=list(config.symbols),
                pad_id=PAD,
                unk_id=UNK,
                bos_id=BOS,
                eos_id=EOS,
                pad_piece=CONTROLS[PAD],
                unk_piece=CONTROLS[UNK],
                bos_piece=CONTROLS[BOS],
                eos_piece=CONTROLS[EOS],
                unk_surface=UNKNOWN,
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                max_sentencepiece_length=LONGEST_PIECE,
                max_sentence_length=LONGEST_LINE + 32,  # the count of a word stands behind it
                minloglevel=3,
            )
    except RuntimeError as error:
        raise _explain(config, str(error), tags, of) from None
    return model.getvalue()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let signals end the process at once: C++ code, minutes long here, does not listen to Python's handlers."""
    ours = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: raise_terminated}
    usual = {number: handler for number, handler in ours.items() if signal.getsignal(number) is handler}
    if threading.current_thread() is not threading.main_thread():
        usual = {}
    for number in usual:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _explain(config: BpeConfig | UnigramConfig, message: str, tags: Sequence[str], of: str) -> DataError:
    """Return what SentencePiece's message means for the configuration."""
    if largest := re.search(r"too high.*<= (\d+)", message):
        return too_large(config, int(largest[1]), of)
    if smallest := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return too_small(config, int(smallest[1]) - special_pieces(config, tags), tags, of)
    return DataError(f"{of}: SentencePiece cannot learn a vocabulary from it: {message.strip()}")
