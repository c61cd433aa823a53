"""Mirrors on the loopback address: folders served over HTTP, with faults where a test wants them."""

import http.server
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

PAGE = b"<html><body>We have moved.</body></html>\n"


class Fault(NamedTuple):
    """What goes wrong with one answer: `kind`, and a number that some kinds need."""

    kind: str
    number: int = 0


NO_FAULT = Fault("none")


class Mirror:
    """A folder that is served. Knows byte ranges, unless `ranges` is false.

    `faults` has, for a path, what goes wrong with the answers to come, one each; `always` with all of them. `asked` has
    each path that was asked for, with the first byte. Faults are: `status` (answers with the number), `page` (a page
    instead of the file), `cut` (announces the whole and closes behind so many bytes), `flip` (a wrong byte at that
    place), `hang` (says nothing), `stall` (says nothing more behind so many bytes), `slow` (so many bytes each 10 ms),
    `vague` (does not say how long the answer is), `elsewhere` (another range than was asked for).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ranges = True
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self.always: dict[str, Fault] = {}
        self.asked: list[tuple[str, int]] = []
        self.closing = threading.Event()
        self.address = ""

    def fault(self, path: str) -> Fault:
        if path in self.always:
            return self.always[path]
        return self.faults[path].pop(0) if self.faults[path] else NO_FAULT


class Handler(http.server.BaseHTTPRequestHandler):
    mirror: Mirror

    def log_message(self, *_):
        pass

    def do_GET(self):
        path, mirror = self.path.lstrip("/"), self.mirror
        begin = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        mirror.asked.append((path, begin))
        fault = mirror.fault(path)
        file = mirror.folder / path
        if fault.kind == "hang":
            mirror.closing.wait(30)
        elif fault.kind == "status" or not file.is_file():
            self.send_error(fault.number or 404)
        elif fault.kind == "page":
            self.answer(200, PAGE, {"Content-Type": "text/html; charset=utf-8"})
        else:
            self.serve(file.read_bytes(), begin, fault)

    def serve(self, content: bytes, begin: int, fault: Fault) -> None:
        if fault.kind == "flip":
            content = content[: fault.number] + bytes([content[fault.number] ^ 1]) + content[fault.number + 1 :]
        begin = begin if self.mirror.ranges else 0
        if begin >= len(content) > 0 and begin:
            self.send_error(416)
            return
        headers = {"Content-Type": "application/x-gzip"}
        if begin:
            shown = begin - 1 if fault.kind == "elsewhere" else begin
            headers["Content-Range"] = f"bytes {shown}-{len(content) - 1}/{len(content)}"
        if fault.kind == "vague":
            self.answer(200, content, headers, vague=True)
        else:
            self.answer(206 if begin else 200, content[begin:], headers, fault=fault)

    def answer(
        self, status: int, body: bytes, headers: dict[str, str], *, fault: Fault = NO_FAULT, vague: bool = False
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if not vague:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            if fault.kind == "slow":
                for start in range(0, len(body), fault.number):
                    self.wfile.write(body[start : start + fault.number])
                    time.sleep(0.01)
                    if self.mirror.closing.is_set():
                        return
            elif fault.kind in ("cut", "stall"):
                self.wfile.write(body[: fault.number])
                self.wfile.flush()
                if fault.kind == "stall":
                    self.mirror.closing.wait(30)
            else:
                self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that was killed


@contextmanager
def serving(folder: Path) -> Iterator[Mirror]:
    """Serve a folder until the block ends."""
    mirror = Mirror(folder)
    handler = type("Handler", (Handler,), {"mirror": mirror})
    with Server(("127.0.0.1", 0), handler) as server:
        mirror.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield mirror
        finally:
            mirror.closing.set()
            server.shutdown()
            thread.join()


def nobody() -> str:
    """Return an address at which connections are refused."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{bound.getsockname()[1]}"
