"""What a WMT14 recipe needs, said before it begins: disk and time; and whether the disk has that."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recipe_parts.downloading import bytes_of
from recipe_parts.saying import RecipeError, duration, say, size
from recipe_parts.wmt14_options import Options
from recipe_parts.wmt14_settings import LEAST_PAIRS, Experiment, scaled_vocabulary
from recipe_parts.wmt14_table import Published

RATES = (1e6, 10e6)
"""Bytes a second of a slow and of a usual download."""
UNPACKED = 50e6
"""Bytes of text a second that are unpacked and checked on one core."""
CLEANED = 90_000
"""Pairs a second that `nmtkit prepare` takes on two cores once it has its vocabulary."""
PREPARED_SHARE = 1.5
"""Bytes that `nmtkit prepare` needs for a byte of text while it works: a clean copy, and half of it for packed ids."""
TINY = (1_325_056, 128)
"""Parameters of the layers of the preset `tiny`, and of each piece of its vocabulary."""
RESUMABLE = 12
"""Bytes of a parameter in a checkpoint that training can go on from: itself and the two moments of Adam."""


class Need(NamedTuple):
    """What takes room, where, and what it takes in time."""

    what: str
    bytes: int
    where: Path
    time: str = ""


def show_needs(options: Options, experiment: Experiment, published: Published) -> None:
    """Say what is needed beyond what is there. Raises RecipeError where a disk has less and that is not ignored."""
    say(
        f"{published.title}, {options.size}: {experiment.pairs:,} pairs"
        + (f", scale {options.scale:g}" if options.scale < 1 else "")
    )
    wanted = list(needs(options, experiment, published))
    for need in wanted:
        say(f"  {need.what:<16}{size(need.bytes):>10}  {need.time}".rstrip())
    lacking = []
    for place, together in _by_disk(wanted).items():
        free = shutil.disk_usage(place).free
        say(f"  together        {size(together):>10}  of {size(free)} free at {place}")
        if free < together:
            lacking.append(f"{place} has {size(free)} free where about {size(together)} are needed")
    if lacking and not options.ignore_space:
        raise RecipeError(
            f"{'; '.join(lacking)}: make room, choose another disk with --folder or --run, or go on with --ignore-space"
        )


def needs(options: Options, experiment: Experiment, published: Published) -> Iterator[Need]:
    """Yield what takes room or time from here on."""
    provider, whole, scaling = options.provider, options.manifest.unpacked_bytes, options.scale < 1
    download = provider.bytes_to_fetch()
    if download:
        slow, usual = (duration(download / rate) for rate in RATES)
        yield Need("downloads", download, options.data, f"{usual} at 10 MB/s, {slow} at 1 MB/s")
    there = [bytes_of(provider.texts / name) for name in options.manifest.texts]
    if not all(there):
        text = max(0, whole - sum(there))
        yield Need("unpacked text", text, options.data, f"some {duration(text / UNPACKED)}")
    sampled = round(whole * options.scale) if scaling else 0
    if scaling and not options.sample.exists():
        yield Need("sample", sampled, options.data)
    if not (options.run / "data" / "manifest.json").exists():
        time = f"some {duration(experiment.pairs / CLEANED)} on two cores, and the vocabulary before that"
        yield Need("preparing", round(PREPARED_SHARE * (sampled or whole)), options.run, "" if scaling else time)
    if not (options.run / "checkpoints" / "average").exists():
        figures = published.sizes[options.size]
        most = _tiny_checkpoints(experiment, options.scale) if scaling else figures.checkpoint_bytes
        made = sum(file.stat().st_size for file in (options.run / "checkpoints").rglob("*.safetensors"))
        small = f"some minutes ({LEAST_PAIRS:,} pairs of each corpus at least)"
        time = small if scaling else f"at most; the paper: {figures.time}"
        yield Need("training", max(0, most - made), options.run, time)


def _tiny_checkpoints(experiment: Experiment, scale: float) -> int:
    """Return about the most bytes that the checkpoints of a scaled run take at a time."""
    layers, width = TINY
    parameters = layers + width * scaled_vocabulary(experiment.tables, scale)
    return (experiment.averaged + 5) * RESUMABLE * parameters


def _by_disk(wanted: list[Need]) -> dict[Path, int]:
    """Return the bytes for each disk, named by a folder on it that is there."""
    found: dict[int, tuple[Path, int]] = {}
    for need in wanted:
        place = next(folder for folder in (need.where.resolve(), *need.where.resolve().parents) if folder.exists())
        device = place.stat().st_dev
        known, together = found.get(device, (place, 0))
        found[device] = (known, together + need.bytes)
    return dict(found.values())
