"""Providing: the folder with all texts of a manifest, given, downloaded or unpacked, each checked."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recipe_parts.checking import Checked, CheckError, link, write_whole
from recipe_parts.downloading import Patience, Wish, bytes_of, download, part_of
from recipe_parts.manifest import Copy, Item, Manifest
from recipe_parts.saying import RecipeError, say
from recipe_parts.unpacking import unpack

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows: nothing keeps two processes apart there
    flock = None  # type: ignore[assignment]

CHECKED = ".checked.json"
DOWNLOADS = "downloads.json"
"""Where each file came from, for people."""


class Provider:
    """Provides the texts of a manifest in `folder`, where everything downloaded and unpacked stays.

    `given` is a folder of somebody's own with copies, or with the texts themselves, under the names of the manifest or
    right in it; nothing is fetched then, and nothing is written there. `mirrors` take the place of those of the
    manifest, for the first copy of each item. What was found right is not read again until it changes.
    """

    def __init__(
        self,
        manifest: Manifest,
        folder: Path,
        *,
        given: Path | None = None,
        mirrors: Sequence[str] = (),
        patience: Patience | None = None,
    ) -> None:
        if given is not None and not given.is_dir():
            variable = f" and {manifest.data_variable}" if manifest.data_variable else ""
            raise RecipeError(f"{given} is no folder; --data{variable} name the folder of files that you have")
        self._manifest, self._folder, self._given = manifest, folder, given
        self._mirrors = [address_of(mirror) for mirror in mirrors]
        self._patience = patience or Patience()
        self._served_last = ""
        """The mirror that the last file came from, which is asked first for the next."""
        self._checked = Checked(folder / CHECKED)

    @property
    def texts(self) -> Path:
        """The folder that all texts lie in: that given where it holds them under their names, else our own."""
        given = self._given
        if given is not None and all((given / name).is_file() for name in self._manifest.texts):
            return given
        return self._folder

    def bytes_to_fetch(self) -> int:
        """Return about how much `fetch` has to download, by the names of what is there, whole or not."""
        if self._given is not None:
            return 0
        first = [
            item.copies[0]
            for item in self._manifest.items
            if not all((self._folder / name).exists() for name in item.texts) and self._find_copy(item) is None
        ]
        return sum(max(0, copy.expected_bytes - bytes_of(part_of(self._folder / copy.name))) for copy in first)

    def fetch(self) -> None:
        """See that each item is there, as texts or as a copy, all of them right; download what is not."""
        with self._alone():
            for item in self._manifest.items:
                if self._texts_are_there(item):
                    continue
                if self._given is not None:
                    self._check_given(item, self._given)
                else:
                    self._check_or_download(item)

    def unpack(self) -> None:
        """Put all texts into the folder `texts`, out of what `fetch` found or brought."""
        with self._alone():
            for item in self._manifest.items:
                if self._texts_are_there(item):
                    continue
                if self._given is not None and (texts := self._given_texts(item, self._given)):
                    for name, path in texts.items():
                        link(self._folder / name, path)
                    continue
                found = self._find_copy(item)
                if found is None:
                    names = " or ".join(copy.name for copy in item.copies)
                    raise RecipeError(f"{self._folder / item.copies[0].name}: {names} is missing; fetch it first")
                self._checked.copy(*found)
                unpack(found[0], item.texts, self._folder, self._checked)

    def _texts_are_there(self, item: Item) -> bool:
        folder = self.texts
        if not all((folder / name).is_file() for name in item.texts):
            return False
        try:
            for name, text in item.texts.items():
                self._checked.text(folder / name, name, text)
        except CheckError as error:
            if folder == self._given:
                raise
            say(f"{error}: made again")
            return False
        return True

    def _check_given(self, item: Item, given: Path) -> None:
        if self._given_texts(item, given):
            return
        found = self._find_copy(item)
        if found is None:
            name, *others = item.texts
            texts = f"{name} nor {len(others)} more of its texts" if others else name
            archives = " or ".join(copy.name for copy in item.copies if not item.is_text(copy))
            lacking = f"holds neither {archives} nor {texts}" if archives else f"lacks a file: {name} is missing"
            raise RecipeError(
                f"{given} {lacking}; add it, or leave --data away to have it fetched into {self._folder}, where what "
                "you have may lie too"
            )
        self._checked.copy(*found)

    def _given_texts(self, item: Item, given: Path) -> dict[str, Path]:
        """Return where the texts of an item lie in a folder given, checked; none where one is missing."""
        found: dict[str, Path] = {}
        for name in item.texts:
            plain = Path(name).name
            places = [given / name, given / plain, given / f"{name}.gz", given / f"{plain}.gz"]
            path = next((place for place in places if place.is_file()), None)
            if path is None:
                return {}
            found[name] = path
        for name, path in found.items():
            self._checked.text(path, name, item.texts[name])
        return found

    def _find_copy(self, item: Item) -> tuple[Path, Copy] | None:
        """Return a copy of an item that is there, unchecked; where several go by one name, by its size."""
        folder = self._folder if self._given is None else self._given
        found = [
            (path, copy)
            for copy in item.copies
            if not item.is_text(copy)
            for path in (folder / copy.name, folder / copy.path)
            if path.is_file()
        ]
        of_its_size = (each for each in found if each[1].bytes == each[0].stat().st_size)
        return next(of_its_size, found[0] if found else None)

    def _check_or_download(self, item: Item) -> None:
        found = self._find_copy(item)
        if found is not None:
            try:
                self._checked.copy(*found)
            except CheckError as error:
                say(f"{error}: fetched again")
                found[0].unlink()
            else:
                return
        failures = []
        for copy, addresses in self._addresses(item):
            try:
                self._download(item, copy, addresses)
            except RecipeError as error:
                failures.append(str(error))
            else:
                return
        raise RecipeError("\n".join(failures))

    def _addresses(self, item: Item) -> Iterator[tuple[Copy, list[str]]]:
        copies = item.copies[:1] if self._mirrors else item.copies
        for copy in copies:
            mirrors = sorted(self._mirrors or copy.mirrors, key=lambda mirror: mirror != self._served_last)
            yield copy, [f"{mirror}/{copy.path}" for mirror in mirrors]

    def _download(self, item: Item, copy: Copy, addresses: list[str]) -> None:
        path = self._folder / copy.name

        def check(file: Path) -> None:
            self._checked.copy(file, copy)
            if item.is_text(copy):
                self._checked.text(file, copy.name, item.texts[copy.name])

        address = download(Wish(copy, check, self._remedy()), addresses, path, self._patience)
        self._served_last = address.removesuffix(f"/{copy.path}")
        self._checked.moved(part_of(path), path)
        self._note(copy.name, address, path)

    def _remedy(self) -> str:
        data, mirror = self._manifest.data_variable, self._manifest.mirror_variable
        given = f"--data or {data}" if data else "--data"
        other = f", or name other mirrors with {mirror}" if mirror else ""
        return f"get it by other means and give its folder with {given}{other}"

    def _note(self, name: str, address: str, path: Path) -> None:
        """Write down where a file came from."""
        log = self._folder / DOWNLOADS
        try:
            known: dict[str, Any] = json.loads(log.read_bytes())
        except (OSError, ValueError):
            known = {}
        known[name] = {"address": address, "bytes": path.stat().st_size, "fetched": time.strftime("%Y-%m-%d %H:%M:%S")}
        write_whole(log, json.dumps(known, indent=1).encode())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes out of the folder."""
        if flock is None or self.texts == self._given:
            yield
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / ".lock").open("ab") as file:
            try:
                flock(file, LOCK_EX | LOCK_NB)
            except BlockingIOError as error:
                raise RecipeError(
                    f"{self._folder}: another run fetches or unpacks here; wait for it or end it"
                ) from error
            yield


def address_of(mirror: str) -> str:
    """Return the address of a mirror, which may be a folder."""
    return (mirror if "://" in mirror else Path(mirror).resolve().as_uri()).rstrip("/")
