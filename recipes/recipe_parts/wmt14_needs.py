"""What a WMT14 recipe needs, said before it begins: disk and time; and whether the disk has that."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recipe_parts.providing import Provider
from recipe_parts.saying import RecipeError, duration, say, size
from recipe_parts.wmt14_options import Options
from recipe_parts.wmt14_settings import LEAST_PAIRS, Experiment
from recipe_parts.wmt14_table import Published

RATES = (1e6, 10e6)
"""Bytes a second of a slow and of a usual download."""
PREPARED_SHARE = 1.5
"""Bytes that `nmtkit prepare` needs for a byte of text while it works: a clean copy, and half of it for packed ids."""
TINY_RUN = 500_000_000
"""Bytes of the checkpoints and all else of a scaled run."""


class Need(NamedTuple):
    """What takes room, where, and what it takes in time."""

    what: str
    bytes: int
    where: Path
    time: str = ""


def show_needs(options: Options, experiment: Experiment, provider: Provider, published: Published) -> None:
    """Say what is needed beyond what is there. Raises RecipeError where a disk has less and that is not ignored."""
    pairs = sum(pair.lines for pair in experiment.train)
    say(
        f"{published.title}, {options.size}: {pairs:,} pairs"
        + (f", scale {options.scale:g}" if options.scale < 1 else "")
    )
    wanted = [need for need in needs(options, provider, published) if need.bytes or need.time]
    for need in wanted:
        say(f"  {need.what:<16}{size(need.bytes):>8}  {need.time}".rstrip())
    lacking = []
    for place, together in _by_disk(wanted).items():
        free = shutil.disk_usage(place).free
        say(f"  together        {size(together):>8}  of {size(free)} free at {place}")
        if free < together:
            lacking.append(f"{place} has {size(free)} free where about {size(together)} are needed")
    if lacking and not options.ignore_space:
        raise RecipeError(
            f"{'; '.join(lacking)}: make room, choose another disk with --folder or --run, or go on with --ignore-space"
        )


def needs(options: Options, provider: Provider, published: Published) -> Iterator[Need]:
    """Yield what takes room or time from here on."""
    manifest, folder = options.manifest, provider.texts
    lacking = provider.missing()
    download = sum(item.copies[0].expected_bytes for item in lacking) if options.given is None else 0
    if download:
        slow, usual = (duration(download / rate) for rate in RATES)
        yield Need("downloads", download, options.data, f"{usual} at 10 MB/s, {slow} at 1 MB/s")
    there = sum((folder / name).stat().st_size for name in manifest.texts if (folder / name).is_file())
    yield Need("unpacked text", max(0, manifest.unpacked_bytes - there), options.data)
    scaling = options.scale < 1
    sampled = round(manifest.unpacked_bytes * options.scale) if scaling else 0
    yield Need("sample", sampled, options.data)
    if not (options.run / "data" / "manifest.json").exists():
        text = sampled or manifest.unpacked_bytes
        yield Need("preparing", round(PREPARED_SHARE * text), options.run)
    figures = published.sizes[options.size]
    checkpoints = TINY_RUN if scaling else figures.checkpoint_bytes
    made = sum(file.stat().st_size for file in (options.run / "checkpoints").rglob("*.safetensors"))
    time = f"some minutes ({LEAST_PAIRS:,} pairs of each corpus at least)" if scaling else f"the paper: {figures.time}"
    yield Need("training", max(0, checkpoints - made), options.run, time)


def _by_disk(wanted: list[Need]) -> dict[Path, int]:
    """Return the bytes for each disk, named by a folder on it that is there."""
    found: dict[int, tuple[Path, int]] = {}
    for need in wanted:
        place = next(folder for folder in (need.where.resolve(), *need.where.resolve().parents) if folder.exists())
        device = place.stat().st_dev
        known, together = found.get(device, (place, 0))
        found[device] = (known, together + need.bytes)
    return dict(found.values())
