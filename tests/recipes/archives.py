"""Archives and manifests of them, for tests."""

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def pack(path: Path, members: Mapping[str, bytes]) -> Path:
    """Write a tar archive (packed where the name says so), or a zip archive, or a gzip file of the only member."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
    elif path.suffix == ".gz":
        (content,) = members.values()
        path.write_bytes(gzip.compress(content, mtime=0))
    else:
        with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as archive:
            for name, content in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def as_copy(path: Path, at: str, mirrors: str = "mirror") -> dict[str, Any]:
    """Return what a manifest says of a file."""
    content = path.read_bytes()
    return {"path": at, "mirrors": mirrors, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def write_manifest(path: Path, mirrors: list[str], *items: dict[str, Any]) -> Path:
    """Write a manifest with one list of mirrors."""
    variables = {"data": "TOY_DATA", "mirror": "TOY_MIRROR"}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"variables": variables, "mirrors": {"mirror": mirrors}, "items": list(items)}))
    return path
