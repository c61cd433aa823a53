import datetime
import tomllib

import pytest

from nmtkit.config import load
from nmtkit.errors import ConfigError
from nmtkit.toml import dotted, inline, shorten


def file_problem(tmp_path, content):
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(path)
    (line,) = caught.value.problems
    return line.removeprefix(str(path))


SYNTAX = {
    "no value": (
        b"[train]\nseed =\n",
        ", line 2: not valid TOML in `seed =` (invalid value); "
        "write KEY = VALUE or [TABLE], text in quotes, true and false in small letters",
    ),
    "no quotes": (
        b"[languages]\nsource = en\n",
        ", line 2: not valid TOML in `source = en` (invalid value); "
        "write KEY = VALUE or [TABLE], text in quotes, true and false in small letters",
    ),
    "open bracket": (
        b"a = 1\n[train",
        ", line 2: not valid TOML in `[train` (expected ']' at the end of a table declaration); "
        "write KEY = VALUE or [TABLE], text in quotes, true and false in small letters",
    ),
    "key twice": (
        b"[train]\nseed = 1\nseed = 2\n",
        ", line 3: key or table given twice in `seed = 2`; keep one of them",
    ),
    "table twice": (
        b"[train]\n[model]\n[train]\n",
        ", line 3: key or table given twice in `[train]`; keep one of them",
    ),
    "not UTF-8": (b"[train]\n# caf\xe9\n", ", line 2: byte 0xe9 is not UTF-8; save the file as UTF-8"),
    "too deep": (
        b"a = " + b"[" * 100_000,
        ": lists or tables nested too deeply; no key needs more than three levels",
    ),
    "more digits than Python converts": (
        b"a = " + b"9" * 5_000,
        ": a number with thousands of digits; no key needs more than 64 bits",
    ),
    "nothing": (b"", ": languages: missing; add a table [languages] with source and target"),
}


@pytest.mark.parametrize(("content", "line"), SYNTAX.values(), ids=SYNTAX.keys())
def test_file_that_cannot_be_read_as_toml(tmp_path, content, line):
    assert file_problem(tmp_path, content) == line


def test_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match=r"no\.toml: no such file; write one with `nmtkit init` or name yours with"):
        load(tmp_path / "no.toml")
    with pytest.raises(ConfigError, match=": a folder, not a file; name the TOML file in it"):
        load(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be read \(Not a directory\); check the path and permissions"):
        load(tmp_path / "file" / "x.toml")


def test_byte_order_mark_and_windows_line_ends(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xef\xbb\xbf" + b'[languages]\r\nsource = "en"\r\ntarget = "de"\r\n')
    assert load(path).languages.source == "en"


def test_inline_is_toml():
    value = {"a key": [1, 2.5, True, 'x\n"\x7f\u2028ü', {}], "b": {"c": datetime.date(2020, 1, 31), "d": 1e-9}}
    assert tomllib.loads(f"value = {inline(value)}")["value"] == value
    assert "\n" not in inline(value)


def test_dotted():
    assert dotted(("corpus", "test", 1, "source")) == "corpus.test[1].source"
    assert dotted(("a b", 0, 1)) == '"a b"[0][1]'


def test_shorten():
    assert shorten("x" * 60) == "x" * 60
    assert shorten("x" * 61) == "x" * 59 + "…"
    assert shorten("a\u2028\x1b") == "a\\u2028\\x1b"
