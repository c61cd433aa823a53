from pathlib import Path

import pytest

from nmtkit.corpus.reader import ParallelText, locate
from nmtkit.corpus.settings import CorpusConfig, LanguagesConfig, ParallelFiles
from nmtkit.errors import ConfigError, DataError

LANGUAGES = LanguagesConfig(source="en", target="de")


def touch(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(f"{name}\n".encode())


def located(folder: Path, corpus_folder: str = "", **files: object) -> ParallelText:
    return locate(folder, CorpusConfig(folder=corpus_folder), ParallelFiles(name="x", **files), LANGUAGES)


def names(text: ParallelText, folder: Path) -> list[list[str]]:
    return [[str(file.path.relative_to(folder)) for file in part.files] for part in text.parts]


def test_a_pattern_stands_for_the_files_it_matches_in_the_order_of_their_names(tmp_path: Path) -> None:
    touch(tmp_path, *(f"part{part}.{side}.gz" for part in (10, 2, 1) for side in ("en", "de")), ".part0.en.gz")
    text = located(tmp_path, source="part*.en.gz", target="part*.de.gz")
    assert names(text, tmp_path) == [[f"part{part}.en.gz", f"part{part}.de.gz"] for part in (1, 10, 2)]
    assert (text.source_name, text.target_name) == (
        f"{tmp_path}/part1.en.gz and 2 more",
        f"{tmp_path}/part1.de.gz and 2 more",
    )
    assert [name for name, _ in text.named_files()] == [
        f"{side} {part}" for part in (1, 2, 3) for side in ("source", "target")
    ]
    assert names(located(tmp_path, tsv="part?.en.*"), tmp_path) == [["part1.en.gz"], ["part2.en.gz"]]
    assert names(located(tmp_path, tmx="part[!1]*.en.gz"), tmp_path) == [["part2.en.gz"]]


def test_files_pair_up_by_what_the_wildcards_stand_for(tmp_path: Path) -> None:
    touch(tmp_path, "en/a", "en/a-b", "en/deep/er/c", "de/a.de", "de/a-b.de", "de/deep/er/c.de")
    assert names(located(tmp_path, source="en/**/*", target="de/**/*.de"), tmp_path) == [
        ["en/a", "de/a.de"],
        ["en/a-b", "de/a-b.de"],
        ["en/deep/er/c", "de/deep/er/c.de"],
    ]
    # Sorted by themselves, a-b.de would come before a.de.
    assert names(located(tmp_path, source="en/a*", target="de/a*.de"), tmp_path) == [
        ["en/a", "de/a.de"],
        ["en/a-b", "de/a-b.de"],
    ]
    (tmp_path / "de/a.de").unlink()
    touch(tmp_path, "de/az.de")
    with pytest.raises(DataError, match=r"corpus 'x': .*en/a has no counterpart on the other side; add it, or list"):
        located(tmp_path, source="en/a*", target="de/a*.de")
    touch(tmp_path, "de/a.de")
    with pytest.raises(DataError, match=r"corpus 'x': .*de/az.de has no counterpart on the other side; add it, or"):
        located(tmp_path, source="en/a*", target="de/a*.de")


def test_lists_keep_their_order_and_may_hold_patterns(tmp_path: Path) -> None:
    touch(tmp_path, "b.en", "a.en", "one.de", "two.de", "c1.en", "c2.en", "c1.de", "c2.de")
    text = located(tmp_path, source=["b.en", "a.en", "c?.en"], target=["one.de", "two.de", "c?.de"])
    assert names(text, tmp_path) == [["b.en", "one.de"], ["a.en", "two.de"], ["c1.en", "c1.de"], ["c2.en", "c2.de"]]
    with pytest.raises(
        DataError, match=r"corpus 'x': 2 source files \(b.en to a.en\) but 1 target file \(one.de\); they"
    ):
        located(tmp_path, source=["b.en", "a.en"], target="one.de")


def test_a_file_that_has_the_very_name_is_meant(tmp_path: Path) -> None:
    touch(tmp_path, "a[1].tsv", "a1.tsv", "set [2]/a1.tsv", "set [2]/a2.tsv")
    assert names(located(tmp_path, tsv="a[1].tsv"), tmp_path) == [["a[1].tsv"]]
    # Only what the file itself is called is a pattern, not the folder it lies in.
    assert names(located(tmp_path, "set [2]", tsv="a*.tsv"), tmp_path) == [["set [2]/a1.tsv"], ["set [2]/a2.tsv"]]
    (tmp_path / "a[1].tsv").unlink()
    assert names(located(tmp_path, tsv="a[1].tsv"), tmp_path) == [["a1.tsv"]]
    assert names(located(Path("elsewhere"), tsv=f"{tmp_path}/a?.tsv"), tmp_path) == [["a1.tsv"]]


def test_a_pattern_that_matches_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"corpus 'x': no file matches .*gone\*.tsv; check the pattern, and that corpus"
    ):
        located(tmp_path, tsv="gone*.tsv")
    with pytest.raises(DataError, match="no file matches"):
        located(tmp_path, tsv="*" + "x" * 300)
    with pytest.raises(ConfigError, match="there is no home folder of that user"):
        located(tmp_path, tsv="~no such user/*.tsv")


def test_languages_of_a_memory_are_those_of_the_configuration_unless_given(tmp_path: Path) -> None:
    touch(tmp_path, "a.tmx")
    (part,) = located(tmp_path, tmx="a.tmx").parts
    assert part.codes == ("en", "de")
    (part,) = located(tmp_path, tmx="a.tmx", codes=["en-GB", "de-AT"]).parts
    assert part.codes == ("en-GB", "de-AT")
    with pytest.raises(ConfigError, match="corpus 'x': 'en' is source and target; give two languages as `codes`"):
        locate(
            tmp_path,
            CorpusConfig(),
            ParallelFiles(name="x", tmx="a.tmx"),
            LanguagesConfig(source="en", target="en"),
        )
