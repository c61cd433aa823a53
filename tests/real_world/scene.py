"""Scene: a project in the working directory, with what is broken in it and what must be found afterwards."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from toy.disk import Disk
from toy.projects import Project

from nmtkit.data.manifest import load_manifest
from nmtkit.run_folder import RunFolder
from nmtkit.training.tensor_folder import read_json, rewrite_state

Files = dict[str, bytes | None]
"""Content by name, seen from the project's folder; None for a folder."""
Break = Callable[["Scene"], object]
Nmt = Callable[..., tuple[int, str, str]]
"""Runs a command line, words apart by spaces, and returns exit code, stdout and stderr."""

TOUCHED = {"run/run.lock", "run/train.log"}
"""What a command that fails may leave behind beside what it found."""
UNFINISHED = "run/data/.unfinished"
"""What a preparation that fails leaves for the next one, which alone looks there."""


class Scene(NamedTuple):
    """A project, copied for one test, and the disk under it."""

    project: Project
    disk: Disk

    @property
    def folder(self) -> Path:
        """The folder of everything, which is the working directory."""
        return self.project.folder

    @property
    def run(self) -> RunFolder:
        """The run folder."""
        return self.project.run

    def path(self, name: str) -> Path:
        """Return the path of a file; "newest/" stands for the newest checkpoint."""
        return self.folder / name.replace("newest/", "run/checkpoints/00000008/")

    def files(self) -> Files:
        """Return everything there is."""
        paths = sorted(self.folder.rglob("*"))
        return {str(path.relative_to(self.folder)): None if path.is_dir() else self.disk.read(path) for path in paths}

    def mend(self, files: Files, broken: Files) -> None:
        """Make the disk whole again and everything as it was before it was broken; leave what came since as it is."""
        self.disk.repair()
        for path in list(self.folder.rglob("*.away")):
            path.rename(path.with_suffix(""))
        for name, content in files.items():
            path = self.folder / name
            if content is None:
                path.mkdir(exist_ok=True)
            elif not path.is_file() or path.read_bytes() != content:
                if path.is_dir():
                    path.rmdir()
                path.write_bytes(content)
        for name in [name for name, content in broken.items() if name not in files and content is not None]:
            (self.folder / name).unlink(missing_ok=True)


def check_message(code: int, out: str, err: str) -> None:
    """See that a failure said what is wrong, on stderr, in lines of its own, and nothing else anywhere."""
    assert "Traceback" not in err
    assert "internal error" not in err
    if code:
        assert out == ""
        assert "nmtkit: error: " in err
        last = err.split("\n")[-2]
        assert last.startswith("nmtkit: error: ")


def check_nothing_half_written(scene: Scene, before: Files) -> None:
    """See that a command that failed left nothing that a later step would take for whole."""
    after = scene.files()
    assert not [name for name in after if name.endswith(".tmp") and name not in before]
    changed = {name for name in before.keys() | after.keys() if before.get(name, b"") != after.get(name, b"")}
    changed -= {name for name in changed if after.get(name, b"") is None}  # folders
    if "run/data/manifest.json" in changed:
        assert not load_manifest(scene.run.manifest).fingerprint  # train refuses it
        changed = {name for name in changed if not name.startswith("run/data/")} - check_reports(scene, changed)
    changed = {name for name in changed if not name.startswith(f"{UNFINISHED}/")}
    assert changed <= TOUCHED, changed


def check_reports(scene: Scene, changed: set[str]) -> set[str]:
    """See that reports that came before the last manifest are whole, and return their names."""
    reports = changed & {"run/prepare.json", "run/report.html"}
    for name in reports:
        content = scene.disk.read(scene.path(name))
        if name.endswith(".json"):
            assert json.loads(content)["fingerprint"]
        else:
            assert content.endswith(b"</html>\n")
    return reports


def check_training_refuses(nmt: Nmt, settings: str = "") -> None:
    """See that training does not take what a preparation with some settings left for whole."""
    code, out, err = nmt(f"train{settings}")
    check_message(code, out, err)
    assert code == 1
    unfinished = "nmtkit: error: run/data holds no data prepared to the end; run `nmtkit prepare` for this run folder\n"
    assert err == unfinished or (settings and "nmtkit: error: run/data was prepared with other settings:\n" in err), err


# What is broken. Each function returns what breaks a scene.


def appended(content: bytes, *names: str) -> Break:
    """Add bytes to the end of files."""

    def breaking(scene: Scene) -> None:
        for name in names:
            scene.path(name).write_bytes(scene.path(name).read_bytes() + content)

    return breaking


def holding(content: bytes, *names: str) -> Break:
    """Put bytes into files, whatever was in them."""
    return lambda scene: [scene.path(name).write_bytes(content) for name in names]


def missing(*names: str) -> Break:
    """Remove files."""
    return lambda scene: [scene.path(name).unlink() for name in names]


def halved(*names: str) -> Break:
    """Cut files in half."""

    def breaking(scene: Scene) -> None:
        for name in names:
            content = scene.path(name).read_bytes()
            scene.path(name).write_bytes(content[: len(content) // 2])

    return breaking


def changed(old: bytes, new: bytes, *names: str) -> Break:
    """Put other bytes in the place of some, wherever they stand."""
    return lambda scene: [
        scene.path(name).write_bytes(scene.path(name).read_bytes().replace(old, new)) for name in names
    ]


def of_other_origin(key: str, *checkpoints: str) -> Break:
    """Let checkpoints say that they come from something else."""

    def retell(scene: "Scene") -> None:
        for folder in map(scene.path, checkpoints):
            rewrite_state(folder, {"origin": {**read_json(folder)["origin"], key: "another"}})

    return retell


def moved_away(name: str) -> Break:
    """Give a file or folder another name."""
    return lambda scene: scene.path(name).rename(scene.path(f"{name}.away"))


def together(*breaks: Break) -> Break:
    """Break several things."""
    return lambda scene: [broken(scene) for broken in breaks]


def a_folder(name: str) -> Break:
    """Put a folder in the place of a file."""

    def breaking(scene: Scene) -> None:
        scene.path(name).unlink(missing_ok=True)
        scene.path(name).mkdir()

    return breaking


def denied(name: str) -> Break:
    """Make a file unreadable for want of permission."""
    return lambda scene: scene.disk.deny(name)


def failing(name: str) -> Break:
    """Make a file unreadable because the disk under it fails."""
    return lambda scene: scene.disk.fail_to_read(name)


def failing_later(name: str) -> Break:
    """The same, but the disk fails behind the first look at the file."""
    return lambda scene: scene.disk.fail_to_read(name, spared=1)


def full(name: str) -> Break:
    """Leave no room for a file."""
    return lambda scene: scene.disk.fill(name)


def whole(scene: Scene) -> None:
    """Break nothing: the command line itself is what is wrong."""
