"""Which files `nmtkit score` reads, and what it calls the systems that wrote them."""

from pathlib import Path

import pytest

from nmtkit.commands.score_reading import NamedFile, named_files
from nmtkit.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["out/a.de"], [("a.de", "out/a.de")]),
        (["base=out/a.de", "b.de"], [("base", "out/a.de"), ("b.de", "b.de")]),
        ([" my system =a.de"], [("my system", "a.de")]),
        (["a/out.de", "b/out.de", "c.de"], [("a/out.de", "a/out.de"), ("b/out.de", "b/out.de"), ("c.de", "c.de")]),
        (["x/lr=0.1/a.de"], [("a.de", "x/lr=0.1/a.de")]),
        (["base=x/lr=0.1/a.de"], [("base", "x/lr=0.1/a.de")]),
    ],
)
def test_a_system_is_called_as_it_was_named_or_as_its_file(given, found):
    assert named_files(given) == [NamedFile(name, Path(path)) for name, path in found]


def test_a_file_whose_name_holds_an_equals_sign_is_that_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "alpha=0.6").write_bytes(b"a\n")
    assert named_files(["alpha=0.6"]) == [NamedFile("alpha=0.6", Path("alpha=0.6"))]
    assert named_files(["alpha=0.7"]) == [NamedFile("alpha", Path("0.7"))]


@pytest.mark.parametrize("given", [["a=x", "a=y"], ["x", "x"], ["x.de=a", "b/x.de"]])
def test_two_systems_of_one_name_are_refused(given):
    with pytest.raises(ConfigError, match=r"--system (a|x|x\.de): two systems have this name; give names, as in"):
        named_files(given)


@pytest.mark.parametrize("given", ["=x", "a=", " =x"])
def test_half_a_name_is_refused(given):
    with pytest.raises(ConfigError, match="write NAME=FILE, or FILE alone"):
        named_files([given])


def test_the_test_set_stands_in_the_name_of_the_file():
    given = ["out/{set}/a.de", "b={set}.{set}.de"]
    assert named_files(given, "news/14") == [
        NamedFile("out/{set}/a.de", Path("out/news%2F14/a.de")),
        NamedFile("b", Path("news%2F14.news%2F14.de")),
    ]
    assert named_files(given)[0].path == Path("out/{set}/a.de"), "without test sets it is a name like any other"
