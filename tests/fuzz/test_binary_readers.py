"""Packed sentences, vocabularies and weights are whole, or refused by name."""

import json
import struct
from pathlib import Path
from typing import Any

import torch
from hypothesis import example, given
from hypothesis import strategies as st
from toy.corpora import count_sentences, sentence_pair
from toy.models import build
from toy.projects import Project, same
from toy.training import ORIGIN, WIDTH_16, train_config

from fuzz import oracle
from fuzz.cases import each_tier, try_cases
from fuzz.damage import Damage, altered, damages
from fuzz.messages import check_message
from fuzz.text import documents, lines
from nmtkit.corpus.lines import clean
from nmtkit.corpus.segmenters import BpeConfig, UnigramConfig, learn_segmenter, open_segmenter
from nmtkit.data.batching import summarize
from nmtkit.data.epochs import Batches
from nmtkit.data.mixing import CorpusRange
from nmtkit.data.position import Position
from nmtkit.data.settings import BatchConfig
from nmtkit.data.store import HEADER_BYTES, PairStore, split_files
from nmtkit.errors import CheckpointError, DataError
from nmtkit.training.checkpoints import load_optimizer, load_weights, save_checkpoint, training_tensors
from nmtkit.training.parallel import Whole, copy_weights, own_tensors
from nmtkit.training.state import TrainingState
from nmtkit.training.tensor_folder import OPTIMIZER, WEIGHTS, check_tensors


@each_tier
def test_packed_sentences(tier: str, fresh: Project) -> None:
    """Lengths that no packing can have made are told; an epoch over the others holds every pair."""
    files = [fresh.run.data / name for name in split_files("train")]
    written = {file: file.read_bytes() for file in files}
    pairs = len(PairStore.open(fresh.run.data, "train"))
    crossed, shorter, longer = struct.pack("<q", 10**12), struct.pack("<i", -1), struct.pack("<i", 10**9)
    offsets = written[files[1]]
    config = BatchConfig(tokens_per_update=400, tokens_per_tensor=200, window=70)

    @given(file=st.sampled_from(files), damage=damages())
    @example(file=files[1], damage=lambda whole: whole[: HEADER_BYTES + 8] + crossed + whole[HEADER_BYTES + 16 :])
    @example(file=files[1], damage=lambda whole: whole[:HEADER_BYTES])
    @example(file=files[2], damage=lambda whole: whole[:HEADER_BYTES] + shorter + whole[HEADER_BYTES + 4 :])
    @example(file=files[2], damage=lambda whole: whole[:HEADER_BYTES] + longer + whole[HEADER_BYTES + 4 :])
    @example(file=files[2], damage=lambda whole: whole[:HEADER_BYTES] + whole[:HEADER_BYTES:-1])
    @example(file=files[2], damage=lambda whole: whole[:-4])
    @example(file=files[0], damage=lambda _: b"")
    @example(file=files[0], damage=lambda _: offsets)
    @example(file=files[0], damage=lambda whole: whole)
    def check(file: Path, damage: Any) -> None:
        file.unlink()  # a new file: the old one may still be mapped
        file.write_bytes(damage(written[file]))
        try:
            store = PairStore.open(fresh.run.data, "train")
            sentences = [[len(side[place]) for place in range(len(side))] for side in (store.source, store.target)]
        except DataError as error:
            check_message(error, fresh.run.data, "run `nmtkit prepare`")
        else:
            assert len(store) == pairs
            assert sentences == [side.lengths.tolist() for side in (store.source, store.target)]
            check_epoch(store, config)
        file.write_bytes(written[file])

    try_cases(check, tier)


def check_epoch(store: PairStore, config: BatchConfig) -> None:
    """See that an epoch has each pair once, and costs what it says."""
    source, target = store.source.lengths, store.target.lengths
    batches = Batches(source, target, [CorpusRange(0, len(store))], config, seed=1)
    updates = []
    for step in batches.steps(Position()):
        updates.append(step.update)
        if step.behind.epoch:
            break
    pairs = [pair for update in updates for tensor in update.tensors for pair in tensor.tolist()]
    assert sorted(pairs) == list(range(len(store)))
    assert batches.summary() == summarize(updates, source, target)
    assert batches.summary().source_tokens == int(source.sum()) + len(store)


@each_tier
def test_a_vocabulary(tier: str) -> None:
    """A damaged one is refused, or works: any line becomes ids that it holds, and ids become one line."""
    text = [side for number in range(0, count_sentences(), 97) for side in sentence_pair(number)]
    configs = (
        BpeConfig(vocabulary_size=120, byte_fallback=False),
        BpeConfig(vocabulary_size=330),
        UnigramConfig(vocabulary_size=80, byte_fallback=False),
    )
    models = [learn_segmenter(config, text).model for config in configs]

    @given(model=st.one_of(damaged(models), damaged(models), documents(3)), line=lines())
    @example(model=models[0], line=b"")
    @example(model=models[0].replace(b"<pad>", b"<p\xffd>"), line=b"")
    @example(model=models[0].replace(b"\xe2\x96\x81the", b"\xe2\x96\x81\xffhe"), line=b"the dog")
    def check(model: bytes, line: bytes) -> None:
        try:
            segmenter = open_segmenter(model, "NAME.model")
        except CheckpointError as error:
            check_message(error, "NAME.model", "run `nmtkit prepare` again")
            assert model not in models
            return
        (ids,) = segmenter.encode([clean(line.decode("utf-8", "replace"))])
        assert all(0 <= id_ < segmenter.size for id_ in ids)
        assert len(segmenter.pieces(ids)) == len(ids)
        returned = segmenter.decode([ids, range(segmenter.size), []])
        assert len(returned) == 3
        assert all(oracle.is_one_line(text) for text in returned)

    try_cases(check, tier)


def damaged(wholes: list[bytes]) -> st.SearchStrategy[bytes]:
    """Return damaged contents of some files."""
    return st.builds(lambda damage, whole: damage(whole), damages(), st.sampled_from(wholes))


def damages_of_tensors(whole: bytes) -> st.SearchStrategy[Damage]:
    """Return functions that damage any bytes of a file of tensors, or the JSON of its header."""
    (size,) = struct.unpack("<Q", whole[:8])
    headers = altered(json.loads(whole[8 : 8 + size]))
    return st.one_of(damages(), damages(), st.builds(with_header, headers), documents(2).map(instead))


def with_header(header: Any) -> Damage:
    """Return a function that gives the tensors another header."""
    text = json.dumps(header).encode()

    def damage(whole: bytes) -> bytes:
        (size,) = struct.unpack("<Q", whole[:8])
        return struct.pack("<Q", len(text)) + text + whole[8 + size :]

    return damage


def instead(content: bytes) -> Damage:
    """Return a function that puts something else in the place of a file."""
    return lambda _: content


def unchanged(content: bytes) -> bytes:
    """Damage nothing."""
    return content


@each_tier
def test_weights(tier: str, tmp_path: Path) -> None:
    """Damaged tensors are refused by name before any weight changes, or fit."""
    model = build(WIDTH_16)
    config = train_config().optimizer

    def step(optimizer: torch.optim.Optimizer) -> None:
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()

    optimizer = config.build(model.parameters())
    step(optimizer)
    folder = save_checkpoint(
        tmp_path, training_tensors(Whole(model), optimizer), TrainingState(update=1), ORIGIN, regular=True
    )
    weights, moments = folder / WEIGHTS, folder / OPTIMIZER
    before = {name: tensor.detach().clone() for name, tensor in own_tensors(model).items()}
    whole, whole_moments = weights.read_bytes(), moments.read_bytes()
    assert b'"shape":[24,16]' in whole_moments

    @given(damage=damages_of_tensors(whole), of_optimizer=damages_of_tensors(whole_moments))
    @example(damage=unchanged, of_optimizer=unchanged)
    @example(damage=instead(whole_moments), of_optimizer=instead(whole))
    @example(damage=unchanged, of_optimizer=lambda found: found.replace(b'"exp_avg:', b'"exp_avh:', 1))
    @example(damage=unchanged, of_optimizer=lambda found: found.replace(b'"shape":[24,16]', b'"shape":[16,24]'))
    @example(damage=unchanged, of_optimizer=with_header({}))
    @example(
        damage=unchanged, of_optimizer=with_header({"a": {"dtype": "\t\x1b", "shape": [1], "data_offsets": [0, 4]}})
    )
    def check(damage: Damage, of_optimizer: Damage) -> None:
        copy_weights(model, before)
        weights.write_bytes(damage(whole))
        moments.write_bytes(of_optimizer(whole_moments))
        for file in (weights, moments):
            try:
                check_tensors(file)
            except CheckpointError as error:
                check_message(error, file)
        try:
            load_weights(model, weights)
        except CheckpointError as error:
            check_message(error, weights)
            assert weights.read_bytes() != whole
            assert same(dict(own_tensors(model)), before)
        anew = config.build(model.parameters())
        try:
            load_optimizer(anew, Whole(model), moments)
        except CheckpointError as error:
            check_message(error, moments)
            assert moments.read_bytes() != whole_moments
        else:
            step(anew)

    try_cases(check, tier)
