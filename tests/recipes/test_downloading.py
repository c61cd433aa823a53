"""Downloads against mirrors that break off, hang, refuse, lie or are not there."""

import hashlib
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recipe_parts.checking import check_copy
from recipe_parts.downloading import Patience, Wish, download, part_of
from recipe_parts.manifest import Copy
from recipe_parts.saying import RecipeError

from recipes.mirrors import Fault, Mirror, nobody, serving

CONTENT = bytes(range(256)) * 40
COPY = Copy("wmt/a.tgz", bytes=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())
HASTE = Patience(timeout=0.1, attempts=2, pause=0.0)


@pytest.fixture
def mirror(tmp_path):
    (tmp_path / "mirror" / "wmt").mkdir(parents=True)
    (tmp_path / "mirror" / "wmt" / "a.tgz").write_bytes(CONTENT)
    with serving(tmp_path / "mirror") as served:
        yield served


@pytest.fixture
def other(tmp_path, mirror):
    """Another mirror of the same folder."""
    with serving(mirror.folder) as served:
        yield served


@pytest.fixture
def place(tmp_path) -> Path:
    return tmp_path / "downloads" / "a.tgz"


def fetch(place: Path, *mirrors: Mirror | str, copy: Copy = COPY, patience: Patience = HASTE) -> str:
    addresses = [f"{each if isinstance(each, str) else each.address}/{copy.path}" for each in mirrors]
    wish = Wish(copy, lambda path: check_copy(path, copy), "get it by other means")
    return download(wish, addresses, place, patience)


def is_whole(place: Path) -> bool:
    """Tell whether the file is there and right, and nothing else."""
    return place.read_bytes() == CONTENT and [path.name for path in place.parent.iterdir()] == [place.name]


def test_a_file_comes_whole(mirror, place):
    assert fetch(place, mirror) == f"{mirror.address}/wmt/a.tgz"
    assert is_whole(place)
    assert mirror.asked == [("wmt/a.tgz", 0)]


def test_a_folder_can_be_a_mirror(mirror, place):
    assert fetch(place, mirror.folder.as_uri()).startswith("file://")
    assert is_whole(place)


def test_what_broke_off_is_gone_on_from(mirror, place):
    mirror.faults["wmt/a.tgz"] = [Fault("cut", 4_000), Fault("cut", 3_000)]
    fetch(place, mirror)
    assert is_whole(place)
    assert [begin for _, begin in mirror.asked] == [0, 4_000, 7_000]


def test_progress_gives_new_attempts(mirror, place):
    mirror.faults["wmt/a.tgz"] = [Fault("cut", 1_000)] * 9
    fetch(place, mirror)
    assert is_whole(place)
    assert [begin for _, begin in mirror.asked] == list(range(0, 10_000, 1_000))


def test_a_mirror_without_ranges_sends_all_again(mirror, place):
    mirror.ranges = False
    mirror.faults["wmt/a.tgz"] = [Fault("cut", 4_000)]
    fetch(place, mirror)
    assert is_whole(place)


def test_a_mirror_that_always_breaks_off_at_one_place_is_given_up(mirror, other, place):
    mirror.ranges = False
    mirror.always["wmt/a.tgz"] = Fault("cut", 4_000)
    assert fetch(place, mirror, other) == f"{other.address}/wmt/a.tgz"
    assert is_whole(place)
    assert len(mirror.asked) == 3
    assert other.asked == [("wmt/a.tgz", 4_000)]


def test_a_broken_off_answer_is_gone_on_from_at_the_next_mirror(mirror, other, place):
    mirror.faults["wmt/a.tgz"] = [Fault("cut", 4_000), Fault("status", 503), Fault("status", 503)]
    fetch(place, mirror, other)
    assert is_whole(place)
    assert other.asked == [("wmt/a.tgz", 4_000)]


LASTING = {
    "not found": (Fault("status", 404), "answers 404"),
    "forbidden": (Fault("status", 403), "answers 403"),
    "a page": (Fault("page"), r"has 41 bytes of text/html where there should be 10,240"),
    "a wrong byte": (Fault("flip", 5), "is damaged or another file: its SHA256 is"),
}


@pytest.mark.parametrize(("fault", "why"), LASTING.values(), ids=LASTING.keys())
def test_what_another_attempt_does_not_change_is_not_tried_again(mirror, other, place, fault, why, capsys):
    mirror.always["wmt/a.tgz"] = fault
    fetch(place, mirror, other)
    assert is_whole(place)
    assert (len(mirror.asked), len(other.asked)) == (1, 1)
    assert re.search(why, capsys.readouterr().err)


PASSING = {
    "busy": Fault("status", 503),
    "cut before the first byte": Fault("cut", 0),
    "hanging": Fault("hang"),
    "stalling": Fault("stall", 100),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_what_may_pass_is_tried_again(mirror, place, fault):
    mirror.faults["wmt/a.tgz"] = [fault]
    fetch(place, mirror)
    assert is_whole(place)
    assert len(mirror.asked) == 2


@pytest.mark.parametrize(
    "fault", [Fault("hang"), Fault("status", 503), Fault("stall", 9)], ids=["hanging", "busy", "stalling"]
)
def test_a_mirror_that_stays_away_is_given_up(mirror, other, place, fault):
    mirror.always["wmt/a.tgz"] = fault
    fetch(place, mirror, other)
    assert is_whole(place)
    assert len(mirror.asked) == HASTE.attempts


def test_a_dead_mirror_is_passed_over_at_once(mirror, place, capsys):
    fetch(place, nobody(), mirror, patience=Patience(pause=60.0))
    assert is_whole(place)
    assert "does not answer" in capsys.readouterr().err


def test_where_no_mirror_has_it_all_are_named_with_the_remedy(mirror, other, place):
    mirror.always["wmt/a.tgz"] = Fault("status", 404)
    other.always["wmt/a.tgz"] = Fault("flip", 1)
    with pytest.raises(RecipeError) as caught:
        fetch(place, mirror, other)
    said = str(caught.value)
    for part in ("a.tgz cannot be fetched", f"{mirror.address}/wmt/a.tgz: answers 404", other.address, "is damaged"):
        assert part in said
    assert said.endswith("get it by other means")
    assert list(place.parent.iterdir()) == []


def test_an_earlier_call_is_gone_on_from(mirror, place):
    place.parent.mkdir()
    part_of(place).write_bytes(CONTENT[:6_000])
    fetch(place, mirror)
    assert is_whole(place)
    assert mirror.asked == [("wmt/a.tgz", 6_000)]


def test_what_an_earlier_call_got_whole_is_not_fetched_again(mirror, place):
    place.parent.mkdir()
    part_of(place).write_bytes(CONTENT)
    fetch(place, mirror)
    assert is_whole(place)
    assert mirror.asked == []


@pytest.mark.parametrize("left", [b"x" * 6_000, b"x" * len(CONTENT), b"x" * 20_000], ids=["shorter", "equal", "longer"])
def test_what_was_left_and_does_not_go_with_it_is_fetched_again(mirror, place, left):
    place.parent.mkdir()
    part_of(place).write_bytes(left)
    fetch(place, mirror)
    assert is_whole(place)
    assert mirror.asked[-1] == ("wmt/a.tgz", 0)


def test_beyond_the_end_all_is_fetched_again(mirror, place):
    """Where nobody published a size, only the mirror can tell that too much is there."""
    place.parent.mkdir()
    part_of(place).write_bytes(b"x" * 20_000)
    fetch(place, mirror, copy=COPY._replace(bytes=0))
    assert is_whole(place)
    assert [begin for _, begin in mirror.asked] == [20_000, 0]


def test_another_range_than_was_asked_for_is_refused(mirror, other, place):
    place.parent.mkdir()
    part_of(place).write_bytes(CONTENT[:6_000])
    mirror.always["wmt/a.tgz"] = Fault("elsewhere")
    fetch(place, mirror, other)
    assert is_whole(place)
    assert (len(mirror.asked), len(other.asked)) == (1, 1)


def test_without_a_published_size_that_of_the_answer_counts(mirror, place):
    mirror.faults["wmt/a.tgz"] = [Fault("cut", 4_000)]
    fetch(place, mirror, copy=Copy("wmt/a.tgz"))
    assert is_whole(place)
    assert len(mirror.asked) == 2


def test_a_page_is_refused_where_nothing_was_published(mirror, other, place):
    mirror.always["wmt/a.tgz"] = Fault("page")
    fetch(place, mirror, other, copy=Copy("wmt/a.tgz"))
    assert is_whole(place)


def test_an_answer_that_does_not_say_how_long_it_is(mirror, place):
    mirror.faults["wmt/a.tgz"] = [Fault("vague")]
    fetch(place, mirror)
    assert is_whole(place)


def test_md5_is_checked_where_it_is_what_was_published(mirror, other, place):
    copy = Copy("wmt/a.tgz", md5=hashlib.md5(CONTENT).hexdigest())
    mirror.always["wmt/a.tgz"] = Fault("flip", 9)
    fetch(place, mirror, other, copy=copy)
    assert is_whole(place)


def test_a_full_disk_is_no_fault_of_a_mirror(mirror, other, place):
    place.parent.mkdir()
    part_of(place).symlink_to("/dev/full")
    with pytest.raises(RecipeError, match=r"a\.tgz\.part cannot be written \(No space left on device\); make room"):
        fetch(place, mirror, other, copy=Copy("wmt/a.tgz"))
    assert other.asked == []


KILLED = """
import sys
from pathlib import Path
from recipe_parts.checking import check_copy
from recipe_parts.downloading import Patience, Wish, download
from recipe_parts.manifest import Copy
copy = Copy("wmt/a.tgz", bytes={size}, sha256="{digest}")
download(Wish(copy, lambda path: check_copy(path, copy), ""), [sys.argv[1]], Path(sys.argv[2]), Patience())
"""


@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_a_call_that_was_struck_is_gone_on_from(mirror, place, end):
    mirror.faults["wmt/a.tgz"] = [Fault("slow", 100)]
    program = KILLED.format(size=COPY.bytes, digest=COPY.sha256)
    command = [sys.executable, "-c", program, f"{mirror.address}/wmt/a.tgz", place]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={"PYTHONPATH": str(recipes_folder())})
    while not mirror.asked:
        time.sleep(0.01)
    time.sleep(0.1)
    getattr(process, end)()
    assert process.wait() < 0
    assert not place.exists()
    fetch(place, mirror)
    assert is_whole(place)
    assert mirror.asked[1][1] > 0


def recipes_folder() -> Path:
    return Path(__file__).resolve().parents[2] / "recipes"
