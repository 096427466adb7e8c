"""What somebody without a token can make the service keep: python benchmarks/flood.py
[--against ANOTHER_CHECKOUT] [--out FILE]

One connection sends 100 MB in the place of headers, and so on, to a service in a process of its
own, on loopback; and many connections send a request each, and keep its last byte to themselves.
The table has the megabytes that the process held before and after it, those that were taken before
it stopped listening, and what it answered first. With --against, the same is done to the service of
another checkout, such as a worktree of an older commit.
"""

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from made import PYTHON, save

from combgame._display.text import markdown

LINE, HOST = b"GET /health HTTP/1.1\r\n", b"Host: localhost\r\n"
CHUNKED = b"POST /api/v1/studies HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
FLOODS = {  # what comes first, and then without an end
    "many headers": (LINE + HOST, b"x: y\r\n" * 10_000),
    "large headers": (LINE + HOST, b"x: " + b"a" * 60_000 + b"\r\n"),
    "one header": (LINE + HOST + b"x: ", b"a" * 60_000),
    "an address": (b"GET /", b"a" * 60_000),
    "trailers": (CHUNKED + b"1\r\n{\r\n0\r\n", b"x: y\r\n" * 10_000),
    "requests that wait": (b"", (LINE + HOST + b"\r\n") * 1000),
}
UPLOAD = (
    b"POST /new HTTP/1.1\r\n"
    + HOST
    + b"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: %d\r\n\r\n" % (10 * 2**20)
    + b"a" * (10 * 2**20)
)
CROWDS = {  # how many connections, what each sends but for its last byte, and to whom
    "bodies, where there are tokens": (50, UPLOAD, True),
    "bodies, where there are none": (50, UPLOAD, False),
    "tiny headers": (200, LINE + HOST + b"ab:c\r\n" * 9200 + b"\r\n", False),
}
MOST = 100 * 2**20
SERVE = "from combgame.cli.app import main; main()"


@contextmanager
def served(checkout: Path | None, tokens: bool = False) -> Iterator[tuple[str, int, int]]:
    """Host and port of a service, and the number of its process."""
    environment = dict(os.environ)
    if checkout is not None:
        environment["PYTHONPATH"] = str(checkout.resolve() / "src")
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/lab.db"
        if tokens:
            make = ["token", "make", "ann", "--role", "read", "-s", storage]
            words = [sys.executable, "-c", SERVE, *make]
            subprocess.run(words, env=environment, check=True, capture_output=True)
        command = [sys.executable, "-c", SERVE, "serve", "-s", storage, "--port", "0"]
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env=environment
        ) as running:
            assert running.stderr is not None
            url = ""
            while "http://" not in url:
                url = running.stderr.readline()
            place = urlsplit("http://" + url.split("http://")[1].split()[0].strip('",'))
            try:
                yield str(place.hostname), int(place.port or 0), running.pid
            finally:
                running.kill()


def resident(pid: int) -> int:
    """Megabytes that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) // 1024


def flood(host: str, port: int, begin: bytes, piece: bytes) -> tuple[int, str]:
    """Bytes that were taken, and the first line of the answer."""
    sent, heard = 0, b""
    with socket.create_connection((host, port), timeout=10) as raw:
        with contextlib.suppress(OSError):
            raw.sendall(begin)
            while sent < MOST:
                raw.sendall(piece)
                sent += len(piece)
        with contextlib.suppress(OSError):
            heard = raw.recv(1 << 16)
    return sent, heard.partition(b"\r\n")[0].decode() or "the connection ends"


def crowd(host: str, port: int, n: int, whole: bytes, pid: int) -> tuple[int, int, str]:
    """The megabytes that are held while all connections are open, the bytes that were taken, and
    the first line of what the last one that heard anything heard.
    """
    sent, heard = 0, b""
    with contextlib.ExitStack() as stack:
        all_of_them = []
        for _ in range(n):
            raw = stack.enter_context(socket.create_connection((host, port), timeout=10))
            with contextlib.suppress(OSError):
                raw.sendall(whole[:-1])
                sent += len(whole) - 1
            all_of_them.append(raw)
        time.sleep(2.0)  # until all of it is taken
        after = resident(pid)
        for raw in all_of_them:
            raw.settimeout(0.01)
            with contextlib.suppress(OSError):
                heard = raw.recv(1 << 16) or heard
    return after, sent, heard.partition(b"\r\n")[0].decode() or "it waits for the rest"


def rows(which: str, checkout: Path | None) -> Iterator[list[object]]:
    for name, (begin, piece) in FLOODS.items():
        with served(checkout) as (host, port, pid):
            before = resident(pid)
            sent, said = flood(host, port, begin, piece)
            yield [which, name, 1, before, resident(pid), f"{sent / 2**20:.1f}", said]
    for name, (n, whole, tokens) in CROWDS.items():
        with served(checkout, tokens) as (host, port, pid):
            before = resident(pid)
            after, sent, said = crowd(host, port, n, whole, pid)
            yield [which, name, n, before, after, f"{sent / 2**20:.1f}", said]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout of combgame")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    cells = list(rows("now", None))
    if options.against is not None:
        cells += rows("before", options.against)
    head = ["service", "flood", "connections", "MB before", "MB after", "MB taken", "answer"]
    text = markdown(head, cells, left=2)
    print(text)
    save(options.out, text, PYTHON)


if __name__ == "__main__":
    main()
