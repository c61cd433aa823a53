"""Folders of tensors and a state.json: written whole or not at all, read with errors that name the file."""

import errno
import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from nmtkit.checksums import Checksum
from nmtkit.errors import CheckpointError, UnreadableError
from nmtkit.run_folder import sync, write_text
from nmtkit.seals import seal, unseal
from nmtkit.toml import shorten

WEIGHTS, OPTIMIZER, STATE = "weights.safetensors", "optimizer.safetensors", "state.json"

CHECKSUMS = "checksums"
"""Where state.json has the checksum of each file of tensors beside it."""

SPARE_BYTES = 16 * 2**20
"""Room that must stay free on the disk beside a new checkpoint."""


def write_folder(target: Path, files: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]) -> Path:
    """Write tensors and state.json, checksums with it, into a new folder, flush it to the disk, and give it its name.

    Raises CheckpointError where that cannot be done; what had the name before then stays as it was.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    _check_room(target.parent, files)
    with _temporary_folder(target) as temporary:
        checksums = {}
        for name, tensors in files.items():
            dense = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
            save_file(dense, temporary / name)
            checksums[name] = checksum(dense)
        (temporary / STATE).write_text(state_text({**state, CHECKSUMS: checksums}), encoding="utf-8")
        for path in temporary.iterdir():
            sync(path)
        sync(temporary)
        # The old one is deleted last: that takes time in which a kill would leave neither.
        old = _rename_away(target) if target.exists() else None
        temporary.rename(target)
        sync(target.parent)
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)
    return target


def rewrite_state(folder: Path, changes: Mapping[str, Any]) -> None:
    """Replace what stands under some keys in the state.json of a folder; all else stays."""
    write_text(folder / STATE, state_text({**read_json(folder), **changes}))


def state_text(state: Mapping[str, Any]) -> str:
    """Return the text of a state.json: JSON with a checksum over the rest, by which `read_json` knows it."""
    return json.dumps(seal(state), indent=2) + "\n"


def checksum(tensors: Mapping[str, Tensor]) -> str:
    """Return a checksum of the names, formats, shapes and bytes of tensors in the CPU's memory, in hexadecimal."""
    found = Checksum()
    for name in sorted(tensors):
        tensor = tensors[name]
        found.say(f"{name} {tensor.dtype} {tuple(tensor.shape)}")
        found.add(tensor.reshape(-1).view(torch.uint8).numpy())
    return found.hexadecimal()


@contextmanager
def _temporary_folder(target: Path) -> Iterator[Path]:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"{target}: could not be written ({error}); make room and run the same command again"
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _check_room(folder: Path, files: Mapping[str, Mapping[str, Tensor]]) -> None:
    needed = SPARE_BYTES + sum(t.numel() * t.element_size() for tensors in files.values() for t in tensors.values())
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise CheckpointError(
            f"{folder}: a checkpoint needs {math.ceil(needed / 2**20):,} MiB, but {free // 2**20:,} MiB are free; "
            "make room, or lower train.checkpoints.keep_last, and run the same command again"
        )


def remove_folder(folder: Path) -> None:
    """Delete a folder; a kill in between leaves a temporary name, never half a checkpoint.

    So does a file that somebody reads on NFS, where its folder cannot go yet: the next training deletes that.
    """
    shutil.rmtree(_rename_away(folder), ignore_errors=True)


def _rename_away(folder: Path) -> Path:
    doomed = folder.with_name(f".{folder.name}.{os.getpid()}.old.tmp")
    shutil.rmtree(doomed, ignore_errors=True)
    folder.rename(doomed)
    return doomed


def remove_leftovers(folder: Path) -> None:
    """Delete the temporary files and folders that a kill or a full disk left behind."""
    for path in folder.glob(".*.tmp"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def read_json(folder: Path) -> dict[str, Any]:
    """Return what state.json of a checkpoint or average holds, but for its checksum.

    Raises CheckpointError, naming the file, also where it has no checksum or that of something else.
    """
    try:
        return unseal((folder / STATE).read_bytes())
    except (OSError, ValueError) as error:
        raise _failure(folder / STATE, error) from error


def check_tensors(file: Path) -> None:
    """See that a file of tensors is there and whole, by its header and size. Raises CheckpointError."""
    try:
        with file.open("rb"), safe_open(file, framework="pt"):  # safetensors does not tell why it cannot open a file
            pass
    except (OSError, SafetensorError) as error:
        raise _failure(file, error) from error


def read_tensors(file: Path) -> dict[str, Tensor]:
    """Return the tensors of a file by name.

    Raises CheckpointError, naming the file, also where they are not those that state.json beside it has a checksum of.
    """
    try:
        with file.open("rb"):
            tensors = load_file(file)
    except (OSError, SafetensorError) as error:
        raise _failure(file, error) from error
    written = _written_checksum(file)
    if written is not None and checksum(tensors) != written:
        raise CheckpointError(f"{file}: damaged (its tensors are not those that were written)")
    return tensors


def _failure(file: Path, error: Exception) -> CheckpointError:
    if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT, errno.ENOTDIR):
        return UnreadableError(f"{file}: cannot be read ({error.strerror})")
    return CheckpointError(f"{file}: missing or damaged ({shorten(str(error), 300)})")


def _written_checksum(file: Path) -> Any:
    try:
        checksums = read_json(file.parent).get(CHECKSUMS)
    except CheckpointError:  # a file of weights by itself, which nobody knows more about
        return None
    return checksums.get(file.name) if isinstance(checksums, dict) else None
