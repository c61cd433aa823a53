"""Files of a recipe: given, downloaded or unpacked, each checked before it has its name."""

import contextlib
import fcntl
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from recipe_parts import checking, fetching
from recipe_parts.checking import CheckError
from recipe_parts.downloading import Patience
from recipe_parts.manifest import Copy, read_manifest
from recipe_parts.providing import CHECKED, DOWNLOADS, Provider
from recipe_parts.saying import RecipeError

from recipes.archives import as_copy, pack, write_manifest
from recipes.mirrors import Fault, nobody, serving

FETCH = Path(__file__).resolve().parents[2] / "recipes" / "fetch"
HASTE = Patience(timeout=1.0, attempts=2, pause=0.0)
TRAIN = {"training/a.en": b"one\ntwo\nthree\n", "training/a.de": b"eins\nzwei\r\ndr\xe2\x80\xa8ei"}
TEST = {"test/t.en.sgm": b'<doc>\n<seg id="1">A</seg>\n<SEG id="2">B\n</SEG></doc>\n', "test/t.de.sgm": b"<seg>x<seg>y"}
PLAIN = {"p.en.gz": b"a\nb\nc\nd\n"}
OTHERS = {"training/a.cs": b"jedna\n", "README": b"\n"}
LINES = {"training/a.en": 3, "training/a.de": 3, "test/t.en.sgm": 2, "test/t.de.sgm": 2, "p.en.gz": 4}


@pytest.fixture
def mirror(tmp_path):
    folder = tmp_path / "mirror"
    pack(folder / "wmt" / "train.tgz", {**OTHERS, **TRAIN})
    pack(folder / "zips" / "train.zip", TRAIN)
    pack(folder / "test.tar", TEST)
    pack(folder / "p.en.gz", PLAIN)
    with serving(folder) as served:
        yield served


def manifest_of(mirror, *, mirrors=None, lines=LINES, zips=False):
    copies = [as_copy(mirror.folder / "wmt" / "train.tgz", "wmt/train.tgz")]
    copies += [as_copy(mirror.folder / "zips" / "train.zip", "zips/train.zip", "zips")] if zips else []
    digest = hashlib.sha256(PLAIN["p.en.gz"]).hexdigest()
    path = write_manifest(
        mirror.folder.parent / "manifest.json",
        mirrors or [mirror.address],
        {"copies": copies, "texts": {name: {"lines": lines[name]} for name in TRAIN}},
        {
            "copies": [as_copy(mirror.folder / "test.tar", "test.tar")],
            "texts": {name: {"lines": lines[name]} for name in TEST},
        },
        {
            "copies": [{"path": "p.en.gz", "mirrors": "mirror"}],
            "texts": {"p.en.gz": {"lines": lines["p.en.gz"], "sha256": digest}},
        },
    )
    content = json.loads(path.read_text())
    content["mirrors"]["zips"] = [mirror.address]
    path.write_text(json.dumps(content))
    return read_manifest(path)


@pytest.fixture
def provider(mirror, tmp_path):
    """Make a provider of the toy manifest, in a folder of its own."""

    def make(manifest=None, **options):
        return Provider(manifest or manifest_of(mirror), tmp_path / "data", patience=HASTE, **options)

    return make


def provide(provider: Provider) -> Path:
    provider.fetch()
    provider.unpack()
    return provider.texts


def texts_in(folder: Path) -> dict[str, bytes]:
    names = [*TRAIN, *TEST, *PLAIN]
    found = {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}
    return {name: gzip.decompress(text) if name.endswith(".gz") else text for name, text in found.items()}


ALL = {**TRAIN, **TEST, **PLAIN}


def test_all_is_fetched_and_unpacked_and_no_more(provider, mirror, tmp_path):
    folder = provide(provider())
    assert folder == tmp_path / "data"
    assert texts_in(folder) == ALL
    assert not (folder / "training" / "a.cs").exists()
    assert [path for path, _ in mirror.asked] == ["wmt/train.tgz", "test.tar", "p.en.gz"]
    notes = json.loads((folder / DOWNLOADS).read_text())
    assert {name: note["address"] for name, note in notes.items()} == {
        Path(path).name: f"{mirror.address}/{path}" for path, _ in mirror.asked
    }


def test_what_is_there_is_neither_fetched_nor_read_again(provider, mirror, monkeypatch):
    provide(provider())
    asked = list(mirror.asked)
    monkeypatch.setattr(checking, "count_text", None)
    monkeypatch.setattr(checking, "check_copy", None)
    assert provider().bytes_to_fetch() == 0
    provide(provider())
    assert mirror.asked == asked


def test_unpacked_texts_do_without_their_archive(provider, mirror, tmp_path):
    provide(provider())
    (tmp_path / "data" / "train.tgz").unlink()
    asked = list(mirror.asked)
    provide(provider())
    assert mirror.asked == asked


def test_a_text_that_changed_is_made_again(provider, mirror, tmp_path, capsys):
    provide(provider())
    (tmp_path / "data" / "training" / "a.en").write_bytes(b"one\n")
    asked = list(mirror.asked)
    assert texts_in(provide(provider())) == ALL
    assert mirror.asked == asked
    assert "has 1 lines where training/a.en has 3" in capsys.readouterr().err


def test_an_archive_that_changed_is_fetched_again(provider, mirror, tmp_path):
    provider().fetch()
    (tmp_path / "data" / "train.tgz").write_bytes(b"damaged")
    assert texts_in(provide(provider())) == ALL
    assert [path for path, _ in mirror.asked].count("wmt/train.tgz") == 2


def test_a_plain_file_that_changed_is_fetched_again(provider, mirror, tmp_path):
    provide(provider())
    (tmp_path / "data" / "p.en.gz").write_bytes(gzip.compress(b"a\nb\nc\nD\n"))
    assert texts_in(provide(provider())) == ALL
    assert [path for path, _ in mirror.asked].count("p.en.gz") == 2


def test_other_mirrors_take_the_place_of_those_named(provider, mirror):
    manifest = manifest_of(mirror, mirrors=[nobody()])
    assert texts_in(provide(provider(manifest, mirrors=[nobody(), mirror.address]))) == ALL


def test_the_mirror_that_served_last_is_asked_first(provider, mirror, tmp_path):
    with serving(mirror.folder) as other:
        mirror.always["wmt/train.tgz"] = Fault("status", 404)
        provide(provider(mirrors=[mirror.address, other.address]))
    assert [path for path, _ in mirror.asked] == ["wmt/train.tgz"]
    assert len(other.asked) == 3


def test_a_folder_is_a_mirror_too(provider, mirror, tmp_path, monkeypatch):
    manifest = manifest_of(mirror, mirrors=[nobody()])
    monkeypatch.chdir(tmp_path)
    assert texts_in(provide(provider(manifest, mirrors=["mirror"]))) == ALL
    assert mirror.asked == []


def test_another_copy_serves_where_the_first_is_nowhere(provider, mirror, tmp_path):
    manifest = manifest_of(mirror, zips=True)
    mirror.always["wmt/train.tgz"] = Fault("status", 404)
    assert texts_in(provide(provider(manifest))) == ALL
    assert (tmp_path / "data" / "train.zip").exists()


def test_of_copies_that_go_by_one_name_the_one_that_came_counts(provider, mirror, tmp_path):
    """As the dev.tgz of two years, both of which hold the same development set."""
    pack(mirror.folder / "other" / "train.tgz", {**TRAIN, "README": b"of another year"})
    manifest = manifest_of(mirror)
    first, *others = manifest.items
    copy = first.copies[0]
    other = read_copy(mirror.folder / "other" / "train.tgz", mirror)
    manifest = manifest._replace(items=(first._replace(copies=(copy, other)), *others))
    mirror.always["wmt/train.tgz"] = Fault("status", 404)
    provider(manifest).fetch()
    asked = list(mirror.asked)
    assert texts_in(provide(provider(manifest))) == ALL
    assert mirror.asked == asked
    given = tmp_path / "data"
    assert texts_in(provide(Provider(manifest, tmp_path / "elsewhere", given=given))) == ALL


def read_copy(path: Path, mirror) -> Copy:
    said = as_copy(path, str(path.relative_to(mirror.folder)))
    return Copy(said["path"], (mirror.address,), said["bytes"], said["sha256"])


def test_what_is_there_need_not_be_fetched(provider, mirror, tmp_path):
    manifest = manifest_of(mirror)
    sizes = [item.copies[0].bytes for item in manifest.items]
    assert provider(manifest).bytes_to_fetch() == sum(sizes)
    assert provider(manifest, given=mirror.folder).bytes_to_fetch() == 0
    mirror.faults["wmt/train.tgz"] = [Fault("cut", 50), Fault("status", 404)]
    with pytest.raises(RecipeError, match="answers 404"):
        provider(manifest).fetch()
    assert provider(manifest).bytes_to_fetch() == sum(sizes) - 50


def test_where_no_copy_can_be_had_each_is_named(provider, mirror):
    manifest = manifest_of(mirror, zips=True)
    mirror.always["wmt/train.tgz"] = mirror.always["zips/train.zip"] = Fault("status", 404)
    with pytest.raises(RecipeError, match=r"(?s)train\.tgz cannot be fetched.*--data or TOY_DATA.*train\.zip cannot"):
        provider(manifest).fetch()


def test_a_missing_line_is_noticed_and_nothing_has_the_name(provider, mirror, tmp_path):
    manifest = manifest_of(mirror, lines={**LINES, "training/a.de": 4})
    provider(manifest).fetch()
    with pytest.raises(CheckError, match=r"train\.tgz holds another text.*has 3 lines where training/a\.de has 4"):
        provider(manifest).unpack()
    left = [path.name for path in (tmp_path / "data" / "training").iterdir()]
    assert left == ["a.en"]


def test_segments_are_counted_in_test_sets(provider, mirror):
    manifest = manifest_of(mirror, lines={**LINES, "test/t.de.sgm": 3})
    with pytest.raises(CheckError, match=r"has 2 segments where test/t\.de\.sgm has 3"):
        provide(provider(manifest))


def test_an_archive_that_lacks_a_text_is_named(provider, mirror):
    pack(mirror.folder / "wmt" / "train.tgz", {"training/a.en": TRAIN["training/a.en"]})
    with pytest.raises(CheckError, match=r"train\.tgz does not hold training/a\.de"):
        provide(provider(manifest_of(mirror)))


@pytest.mark.parametrize("content", [b"no archive", b""], ids=["no archive", "empty"])
def test_what_is_no_archive_is_named(provider, mirror, content):
    (mirror.folder / "wmt" / "train.tgz").write_bytes(content)
    with pytest.raises(CheckError, match=r"train\.tgz is a damaged archive"):
        provide(provider(manifest_of(mirror)))


def test_an_archive_cut_short_is_named(provider, mirror):
    whole = (mirror.folder / "wmt" / "train.tgz").read_bytes()
    (mirror.folder / "wmt" / "train.tgz").write_bytes(whole[:-40])
    with pytest.raises(CheckError, match=r"train\.tgz"):
        provide(provider(manifest_of(mirror)))


def test_unpacking_needs_what_was_fetched(provider):
    with pytest.raises(RecipeError, match=r"train\.tgz is missing; fetch it first"):
        provider().unpack()


def test_two_at_once_do_not_work_in_one_folder(provider, tmp_path):
    (tmp_path / "data").mkdir()
    with (tmp_path / "data" / ".lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(RecipeError, match="another run"):
            provider().fetch()


# Given folders


def write_texts(folder: Path, texts: dict[str, bytes], *, flat: bool = False, packed: bool = False) -> Path:
    for name, content in texts.items():
        path = folder / (Path(name).name if flat else name)
        path.parent.mkdir(parents=True, exist_ok=True)
        gz = name.endswith(".gz") or packed
        path = path.with_name(f"{path.name}.gz") if packed and not name.endswith(".gz") else path
        path.write_bytes(gzip.compress(content) if gz else content)
    return folder


def test_a_given_folder_is_taken_as_it_is(provider, tmp_path, mirror):
    given = write_texts(tmp_path / "given", ALL)
    before = sorted(given.rglob("*"))
    assert provide(provider(given=given)) == given
    assert sorted(given.rglob("*")) == before
    assert mirror.asked == []


@pytest.mark.parametrize("options", [{"flat": True}, {"packed": True}, {"flat": True, "packed": True}])
def test_given_texts_may_lie_otherwise(provider, tmp_path, mirror, options):
    given = write_texts(tmp_path / "given", ALL, **options)
    folder = provide(provider(given=given))
    assert folder == tmp_path / "data"
    for name, content in ALL.items():
        found = (folder / name).read_bytes()
        assert (gzip.decompress(found) if found.startswith(b"\x1f\x8b") else found) == content
    assert mirror.asked == []


def test_given_archives_are_unpacked_elsewhere(provider, tmp_path, mirror):
    folder = provide(provider(given=mirror.folder))
    assert folder == tmp_path / "data"
    assert texts_in(folder) == ALL
    assert mirror.asked == []


DAMAGE = {
    "fewer lines": (gzip.compress(b"a\n"), "has 1 lines where p.en.gz has 4"),
    "another text": (gzip.compress(b"a\nb\nc\nD\n"), "not the text of p.en.gz"),
    "cut short": (gzip.compress(PLAIN["p.en.gz"])[:-6], "no whole gzip file"),
    "not compressed": (PLAIN["p.en.gz"], "no whole gzip file"),
    "a page": (b"<html>not found</html>\n", "no whole gzip file"),
    "damaged within": (gzip.compress(PLAIN["p.en.gz"])[:10] + b"\xff" * 30, "no whole gzip file"),
}


@pytest.mark.parametrize(("content", "message"), DAMAGE.values(), ids=DAMAGE.keys())
def test_a_given_folder_is_checked(provider, tmp_path, content, message):
    given = write_texts(tmp_path / "given", ALL)
    (given / "p.en.gz").write_bytes(content)
    with pytest.raises(CheckError, match=re.escape(message)) as caught:
        provide(provider(given=given))
    assert str(given / "p.en.gz") in str(caught.value)


@pytest.mark.parametrize(("content", "message"), DAMAGE.values(), ids=DAMAGE.keys())
def test_a_wrong_download_leaves_no_file(provider, tmp_path, mirror, content, message):
    (mirror.folder / "p.en.gz").write_bytes(content)
    with pytest.raises(RecipeError, match=re.escape(message)):
        provider().fetch()
    assert not [path for path in (tmp_path / "data").iterdir() if "p.en.gz" in path.name]


def test_given_archives_are_checked(provider, tmp_path, mirror):
    given = tmp_path / "given"
    pack(given / "train.tgz", TRAIN)
    with pytest.raises(CheckError, match=r"given/train\.tgz has \d+ bytes where train\.tgz has \d+"):
        provider(given=given).fetch()


def test_what_a_given_folder_lacks_is_named(provider, tmp_path):
    with pytest.raises(RecipeError, match="is no folder; --data and TOY_DATA"):
        provider(given=tmp_path / "nothing")
    given = write_texts(tmp_path / "given", TRAIN)
    with pytest.raises(RecipeError, match=r"holds neither test\.tar nor test/t\.en\.sgm nor 1 more"):
        provider(given=given).fetch()
    write_texts(given, TEST)
    with pytest.raises(RecipeError, match=r"p\.en\.gz is missing; add it, or leave --data away"):
        provider(given=given).fetch()


# The command


def run_fetch(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, FETCH, *arguments]
    return subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)


def test_the_command_prints_the_folder(mirror, tmp_path):
    manifest = manifest_of(mirror, mirrors=[nobody()]).path
    done = run_fetch(manifest, "--into", tmp_path / "data", TOY_MIRROR=f"{nobody()} {mirror.address}")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'data'}\n"), done.stderr
    assert texts_in(tmp_path / "data") == ALL
    again = run_fetch(manifest, "--into", tmp_path / "other", TOY_DATA=str(tmp_path / "data"))
    assert (again.returncode, again.stdout) == (0, f"{tmp_path / 'data'}\n")


def test_the_command_says_what_is_wrong(mirror, tmp_path, capsys, monkeypatch):
    manifest = manifest_of(mirror).path
    assert fetching.main([str(manifest), "--into", str(tmp_path / "data"), "--data", str(tmp_path / "none")]) == 1
    assert "is no folder" in capsys.readouterr().err
    assert fetching.main([str(tmp_path / "none.json"), "--into", str(tmp_path / "data")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    (tmp_path / "file").write_bytes(b"")
    assert fetching.main([str(manifest), "--into", str(tmp_path / "file" / "x")]) == 1
    assert "check permissions" in capsys.readouterr().err
    monkeypatch.setattr(Provider, "fetch", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    assert fetching.main([str(manifest), "--into", str(tmp_path / "data")]) == 130
    assert "goes on" in capsys.readouterr().err


def test_what_was_remembered_is_not_needed(provider, mirror, tmp_path):
    provide(provider())
    (tmp_path / "data" / CHECKED).write_text("[")
    asked = list(mirror.asked)
    provide(provider())
    assert mirror.asked == asked


def test_a_gzip_file_of_several_members_is_one_text(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"a\nb") + gzip.compress(b"c\nd\n") + b"\0" * 512)
    assert checking.count_text(path).lines == 3


def test_lines_end_at_line_feeds_alone(tmp_path):
    path = tmp_path / "a"
    path.write_bytes("a\rb\u2028c\x0bd\x0ce\x85f\r\nlast".encode())
    assert checking.count_text(path).lines == 2
    path.write_bytes(b"")
    assert checking.count_text(path).lines == 0


def test_tags_of_segments_are_found_across_blocks(tmp_path, monkeypatch):
    path = tmp_path / "a.sgm"
    path.write_bytes(b"<seg>a</seg><segment/><seg\tid='2'>b</seg><Seg id=3>c</seg>")
    for size in range(1, 20):
        monkeypatch.setattr(checking, "CHUNK", size)
        assert checking.count_text(path).lines == 3


# Manifests

MISTAKES = {
    "no JSON": ("{", "is no JSON"),
    "no items": ("{}", "items: is missing"),
    "another kind": ('{"items": 3}', "items: must be of the kind list"),
    "no copy": ('{"items": [{"copies": [], "texts": {"a": {"lines": 1}}}]}', "one copy and one text"),
    "no lines": ('{"items": [{"copies": [], "texts": {"a": {}}}]}', r"items[0].texts.a.lines: is missing"),
    "lines in words": ('{"items": [{"copies": [], "texts": {"a": {"lines": "two"}}}]}', "must be of the kind int"),
    "out of the folder": ('{"items": [{"copies": [], "texts": {"../a": {"lines": 1}}}]}', "leads out of the folder"),
    "unknown mirrors": (
        '{"items": [{"copies": [{"path": "a", "mirrors": "m"}], "texts": {"a": {"lines": 1}}}]}',
        "mirrors.m: is missing",
    ),
    "a text twice": (
        '{"mirrors": {"m": []}, "items": ['
        + ", ".join(['{"copies": [{"path": "a", "mirrors": "m"}], "texts": {"a": {"lines": 1}}}'] * 2)
        + "]}",
        "a text is named twice",
    ),
}


@pytest.mark.parametrize(("content", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_in_a_manifest_is_named(tmp_path, content, message):
    path = tmp_path / "manifest.json"
    path.write_text(content)
    with pytest.raises(RecipeError, match=re.escape(message)) as caught:
        read_manifest(path)
    assert caught.value.code == 2
    assert str(path) in str(caught.value)


def test_interrupted_unpacking_leaves_no_text(provider, monkeypatch, tmp_path):
    provider().fetch()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("recipe_parts.unpacking.copyfileobj", interrupted)
    with contextlib.suppress(KeyboardInterrupt):
        provider().unpack()
    assert list((tmp_path / "data" / "training").iterdir()) == []
    monkeypatch.undo()
    provider().unpack()
    assert texts_in(tmp_path / "data") == ALL
