"""Checks on the repository itself: what every file must and must not hold."""

import ast
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import nmtkit

ROOT = Path(__file__).resolve().parent.parent
BINARY = {".png", ".gz", ".safetensors", ".model", ".bin"}

MODULES = sorted((ROOT / "nmtkit").rglob("*.py"))
LONGEST_MODULE = 300
LONGER_MODULES: dict[str, str] = {}
"""Modules that may be longer, each with its reason."""

# Written in pieces, so that this file does not hold what it looks for.
MACHINE_PATH = re.compile(r"(?<![\w./:~-])/(?:" + "|".join(["root", "home", "Users", "work", "mnt", "opt"]) + r")/\w")
REGISTRIES = [
    ".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("deb", "debian"))
]


def repository_files() -> list[Path]:
    """Return the files that are, or will be, under version control."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    listed = subprocess.run(
        [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    names = listed.stdout.decode().split("\0")
    return [path for name in names if name and (path := ROOT / name).is_file()]


def texts() -> list[tuple[str, str]]:
    return [
        (str(path.relative_to(ROOT)), path.read_bytes().decode("utf-8"))
        for path in repository_files()
        if path.suffix not in BINARY
    ]


def test_line_ends_and_tabs():
    problems = []
    for name, text in texts():
        if "\r" in text:
            problems.append(f"{name}: carriage return")
        if text and not text.endswith("\n"):
            problems.append(f"{name}: no line feed at the end")
        if "\t" in text:
            problems.append(f"{name}: tab")
        if name.endswith((".py", ".toml", ".sh")) and re.search(r"[ \t]$", text, flags=re.MULTILINE):
            problems.append(f"{name}: white space at the end of a line")
    assert not problems


def test_no_paths_of_a_machine():
    found = [f"{name}: {match.group()}" for name, text in texts() for match in MACHINE_PATH.finditer(text)]
    assert not found


def test_no_hosts_of_package_registries():
    found = [f"{name}: {host}" for name, text in texts() for host in REGISTRIES if host in text]
    assert not found


def test_scripts_can_be_run():
    scripts = [path for path in repository_files() if path.suffix not in BINARY and path.read_bytes()[:2] == b"#!"]
    assert {"run-tests", "run"} <= {path.name for path in scripts}
    assert [path.name for path in scripts if not path.stat().st_mode & 0o111] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_says_what_it_is_and_stays_small(path):
    text = path.read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring, "a module begins with one sentence on what it is"
    name = str(path.relative_to(ROOT))
    if name not in LONGER_MODULES:
        assert text.count("\n") <= LONGEST_MODULE


def test_exceptions_are_still_needed():
    for name in LONGER_MODULES:
        assert (ROOT / name).read_text(encoding="utf-8").count("\n") > LONGEST_MODULE, name


def test_the_package_is_what_the_project_file_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert project["scripts"] == {"nmtkit": "nmtkit.__main__:main"}
    assert (ROOT / "nmtkit" / "py.typed").exists()
    assert f"## {nmtkit.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_dependency_is_imported():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {re.match(r"[\w-]+", requirement).group().replace("-", "_") for requirement in project["dependencies"]}
    named = {{"backports_zstd": "backports"}.get(name, name) for name in named}
    imported = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.split(".")[0])
    assert named - imported == set(), "a dependency that no module imports"
    assert {"torch", "numpy", "typer", "pydantic"} <= imported


def copied(folder: Path) -> Path:
    """Copy the repository without what building, testing and running left in it."""
    for path in repository_files():
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    return folder


def build(kind: str, tree: Path, output: Path) -> Path:
    """Build a wheel or an sdist as pip does, with the setuptools that is installed; return its path."""
    program = f"import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, output], cwd=tree, capture_output=True, check=True)
    return next(path for path in output.iterdir() if path.name.endswith({"wheel": ".whl", "sdist": ".tar.gz"}[kind]))


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else_and_runs(tmp_path):
    wheel = build("wheel", copied(tmp_path / "tree"), tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "unpacked")
    package = {name for name in names if name.startswith("nmtkit/")}
    files = [*(ROOT / "nmtkit" / "sample").glob("*.txt"), *(ROOT / "nmtkit" / "kernels").glob("*.[ch]*")]
    data = {str(path.relative_to(ROOT)) for path in files}
    assert package == {str(path.relative_to(ROOT)) for path in MODULES} | {"nmtkit/py.typed"} | data
    rest = {name.split("/", 1)[1] for name in names - package}
    assert rest == {"licenses/LICENSE", "METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt"}
    version = subprocess.run(
        [sys.executable, "-m", "nmtkit", "--version"],
        cwd=tmp_path / "unpacked",
        capture_output=True,
        text=True,
        check=True,
    )
    assert version.stdout == f"nmtkit {nmtkit.__version__}\n"


@pytest.mark.slow
def test_the_source_archive_holds_the_repository(tmp_path):
    archive = build("sdist", copied(tmp_path / "tree"), tmp_path)
    with tarfile.open(archive) as file:
        names = {name.split("/", 1)[1] for name in file.getnames() if "/" in name}
    needed = {str(path.relative_to(ROOT)) for path in repository_files()} - {".gitignore", ".ci/run"}
    assert needed - names == set()
