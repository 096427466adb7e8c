"""The service: ask+tell rounds per second over HTTP, beside the same loop on `Study`, in turns;
memory over many rounds; open pages with live updates:
python benchmarks/service.py [--parts load memory pages] [--out FILE]

Needs the extras `server` and `bench` (a PostgreSQL from PyPI). Clients are a process of their own,
with a thread each; all of them work on one study, as a team does.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from made import PYTHON, save

import combgame as cg
from combgame._display.text import markdown
from combgame.research.instances.alt2021 import matroid

NEVER = 1e-200  # a delta at which nothing stops
SERVE = "from combgame.cli.app import main; main()"


@contextmanager
def served(storage: str) -> Iterator[tuple[str, int]]:
    """A service in a process of its own: its URL, and the number of the process."""
    command = [sys.executable, "-c", SERVE, "serve", "-s", storage, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        url = json.loads(running.stderr.readline())["url"]
        reader = threading.Thread(target=lambda: [None for _ in running.stderr or ()])
        reader.start()
        try:
            yield url, running.pid
        finally:
            running.terminate()
            running.wait()
            reader.join()


def rounds(study: object, seconds: float, seed: int) -> list[float]:
    """Seconds that each round of ask and tell took."""
    instance, rng, took = matroid(20), np.random.default_rng(seed), []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        todo = study.ask()  # type: ignore[attr-defined]
        values = {a: instance.means[a] + 0.1 * rng.standard_normal() for a in todo.arms}
        study.tell(todo, values)  # type: ignore[attr-defined]
        took.append(time.perf_counter() - began)
    return took


def together(url: str, name: str, clients: int, seconds: float) -> list[float]:
    """The same with several clients at once, each with a study object of its own."""
    took: list[float] = []

    def work(k: int) -> None:
        took.extend(rounds(cg.Client(url, client=f"client {k}").open(name), seconds, k))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def load(storages: dict[str, str], turns: int, seconds: float) -> str:
    rows = []
    for place, storage in storages.items():
        problem, speeds, times = matroid(20).problem, {}, {}
        with served(storage) as (url, _):
            study = cg.Study(problem, delta=NEVER, storage=storage, name="here", client="one")
            cg.Client(url).create(problem, delta=NEVER, name="there")
            for turn in range(turns + 1):
                for clients in (0, 1, 8, 32):
                    if clients:
                        took = together(url, "there", clients, seconds)
                    else:
                        took = rounds(study, seconds, 0)
                    if turn:  # the first one warms up
                        speeds.setdefault(clients, []).append(len(took) / seconds)
                        times.setdefault(clients, []).extend(took)
            study.close()
        for clients, found in speeds.items():
            ratio = [a / b for a, b in zip(found, speeds[0], strict=True)]
            rows.append(
                {
                    "storage": place,
                    "clients": f"{clients} over HTTP" if clients else "Study in process",
                    "rounds/s": f"{statistics.median(found):,.0f}",
                    "of in process": f"{statistics.median(ratio):.2f}",
                    "p50 ms": f"{1e3 * float(np.quantile(times[clients], 0.5)):.1f}",
                    "p99 ms": f"{1e3 * float(np.quantile(times[clients], 0.99)):.1f}",
                }
            )
    return (
        f"d = 20, plates of 3, frank-wolfe; {turns} turns of {seconds:g} s, medians of turns; load "
        f"average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors.\n\n{table(rows)}"
    )


def table(rows: list[dict[str, str]]) -> str:
    return markdown(list(rows[0]), [list(row.values()) for row in rows])


def resident(process: int) -> float:
    """Megabytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def memory(storage: str, many: int) -> str:
    rows, done = [], 0
    with served(storage) as (url, process):
        study = cg.Client(url, client="one").create(matroid(20).problem, delta=NEVER, name="m")
        for part in (0.02, 0.2, 0.4, 0.6, 0.8, 1.0):
            while done < part * many:
                todo = study.ask(50)
                study.tell_many({one: dict.fromkeys(one.arms, 0.5) for one in todo})
                done += len(todo)
            rows.append({"rounds": f"{done:,}", "resident MB": f"{resident(process):.0f}"})
    return f"Memory of the server, SQLite, fifty rounds at a time.\n\n{table(rows)}"


def pages(storage: str, many: int) -> str:
    """So many streams; how long a change takes to reach all of them."""
    with served(storage) as (url, process):
        study = cg.Client(url, client="one").create(matroid(20).problem, delta=NEVER, name="p")
        host, port = url.removeprefix("http://").split(":")
        before, open_ = resident(process), []
        for _ in range(many):
            connection = http.client.HTTPConnection(host, int(port), timeout=60)
            connection.request("GET", "/api/v1/studies/p/changes")
            open_.append((connection, connection.getresponse()))
        seen = [_next(answer) for _, answer in open_]
        took = []
        for _ in range(10):
            study.ask(client=f"{len(took)}")
            began = time.perf_counter()
            seen = [_next(answer) for _, answer in open_]
            took.append(time.perf_counter() - began)
            assert len(set(seen)) == 1
        after = resident(process)
    return (
        f"{many} open streams of one study: a change is read from all of them, one after the "
        f"other, within {1e3 * statistics.median(took):.0f} ms (median of 10) after its ask was "
        f"answered; the server grew from {before:.0f} to {after:.0f} MB."
    )


def _next(answer: http.client.HTTPResponse) -> int:
    while True:
        line = answer.readline()
        if line.startswith(b"data: "):
            return int(json.loads(line[6:])["seq"])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", nargs="+", default=["load", "memory", "pages"])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=50_000)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--sqlite-only", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        storages = {"SQLite": f"sqlite:///{folder}/lab.db"}
        server = None
        if "load" in given.parts and not given.sqlite_only:
            import pgserver

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                server = pgserver.get_server(Path(folder) / "pg")
            storages["PostgreSQL"] = server.get_uri().replace("://", "+psycopg://", 1)
        if "load" in given.parts:
            found.append(load(storages, given.turns, given.seconds))
        if "memory" in given.parts:
            found.append(memory(f"sqlite:///{folder}/memory.db", given.rounds))
        if "pages" in given.parts:
            found.append(pages(f"sqlite:///{folder}/pages.db", given.streams))
        if server is not None:
            server.cleanup()
    text = "\n\n".join(found)
    print(text)
    save(given.out, text, PYTHON)


if __name__ == "__main__":
    main()
