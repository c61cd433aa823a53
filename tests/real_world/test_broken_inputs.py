"""Every broken input of every command: exit code, message, nothing half-written, and the same command once mended."""

from collections.abc import Callable

import pytest

from real_world.rows import ROWS, Row
from real_world.scene import Nmt, Scene, check_message, check_nothing_half_written


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.command}: {row.name}" for row in ROWS])
def test_a_broken_input(row: Row, scene: Callable[[str], Scene], nmt: Nmt) -> None:
    here = scene(row.stage)
    sound = here.files()
    row.broken(here)
    before = here.files()
    code, out, err = nmt(row.command)
    check_message(code, out, err)
    for words in row.says:
        assert words in err
    assert code == row.code
    check_nothing_half_written(here, before)
    if row.mended:
        here.disk.repair()
        assert nmt(row.mended)[0] == 0
    else:
        here.mend(sound, before)
    code, _, err = nmt(row.then or row.command)
    assert code == 0, err
    assert not [name for name in here.files() if name.endswith(".tmp")]
