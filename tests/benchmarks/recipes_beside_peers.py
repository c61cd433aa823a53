"""A recipe of nmtkit beside OpenNMT-py: the same text, the same pieces, the same minutes, the same scores.

    recipes/tatoeba-en-de/run.sh --data DIR --run RUN
    python tests/benchmarks/recipes_beside_peers.py --run RUN --environment WORK/venv-onmt --work DIR

RUN is a recipe's run folder, trained and translated (RUN/translations/NAME.txt of each test set). OpenNMT-py gets the
very pairs that it was trained on, cut into the same pieces, and as many minutes of wall clock on the same two cores as
that training took, validations included (its own has none). ENVIRONMENT holds OpenNMT-py; the peers' scripts make it.

`--settings peers` trains it as the peers' scripts do: 4 + 4 layers of 128 and 256 with 4 heads, dropout 0.3, updates of
4,096 positions, the rate rising to 0.005 over 2,000 updates and falling with their square root. `--settings recipe`
gives it the sizes, dropout, updates and highest rate of the recipe, with the same curve behind `--warmup` updates. All
else is as there: pre-norm (it has no other), Adam 0.9 and 0.98, label smoothing 0.1, fp32 (on a CPU it has no other).

Translated with its last checkpoint and with the average of its last five, by the beam of the recipe and its own length
penalty; pieces become text by the same vocabulary. `nmtkit score` then compares the three on each test set: scores with
signatures and intervals, p-values of the differences. stdout: its table; with --json JSON.
"""

import argparse
import contextlib
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from processes import Finished, end_when_told, run

from nmtkit.api import Segmenters, load_run_config, load_segmenters
from nmtkit.config import Config
from nmtkit.corpus.lines import read_lines
from nmtkit.corpus.normalizers import CountingChain
from nmtkit.corpus.reader import locate
from nmtkit.corpus.segmenters import Segmenter
from nmtkit.corpus.vocabulary import EOS
from nmtkit.data.store import PairStore, Sentences
from nmtkit.models.transformer.settings import TransformerConfig
from nmtkit.run_folder import RunFolder
from nmtkit.training.schedules import NoamConfig

THREADS = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
AVERAGED = 5
SAVED_EVERY = 100
UNKNOWN = "<unk>"


class Training(NamedTuple):
    """How OpenNMT-py is trained."""

    layers: tuple[int, int]
    width: int
    feed_forward: int
    heads: int
    dropout: float
    tokens: int
    peak: float
    warmup: int


PEERS = Training((4, 4), 128, 256, 4, 0.3, 4_096, 0.005, 2_000)
"""As the peers' scripts have it (their task A)."""

CONFIG = """
data:
  corpus: {{path_src: {text}/train.source, path_tgt: {text}/train.target}}
src_vocab: {text}/source.vocab
tgt_vocab: {text}/target.vocab
share_vocab: {joint}
share_embeddings: {joint}
share_decoder_embeddings: true
save_model: {work}/model
seed: 1
encoder_type: transformer
decoder_type: transformer
position_encoding: true
enc_layers: {training.layers[0]}
dec_layers: {training.layers[1]}
heads: {training.heads}
hidden_size: {training.width}
word_vec_size: {training.width}
transformer_ff: {training.feed_forward}
dropout: [{training.dropout}]
attention_dropout: [0.0]
label_smoothing: 0.1
param_init: 0.0
param_init_glorot: true
optim: adam
adam_beta2: 0.98
decay_method: noam
learning_rate: {factor}
warmup_steps: {training.warmup}
max_grad_norm: 0
normalization: tokens
batch_type: tokens
batch_size: {training.tokens}
accum_count: [1]
bucket_size: 29000
num_workers: 0
world_size: 1
train_steps: 1000000
save_checkpoint_steps: {every}
keep_checkpoint: {kept}
report_every: 100
"""


def recipe_training(config: Config, warmup: int) -> Training:
    """Return the recipe's own sizes and rates."""
    model, train = config.model, config.train
    if not isinstance(model, TransformerConfig):
        raise SystemExit(f"model.kind = {model.kind!r}: OpenNMT-py is trained as a Transformer; use --settings peers")
    schedule = train.schedule
    peak = schedule.rate(schedule.warmup, model.width, 0.0) if isinstance(schedule, NoamConfig) else schedule.peak
    if peak is None:
        peak = schedule.highest(model.width)
    layers = model.encoder_layers, model.decoder_layers
    sizes = model.width, model.feed_forward, model.heads, model.dropout
    return Training(layers, *sizes, train.batch.tokens_per_update, peak, warmup)


def write_text(folder: Path, own: RunFolder, segmenters: Segmenters, tests: dict[str, Path], config: Config) -> None:
    """Write the pairs of a run and the sources of test sets in pieces, and the vocabularies with counts."""
    if (folder / "target.vocab").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    pairs = PairStore.open(own.data, "train")
    counts = []
    for name, sentences, segmenter in zip(("source", "target"), (pairs.source, pairs.target), segmenters, strict=True):
        counts.append(write_pieces(folder / f"train.{name}", ids_of(sentences), segmenter))
    normalize = CountingChain(config.prepare.normalizers, config.languages.source)
    for name, source in tests.items():
        ids = segmenters.source.encode([normalize(line) for line in read_lines(source)])
        write_pieces(folder / f"{name}.source", ids, segmenters.source)
    if is_joint(segmenters):
        counts = [counts[0] + counts[1]] * 2
    for name, counted in zip(("source", "target"), counts, strict=True):
        lines = "".join(f"{piece}\t{count}\n" for piece, count in counted.most_common())
        (folder / f"{name}.vocab").write_bytes(lines.encode())


def is_joint(segmenters: Segmenters) -> bool:
    """Tell whether both languages have one vocabulary."""
    return segmenters.source.fingerprint == segmenters.target.fingerprint


def ids_of(sentences: Sentences) -> Iterable[list[int]]:
    """Yield the ids of sentences, end marks left out."""
    for place in range(len(sentences)):
        yield [id_ for id_ in sentences[place].tolist() if id_ != EOS]


def write_pieces(path: Path, sentences: Iterable[Sequence[int]], segmenter: Segmenter) -> Counter[str]:
    """Write sentences as pieces with spaces between; return how often each piece is there."""
    counts: Counter[str] = Counter()
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for ids in sentences:
            pieces = segmenter.pieces(ids)
            if any(len(piece.split()) != 1 for piece in pieces):
                raise SystemExit(f"{path}: a piece holds white space, by which OpenNMT-py would cut it")
            file.write(" ".join(pieces) + "\n")
            counts.update(pieces)
    return counts


def join_pieces(path: Path, segmenter: Segmenter, into: Path) -> None:
    """Write lines of pieces as text."""
    ids = {piece: id_ for id_, piece in enumerate(segmenter.pieces(range(segmenter.size)))}
    lines = [[ids[piece] for piece in line.split() if piece in ids] for line in read_lines(path)]
    into.parent.mkdir(parents=True, exist_ok=True)
    into.write_bytes("".join(f"{text}\n" for text in segmenter.decode(lines)).encode())


class Peer:
    """OpenNMT-py in an environment of its own, and a folder for what it writes."""

    def __init__(self, environment: Path, work: Path, text: Path) -> None:
        self._bin, self._work, self._text = environment / "bin", work, text

    def train(self, training: Training, minutes: float, *, joint: bool) -> float:
        """Train for so many minutes of wall clock; return the seconds it took."""
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir(parents=True)
        # noam: rate = factor · width^-0.5 · min(update^-0.5, update · warmup^-1.5)
        factor = training.peak * training.width**0.5 * training.warmup**0.5
        config = self._work / "config.yaml"
        config.write_text(
            CONFIG.format(
                text=self._text, work=self._work, joint=str(joint).lower(), training=training, factor=factor,
                every=SAVED_EVERY, kept=AVERAGED,
            ),
            encoding="utf-8",
        )  # fmt: skip
        began = time.monotonic()
        command = ["timeout", f"{minutes * 60:.0f}", self._bin / "onmt_train", "-config", config]
        done = run(command, THREADS)
        (self._work / "log").write_text(done.errors + done.output, encoding="utf-8")
        if not self.checkpoints():
            raise SystemExit(f"OpenNMT-py wrote no checkpoint in {minutes:.1f} minutes: {done.complaint}")
        return time.monotonic() - began

    def checkpoints(self) -> list[Path]:
        """Return its checkpoints, the oldest first."""
        found = self._work.glob("model_step_*.pt")
        return sorted(found, key=lambda path: int(path.stem.rpartition("_")[2]))

    def average(self) -> Path:
        """Average its last checkpoints."""
        output = self._work / "average.pt"
        self._must(run([self._bin / "onmt_average_models", "-models", *self.checkpoints(), "-output", output], THREADS))
        return output

    def translate(self, model: Path, source: Path, output: Path, beam: int) -> None:
        """Translate pieces into pieces."""
        options = ["-beam_size", str(beam), "-batch_size", "4096", "-batch_type", "tokens"]
        self._must(
            run([self._bin / "onmt_translate", "-model", model, "-src", source, "-output", output, *options], THREADS)
        )

    @staticmethod
    def _must(done: Finished) -> None:
        if done.code:
            raise SystemExit(done.complaint)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="a recipe's run folder, trained and translated")
    parser.add_argument("--environment", type=Path, required=True, help="virtual environment that holds OpenNMT-py")
    parser.add_argument("--work", type=Path, required=True, help="where text, models and translations go")
    parser.add_argument("--minutes", type=float, help="instead of those that the run took")
    parser.add_argument("--settings", choices=["peers", "recipe"], default="peers")
    parser.add_argument(
        "--warmup", type=int, default=1_000, help="with --settings recipe: updates until the rate peaks"
    )
    parser.add_argument("--cores", type=int, nargs=2, default=sorted(os.sched_getaffinity(0))[:2])
    parser.add_argument("--again", action="store_true", help="train nothing: translate and score what is there")
    parser.add_argument("--json", action="store_true", help="write JSON instead of the table")
    return parser.parse_args()


def main() -> None:
    """Train, translate, score."""
    asked = arguments()
    end_when_told()
    with contextlib.suppress(AttributeError):
        os.sched_setaffinity(0, asked.cores)
    own = RunFolder(asked.run)
    config, segmenters = load_run_config(own), load_segmenters(own)
    texts = [locate(own.path, config.corpus, files, config.languages) for files in config.corpus.test]
    tests = {text.name: text.files[0] for text in texts}
    card = json.loads(own.card.read_bytes())
    minutes = asked.minutes or card["time"]["seconds"] / 60
    training = PEERS if asked.settings == "peers" else recipe_training(config, asked.warmup)
    work = asked.work.resolve()
    write_text(work / "text", own, segmenters, tests, config)
    peer = Peer(asked.environment, work / asked.settings, work / "text")
    took = None if asked.again else peer.train(training, minutes, joint=is_joint(segmenters))
    last = peer.checkpoints()[-1]
    beam = getattr(config.translate.search, "beam", 1)
    systems = {"OpenNMT-py": last, f"OpenNMT-py-average-{AVERAGED}": peer.average()}
    for system, model in systems.items():
        for name in tests:
            pieces = work / asked.settings / f"{name}.pieces"
            peer.translate(model, work / "text" / f"{name}.source", pieces, beam)
            join_pieces(pieces, segmenters.target, work / asked.settings / "translations" / f"{system}.{name}.txt")
    facts = {
        "kind": "training", "settings": asked.settings, **training._asdict(), "minutes": round(minutes, 2),
        "took_minutes": took and round(took / 60, 2), "updates": int(last.stem.rpartition("_")[2]),
        "nmtkit_updates": card["training"]["updates"], "nmtkit_minutes": round(card["time"]["seconds"] / 60, 2),
    }  # fmt: skip
    print(json.dumps(facts), file=sys.stdout if asked.json else sys.stderr, flush=True)
    named = [("nmtkit", own.translations / "{set}.txt")]
    named += [(system, work / asked.settings / "translations" / f"{system}.{{set}}.txt") for system in systems]
    given = [word for name, path in named for word in ("--system", f"{name}={path}")]
    form = "json" if asked.json else "table"
    command = [sys.executable, "-m", "nmtkit", "score", "--run", own.path, *given, "--format", form]
    done = run(command)
    if done.code:
        raise SystemExit(done.complaint)
    sys.stdout.write(done.output)


if __name__ == "__main__":
    main()
