"""The files of the Multi30k recipe: the real ones pass, as given and as downloaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from recipe_parts.manifest import read_manifest

from recipes.mirrors import serving

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "recipes" / "multi30k-en-de" / "files.json"
SHARED_DATA = Path(os.environ.get("NMTKIT_SHARED_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="module")
def shared_multi30k() -> Path:
    folder = SHARED_DATA / "multi30k"
    if not folder.is_dir():
        pytest.skip("needs the Multi30k files in ../shared/data or where NMTKIT_SHARED_DATA says")
    return folder


def run_fetch(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MULTI30K_")}
    command = [sys.executable, ROOT / "recipes" / "fetch", MANIFEST, *arguments]
    return subprocess.run(command, env={**kept, **variables}, capture_output=True, text=True, check=False)


def test_the_real_files_pass(shared_multi30k, tmp_path):
    into = ("--into", tmp_path / "made")
    for done in (
        run_fetch(*into, "--data", shared_multi30k),
        run_fetch(*into, MULTI30K_DATA=str(shared_multi30k)),
    ):
        assert (done.returncode, done.stdout) == (0, f"{shared_multi30k.resolve()}\n"), done.stderr
    done = run_fetch(*into, "--data", tmp_path, MULTI30K_DATA=str(shared_multi30k))
    assert (done.returncode, done.stdout) == (1, "")
    assert "train.en.gz is missing" in done.stderr


def test_the_real_files_can_be_downloaded(shared_multi30k, tmp_path):
    with serving(shared_multi30k) as mirror:
        done = run_fetch("--into", tmp_path / "made", MULTI30K_MIRROR=f"{mirror.address}/")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'made'}\n"), done.stderr
    manifest = read_manifest(MANIFEST)
    assert len(mirror.asked) == len(manifest.items) == 10
    assert all((tmp_path / "made" / name).is_file() for name in manifest.texts)
