"""Downloading: a file from the first of several mirrors that has it, going on where an earlier attempt broke off."""

import http.client
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from recipe_parts.checking import CHUNK, CheckError
from recipe_parts.manifest import Copy
from recipe_parts.saying import RecipeError, duration, say, size

SECONDS_BETWEEN_LINES = 10.0
"""How often a download says how far it is."""

_SPAN = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_GIVEN_UP = frozenset({400, 401, 403, 404, 405, 410})
"""Answers that another attempt does not change."""
_NOBODY = (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError)
"""Why there is no connection, and will be none in some seconds."""


class Patience(NamedTuple):
    """How long a mirror is waited for: seconds without a byte, attempts in a row in vain, seconds in between."""

    timeout: float = 60.0
    attempts: int = 3
    pause: float = 2.0


class MirrorError(Exception):
    """A mirror that does not give what it should. `lasting`: another attempt would not help."""

    def __init__(self, why: str, *, lasting: bool = False) -> None:
        super().__init__(why)
        self.lasting = lasting


def part_of(path: Path) -> Path:
    """Return the name that a file has while it is fetched."""
    return path.with_name(f".{path.name}.part")


class Wish(NamedTuple):
    """What is to be fetched: as a manifest has it, by what it is known to be right, and what to do without it."""

    copy: Copy
    check: Callable[[Path], None]
    """Raises CheckError where a file is not the right one."""
    remedy: str


def download(wish: Wish, addresses: Sequence[str], path: Path, patience: Patience) -> str:
    """Fetch a file into `path`, under the name `part_of(path)` until it is whole and right; return its address.

    What an interrupted call got stays there and is gone on from, at any of the mirrors, as all have the same file.
    Raises RecipeError, with what each mirror did and the remedy, where none has it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part, copy = part_of(path), wish.copy
    failures = []
    for address in addresses:
        say(f"fetching {address}" + (f" ({size(copy.expected_bytes)})" if copy.expected_bytes else ""))
        try:
            _receive_checked(address, part, wish, patience)
        except MirrorError as error:
            say(f"  {error}")
            failures.append(f"{address}: {error}")
            continue
        _sync(part)
        part.replace(path)
        _sync(path.parent)
        return address
    raise RecipeError(f"{copy.name} cannot be fetched ({'; '.join(failures) or 'no mirror is known'}); {wish.remedy}")


def _receive_checked(address: str, part: Path, wish: Wish, patience: Patience) -> None:
    """Receive a whole and right file. Raises MirrorError, and removes what is known to be wrong."""
    while True:
        begun = bytes_of(part)
        _receive_whole(address, part, wish.copy, patience)
        try:
            wish.check(part)
        except CheckError as error:
            part.unlink()
            if not begun:
                raise MirrorError(str(error), lasting=True) from error
            say("  what an earlier attempt had left did not go with it; fetching all of it again")
        else:
            return


def _receive_whole(address: str, part: Path, copy: Copy, patience: Patience) -> None:
    """Receive until all is there; attempts that bring next to nothing are counted, one that does more begins anew."""
    enough = copy.expected_bytes // 100 or CHUNK
    most, failed = bytes_of(part), 0
    while True:
        try:
            _receive(address, part, copy, patience.timeout)
        except MirrorError as error:
            failed = 0 if bytes_of(part) - most >= enough else failed + 1
            most = max(most, bytes_of(part))
            if error.lasting or failed >= patience.attempts:
                raise
            say(f"  {error}; trying again")
            time.sleep(patience.pause * 2 ** max(0, failed - 1))
        else:
            return


def _receive(address: str, part: Path, copy: Copy, timeout: float) -> None:
    """Receive, once, what is missing of a file. Raises MirrorError where that is not all of it."""
    have = bytes_of(part)
    if copy.bytes and have == copy.bytes:
        return
    if copy.bytes and have > copy.bytes:
        part.unlink()
        have = 0
    # Some servers would pack an answer once more.
    headers = {"User-Agent": "nmtkit-recipes", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=timeout) as answer:
            begin, whole = _span(answer, have)
            _refuse_pages(answer, copy, whole)
            _write(answer, part, begin, whole or copy.bytes, copy.name)
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        if error.code == 416:  # beyond the end: what is there is not of this file
            part.unlink(missing_ok=True)
        raise MirrorError(f"answers {error.code} {error.reason}", lasting=error.code in _GIVEN_UP) from error
    except urllib.error.URLError as error:
        raise MirrorError(f"does not answer ({error.reason})", lasting=isinstance(error.reason, _NOBODY)) from error
    except (OSError, http.client.HTTPException) as error:
        raise MirrorError(f"breaks off ({error or type(error).__name__})") from error
    found = bytes_of(part)
    if whole and found < whole:
        raise MirrorError(f"breaks off after {found:,} of {whole:,} bytes")


def _span(answer: http.client.HTTPResponse, have: int) -> tuple[int, int]:
    """Return from which byte on an answer is, and how many the file has; 0 where that is not said."""
    if getattr(answer, "status", 200) == 206:
        span = _SPAN.match(answer.headers.get("Content-Range", ""))
        if span is None or int(span[1]) != have:
            raise MirrorError("answers with another part of the file than was asked for", lasting=True)
        return have, 0 if span[2] == "*" else int(span[2])
    length = answer.headers.get("Content-Length", "")
    return 0, int(length) if length.isdecimal() else 0


def _refuse_pages(answer: http.client.HTTPResponse, copy: Copy, whole: int) -> None:
    """Raise MirrorError where what comes is not the file: servers answer with pages for what they no longer have."""
    kind = answer.headers.get_content_type()
    if copy.bytes and whole and whole != copy.bytes:
        raise MirrorError(f"has {whole:,} bytes of {kind} where there should be {copy.bytes:,}", lasting=True)
    if kind == "text/html":
        raise MirrorError("answers with a page (text/html), not with the file", lasting=True)


def _write(answer: http.client.HTTPResponse, part: Path, begin: int, whole: int, name: str) -> None:
    """Write an answer from a byte of the file on."""
    written, started, told = begin, time.monotonic(), time.monotonic()
    with _writing(part), part.open("r+b" if begin else "wb") as file:
        if begin:
            file.seek(begin)
            file.truncate()
        while chunk := _read(answer):
            file.write(chunk)
            file.flush()
            written += len(chunk)
            now = time.monotonic()
            if now - told >= SECONDS_BETWEEN_LINES:
                say(_progress(name, written, whole, (written - begin) / (now - started)))
                told = now


def _read(answer: http.client.HTTPResponse) -> bytes:
    """Return what has come: a call that is killed loses nothing of it. Raises MirrorError."""
    try:
        return answer.read1(CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise MirrorError(f"breaks off ({error or type(error).__name__})") from error


@contextmanager
def _writing(part: Path) -> Iterator[None]:
    """Tell what is wrong with the disk, for which no mirror is to blame."""
    try:
        yield
    except OSError as error:
        raise RecipeError(
            f"{part} cannot be written ({error.strerror or error}); make room, then the same command goes on"
        ) from error


def _progress(name: str, written: int, whole: int, rate: float) -> str:
    if whole <= written:
        return f"  {name}: {size(written)}, {size(rate)}/s"
    left = duration((whole - written) / rate) if rate else "unknown"
    return f"  {name}: {size(written)} of {size(whole)} ({written / whole:.0%}), {size(rate)}/s, {left} left"


def bytes_of(path: Path) -> int:
    """Return the size of a file, 0 where there is none."""
    return path.stat().st_size if path.exists() else 0


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
