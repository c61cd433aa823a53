"""Settings are read, or each mistake in them is told on a line that names the file or the option."""

import json
import tomllib
from pathlib import Path
from typing import Any

import tomli_w
from hypothesis import example, given
from hypothesis import strategies as st
from toy.corpora import config_toml, config_values

from fuzz.cases import each_tier, try_cases
from fuzz.damage import altered, damages, values
from fuzz.messages import check_message
from fuzz.text import documents, strings
from nmtkit.config import Config, dump, load, resolve
from nmtkit.errors import ConfigError

WHOLE = config_toml().encode()
LANGUAGES = b'[languages]\nsource = "en"\ntarget = "de"\n'

TOML = [
    *(b"= = 1", b"[a]", b"[[corpus.test]]", b"[model]\nkind = ", b"a.b.c = 1", b"'''", b'"""', b"{a = [", b"]}", b"#"),
    *(b"1979-05-27T25:61:00Z", b"0x", b"1e999", b"-nan", b"\\ud800", b"'\\'", b'"\\q"', b"\r", b"\t"),
    b"[" * 5_000,
    b"9" * 5_000,
    b"a" + b".a" * 5_000 + b" = 1",
    b"[a" + b".a" * 5_000 + b"]",
]


def read(file: Path, settings: list[str]) -> Config | None:
    """Load settings, and see that they come back from what is dumped, or that every mistake is told as it should be."""
    problems = None
    try:
        config = load(file, settings)
    except ConfigError as error:
        problems = error
    if problems is not None:
        assert problems.exit_code == 2
        check_message(problems)
        assert all(line.startswith((str(file), "--set ")) for line in str(problems).split("\n")), problems
        return None
    assert resolve(tomllib.loads(dump(config)), "dumped") == config
    return config


@each_tier
def test_a_config_file_of_any_bytes(tier: str, tmp_path: Path) -> None:
    file = tmp_path / "nmtkit.toml"
    pieces = st.one_of(st.sampled_from(TOML), st.just(LANGUAGES), documents(2))
    damaged = damages().map(lambda damage: damage(WHOLE))

    @given(content=st.one_of(damaged, damaged, st.lists(pieces, max_size=4).map(b"\n".join), documents()))
    @example(content=WHOLE)
    @example(content=LANGUAGES + b"a" + b".a" * 2_000 + b" = 1")  # nested too deeply to be copied
    @example(content=LANGUAGES + b"[train" + b".a" * 400 + b"]")
    @example(content=LANGUAGES + '"a\u2028b" = 1\n"\x9b31m" = 1'.encode())  # keys that break lines and colour terminals
    @example(content=b"\xe2\x80\xa8 = 1")
    def check(content: bytes) -> None:
        file.write_bytes(content)
        read(file, [])

    try_cases(check, tier)


@each_tier
def test_a_config_file_of_any_values(tier: str, tmp_path: Path) -> None:
    file = tmp_path / "nmtkit.toml"

    @given(tables=altered(config_values()).map(without_null).filter(lambda tables: isinstance(tables, dict)))
    @example(tables={"languages": {"source": "en", "target": "de"}, "corpus": {"a\u2028b": 3}})
    def check(tables: dict[str, Any]) -> None:
        file.write_bytes(tomli_w.dumps(tables).encode("utf-8", "surrogatepass"))
        read(file, [])

    try_cases(check, tier)


def without_null(value: Any) -> Any:
    """Return values without null, which TOML does not have."""
    if isinstance(value, dict):
        return {key: without_null(inner) for key, inner in value.items() if inner is not None}
    return [without_null(inner) for inner in value if inner is not None] if isinstance(value, list) else value


KEYS = [
    *("train.seed", "train.stop.updates", "train", "languages.source", "model.kind", "model", "model.norm"),
    *("corpus.dev", "corpus.test[0].name", "corpus.test[0]", "corpus.test[7].name", "corpus.train", "corpus.folder"),
    *("prepare.filters", "prepare.filters[0].kind", "prepare.segmenter.kind", "score.metrics", "score.metrics[0]"),
    *("translate.search.beam", "translate.checkpoint", "train.schedule", "a", "train.seed.x", "train[0]", "", " "),
    "train" + ".x" * 2_000,
    "corpus.test[" + "1" * 5_000 + "].name",
    "corpus.test" + "[0]" * 2_000,
]


@each_tier
def test_settings_of_the_command_line(tier: str, tmp_path: Path) -> None:
    file = tmp_path / "nmtkit.toml"
    file.write_bytes(WHOLE)
    written = st.one_of(
        values().map(lambda value: json.dumps(value, ensure_ascii=False)),
        st.sampled_from(TOML).map(bytes.decode),
        strings(),
    )
    settings = st.one_of(st.builds(lambda key, value: f"{key}={value}", st.sampled_from(KEYS), written), strings())

    @given(settings=st.lists(settings, max_size=4))
    @example(settings=["train" + ".x" * 2_000 + "=1"])  # nested too deeply to be checked
    @example(settings=["corpus.test[" + "1" * 5_000 + "].name=x"])  # more digits than Python reads
    @example(settings=["train.seed=1", "train.seed=2", "languages.source=no"])
    def check(settings: list[str]) -> None:
        config = read(file, settings)
        if not settings:
            assert config is not None

    try_cases(check, tier)
