"""`nmtkit translate`, without the command line around it."""

import gzip
import io
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from toy.formats import PACKERS, sgm_of
from toy.runs import write_run

from nmtkit.api import Translator, load_run_config
from nmtkit.commands.translate import translate
from nmtkit.config import Config
from nmtkit.errors import ConfigError, DataError
from nmtkit.log import Log
from nmtkit.run_folder import RunFolder

LINES = ["the dog sees a bird today .", "", "every fox hears the fish .", " \t", "a painter ."]
TEXT = "".join(f"{line}\n" for line in LINES).encode()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return write_run(tmp_path_factory.mktemp("translate") / "run")


@pytest.fixture(scope="module")
def expected(run: RunFolder) -> bytes:
    return "".join(f"{text}\n" for text in Translator.load(run.path).translate(LINES)).encode()


def config_of(run: RunFolder, search: dict[str, Any] | None = None, **settings: Any) -> Config:
    config = load_run_config(run)
    found = config.translate.search.model_copy(update=search or {})
    return config.model_copy(update={"translate": config.translate.model_copy(update={"search": found, **settings})})


def translated(run: RunFolder, folder: Path, content: bytes, config: Config | None = None, **options: Any) -> bytes:
    (folder / "in").write_bytes(content)
    translate(run, config or config_of(run), Log(), source=folder / "in", output=folder / "out", **options)
    return (folder / "out").read_bytes()


class Stream:
    """Stands for sys.stdin or sys.stdout over one end of a pipe, or over a terminal."""

    def __init__(self, buffer: Any, *, terminal: bool = False) -> None:
        self.buffer = buffer
        self.terminal = terminal

    def fileno(self) -> int:
        return self.buffer.fileno()

    def isatty(self) -> bool:
        return self.terminal


def test_file_to_file(run: RunFolder, tmp_path: Path, expected: bytes) -> None:
    assert translated(run, tmp_path, TEXT) == expected
    assert expected.count(b"\n") == len(LINES)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    corpora = [{"name": tag, "tag": tag, "source": f"{tag}.en", "target": f"{tag}.de"} for tag in ("news", "bt")]
    return write_run(tmp_path_factory.mktemp("tagged") / "run", {"corpus.train": corpora})


def test_each_line_has_the_tag_that_is_asked_for(
    tagged: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {tag: translated(tagged, tmp_path, TEXT, config_of(tagged, tag=tag)) for tag in ("news", "bt")}
    assert "has no tag" not in capsys.readouterr().err
    found[""] = translated(tagged, tmp_path, TEXT)
    warning = "warning: the text has no tag, though every training corpus has one, so the model knows nothing like it; "
    assert warning + 'give "news" or "bt" (--tag)' in capsys.readouterr().err
    assert len({*found.values()}) == 3
    for tag, content in found.items():
        texts = Translator.load(tagged.path).translate(LINES, tag=tag)
        assert content.decode() == "".join(f"{text}\n" for text in texts)


def test_a_tag_that_was_not_trained_is_refused_with_those_that_were(
    run: RunFolder, tagged: RunFolder, tmp_path: Path
) -> None:
    with pytest.raises(
        ConfigError, match=r'^translate\.tag = "old": no such tag; choose "news" or "bt", or remove it$'
    ):
        translated(tagged, tmp_path, TEXT, config_of(tagged, tag="old"))
    with pytest.raises(ConfigError, match=r'^translate\.tag = "bt": the vocabulary has no tags'):
        translated(run, tmp_path, TEXT, config_of(run, tag="bt"))
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_the_text_is_not_replaced_by_its_translation(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(TEXT)
    (tmp_path / "link").symlink_to(tmp_path / "in")
    for output in (tmp_path / "in", tmp_path / "link"):
        with pytest.raises(DataError, match="would be lost; name another one"):
            translate(run, config_of(run), Log(), source=tmp_path / "in", output=output)
    assert (tmp_path / "in").read_bytes() == TEXT


@pytest.mark.parametrize("chunk", [1, 2, 4, 5, 6])
def test_chunks_change_nothing(run: RunFolder, tmp_path: Path, expected: bytes, chunk: int) -> None:
    assert translated(run, tmp_path, TEXT, config_of(run, chunk_lines=chunk)) == expected


def test_gzip_to_standard_output(
    run: RunFolder, tmp_path: Path, expected: bytes, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "in.gz").write_bytes(gzip.compress(TEXT))
    translate(run, config_of(run), Log(), source=tmp_path / "in.gz")
    captured = capsysbinary.readouterr()
    assert captured.out == expected
    assert b"5 lines (2 blank, 0 cut)" in captured.err
    assert b"lines/s" in captured.err
    assert b"pieces/s" in captured.err


@pytest.mark.parametrize("end", PACKERS)
def test_packed_files_and_packed_standard_input(
    run: RunFolder, tmp_path: Path, expected: bytes, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = PACKERS[end](TEXT)
    assert translated(run, tmp_path, packed) == expected
    monkeypatch.setattr(sys, "stdin", Stream(io.BytesIO(packed)))
    translate(run, config_of(run), Log(), output=tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == expected


def test_damaged_standard_input_is_told(run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stream(io.BytesIO(PACKERS[".gz"](TEXT)[:-10])))
    with pytest.raises(
        DataError, match=r"^standard input is a damaged gzip file \(it ends too early\); fetch or compress"
    ):
        translate(run, config_of(run), Log(), output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_segments_of_a_test_set(run: RunFolder, tmp_path: Path, expected: bytes) -> None:
    (tmp_path / "test.sgm").write_bytes(sgm_of(LINES))
    translate(run, config_of(run), Log(), source=tmp_path / "test.sgm", output=tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == expected


def test_the_last_line_needs_no_line_feed_and_nothing_is_answered_by_nothing(
    run: RunFolder, tmp_path: Path, expected: bytes
) -> None:
    assert translated(run, tmp_path, TEXT.removesuffix(b"\n")) == expected
    assert translated(run, tmp_path, b"") == b""
    assert translated(run, tmp_path, b"\n") == b"\n"
    assert translated(run, tmp_path, b"\n\n\n") == b"\n\n\n"


def test_byte_order_mark_and_carriage_returns(run: RunFolder, tmp_path: Path, expected: bytes) -> None:
    assert translated(run, tmp_path, b"\xef\xbb\xbf" + TEXT.replace(b"\n", b"\r\n")) == expected


def test_separators_within_a_line_end_no_line(run: RunFolder, tmp_path: Path) -> None:
    content = "the dog\u2028sees\va bird\fto\x85day\rhere\x1c.\na painter .\n".encode()
    assert translated(run, tmp_path, content).count(b"\n") == 2


def test_bad_bytes_are_answered_counted_and_named(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = translated(run, tmp_path, b"a dog\nthe \xff\xfe bird\na fox\n")
    assert answer.count(b"\n") == 3
    assert "warning: bytes that are not UTF-8, turned into U+FFFD: 2 in 1 line (first in line 2)" in (
        capsys.readouterr().err
    )


def test_long_lines_are_answered_counted_and_named(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = b"a dog\n" + b"the small bird finds a baker today . " * 20 + b"\na fox\n"
    assert translated(run, tmp_path, content, config_of(run, max_pieces=30)).count(b"\n") == 3
    error = capsys.readouterr().err
    assert "more than translate.max_pieces pieces, translated in parts: 1 line (first line 2)" in error
    assert "3 lines (0 blank, 1 cut) in " in error


def test_lines_whose_numbers_change_are_counted(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    translated(run, tmp_path, b"a dog\n7 dogs\n\n8 birds\n")
    assert "numbers not as in the line: 2 lines (first line 2)" in capsys.readouterr().err


def test_strict_fails_behind_the_last_line(run: RunFolder, tmp_path: Path) -> None:
    """The random weights of this run put no end to what they write."""
    assert translated(run, tmp_path, b"\n \n", strict=True) == b"\n\n"
    with pytest.raises(DataError, match="--strict: 0 lines cut, 2 ended by the length limit, 1 not UTF-8") as refused:
        translated(run, tmp_path, b"a dog\n\xff\n", strict=True)
    assert refused.value.exit_code == 1
    assert (tmp_path / "out").read_bytes().count(b"\n") == 2
    with pytest.raises(DataError, match="--strict: 1 line cut, 1 ended"):
        translated(run, tmp_path, b"a dog sees a bird .\n", config_of(run, max_pieces=3), strict=True)
    assert (tmp_path / "out").read_bytes().count(b"\n") == 1


def test_what_strict_counts_too(run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match="0 ended by the length limit, 0 not UTF-8, 1 control character removed"):
        translated(run, tmp_path, b"\n\0\n", strict=True)
    assert "warning: control characters removed: 1 (first in line 2)" in capsys.readouterr().err
    short = config_of(run, {"max_length_ratio": 0.0, "max_length_extra": 1})
    with pytest.raises(DataError, match="--strict: 0 lines cut, 1 ended by the length limit"):
        translated(run, tmp_path, b"\na dog\n", short, strict=True)
    said = capsys.readouterr().err
    assert "the translation goes round in circles: 1 line (first line 2); translate.search.max_length_ratio" in said


def test_a_list_of_one_is_a_list(run: RunFolder, tmp_path: Path, expected: bytes) -> None:
    listed = translated(run, tmp_path, TEXT, form="list").decode().removesuffix("\n").split("\n")
    rows = [row.split("\t") for row in listed]
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5"]
    assert [row[2] for row in rows] == expected.decode().removesuffix("\n").split("\n")


def test_an_input_that_does_not_block_is_waited_for() -> None:
    read, write = os.pipe()
    os.set_blocking(read, False)
    code = (
        "from nmtkit.commands.translate import standard_input; print('reading', flush=True); "
        "print(list(standard_input()))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=read, stdout=subprocess.PIPE) as process:
        os.close(read)
        assert process.stdout is not None
        assert process.stdout.readline() == b"reading\n"
        time.sleep(0.3)
        os.write(write, b"one\n")
        time.sleep(0.2)
        os.write(write, b"two\n")
        os.close(write)
        out, _ = process.communicate(timeout=60)
    assert out == b"[b'one', b'two']\n"


def test_scores_and_n_best(run: RunFolder, tmp_path: Path, expected: bytes) -> None:
    scored = translated(run, tmp_path, TEXT, form="scores").decode().removesuffix("\n").split("\n")
    assert [row.split("\t")[1] for row in scored] == expected.decode().removesuffix("\n").split("\n")
    listed = translated(run, tmp_path, TEXT, config_of(run, {"beam": 3, "n_best": 3})).decode()
    rows = [row.split("\t") for row in listed.removesuffix("\n").split("\n")]
    assert [int(number) for number, _, _ in rows] == [1, 1, 1, 2, 3, 3, 3, 4, 5, 5, 5]
    assert rows[3] == ["2", "0.000000", ""]
    for number in (1, 3, 5):
        own = [float(score) for line, score, _ in rows if int(line) == number]
        assert own == sorted(own, reverse=True)
        assert all(score < 0 for score in own)


def test_a_line_is_answered_before_the_input_ends(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, expected: bytes
) -> None:
    (in_read, in_write), (out_read, out_write) = os.pipe(), os.pipe()
    monkeypatch.setattr(sys, "stdin", Stream(os.fdopen(in_read, "rb")))
    monkeypatch.setattr(sys, "stdout", Stream(os.fdopen(out_write, "wb")))
    failures: list[BaseException] = []

    def work() -> None:
        try:
            translate(run, config_of(run, chunk_lines=1000), Log("quiet"))
        except BaseException as error:
            failures.append(error)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    answer = b""
    for line in LINES:
        os.write(in_write, f"{line}\n".encode())
        before = answer.count(b"\n")
        while answer.count(b"\n") == before:
            assert select.select([out_read], [], [], 60)[0], f"no answer to {line!r}"
            answer += os.read(out_read, 1 << 16)
        assert answer.count(b"\n") == before + 1
    os.close(in_write)
    worker.join(60)
    assert not worker.is_alive()
    assert failures == []
    assert answer == expected
    sys.stdout.buffer.close()
    sys.stdin.buffer.close()
    os.close(out_read)


def test_standard_input_that_is_no_real_file(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, expected: bytes, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT)))
    translate(run, config_of(run), Log("quiet"))
    captured = capsysbinary.readouterr()
    assert captured.out == expected
    assert captured.err.startswith(b"warning: ended by the length limit")
    assert captured.err.count(b"\n") == 1


def test_a_person_at_the_terminal_is_told_what_is_waited_for(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for terminal in (True, False):
        (tmp_path / "typed").write_bytes(b"a dog\n")
        with (tmp_path / "typed").open("rb") as typed:
            monkeypatch.setattr(sys, "stdin", Stream(typed, terminal=terminal))
            translate(run, config_of(run), Log(), output=tmp_path / "out")
        assert ("end it with Ctrl-D" in capsys.readouterr().err) == terminal


@pytest.mark.parametrize(("name", "output"), [("stdin", "out"), ("stdout", None)])
def test_a_closed_stream_is_named(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, output: str | None
) -> None:
    """As the shell's `<&-` and `>&-` leave them."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT)))
    monkeypatch.setattr(sys, name, None)
    with pytest.raises(DataError, match=r"standard (input|output) is closed"):
        translate(run, config_of(run), Log("quiet"), output=None if output is None else tmp_path / output)


def test_a_closed_output_ends_quietly(run: RunFolder, tmp_path: Path) -> None:
    """As under `head`: no traceback, nothing but progress on stderr, and the exit code of SIGPIPE."""
    (tmp_path / "in").write_bytes(TEXT * 50)
    command = [sys.executable, "-m", "nmtkit", "translate", "--quiet", "--run", str(run), str(tmp_path / "in")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def test_what_cannot_be_read_or_written_is_told_before_the_model_is_loaded(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Translator:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(Translator, "open", fail)
    (tmp_path / "in").write_bytes(TEXT)
    (tmp_path / "wrong.gz").write_bytes(TEXT)
    config = config_of(run)
    for source, message in (("absent", "absent does not exist"), ("", "is a folder"), ("wrong.gz", "is no gzip file")):
        with pytest.raises(DataError, match=message):
            translate(run, config, Log(), source=tmp_path / source)
    with pytest.raises(DataError, match="is a folder; give the name of a file in it"):
        translate(run, config, Log(), source=tmp_path / "in", output=tmp_path)
    with pytest.raises(DataError, match="cannot be written"):
        translate(run, config, Log(), source=tmp_path / "in", output=tmp_path / "in" / "out")
    with pytest.raises(ConfigError, match="device"):
        translate(run, config, Log(), source=tmp_path / "in", device="gpu")


def test_an_error_in_the_middle_leaves_the_old_output(run: RunFolder, tmp_path: Path) -> None:
    packed = gzip.compress(b"a dog .\n" * 5000)
    (tmp_path / "in.gz").write_bytes(packed[: len(packed) - 12])
    (tmp_path / "out").write_bytes(b"what was there\n")
    short = config_of(run, {"max_length_ratio": 0.0, "max_length_extra": 1}, chunk_lines=500, batch_tokens=20_000)
    with pytest.raises(DataError, match="damaged gzip file"):
        translate(run, short, Log(), source=tmp_path / "in.gz", output=tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"what was there\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.gz", "out"]


def test_output_may_be_a_device(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(TEXT)
    translate(run, config_of(run), Log(), source=tmp_path / "in", output=Path(os.devnull))
    assert not Path(os.devnull).is_file()


def test_a_reader_that_waits_does_not_disturb_the_end_and_torch_is_not_needed_to_read() -> None:
    program = (
        "import sys; from nmtkit.commands.translate import _lines; from nmtkit.translation.arrivals import Arrivals\n"
        "from nmtkit.corpus.lines import LineCounts\n"
        "print(next(iter(Arrivals(_lines(None, LineCounts()), 10, grace=0.01))), 'torch' in sys.modules)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdin.write(b"one\n")
        process.stdin.flush()
        # The input stays open while the program ends.
        assert process.stdout.read() == b"['one'] False\n"
        assert process.stderr.read() == b""
        assert process.wait(60) == 0
