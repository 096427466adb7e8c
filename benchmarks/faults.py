"""Faults at random over several workers, and what was acknowledged against what is there; and how
long a writer waits for its turn: python benchmarks/faults.py [--out FILE]

Linux; needs the extras `test` and `bench` (a PostgreSQL from PyPI). The faults, the workers and the
naive model are those of tests/storage/faults. Every episode is a study of its own; it ends at the
first thing that is wrong, which is printed.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from made import PYTHON, save

from combgame._display.text import markdown
from combgame.storage.database import SqlStorage
from combgame.storage.events import ChainedEvent, Event, chain_hash

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.storage.faults.model import Tally
from tests.storage.faults.schedule import SLACK, Server, run

EPISODE = 100  # faults
TIMEOUT = 1.0  # seconds


def sqlite(folder: Path, faults: int) -> Tally:
    total = Tally()
    for k in range(faults // EPISODE):
        total.add(run(f"sqlite:///{folder}/{k}.db", EPISODE, f"sqlite {k}", timeout=TIMEOUT))
        told("SQLite", total, faults)
    return total


def postgres(folder: Path, faults: int) -> Tally:
    total = Tally()
    with serving(folder / "pg") as found:
        for k in range(faults // EPISODE):
            Server(found.pgdata, found.get_uri()).ready()
            found.psql(f"CREATE DATABASE episode{k};")
            url = found.get_uri(f"episode{k}").replace("postgresql:", "postgresql+psycopg:")
            total.add(run(url, EPISODE, f"postgres {k}", str(found.pgdata), TIMEOUT))
            told("PostgreSQL", total, faults)
    return total


@contextmanager
def serving(folder: Path) -> Iterator[Any]:
    import pgserver

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pgserver.get_server(folder)
    try:
        yield found
    finally:
        found.ensure_postgres_running()
        found.cleanup()


def told(place: str, total: Tally, faults: int) -> None:
    said = f"{place}: {total.faults.total():,} of {faults:,} faults, {len(total.wrong)} wrong"
    print(f"{said}, {total.acknowledged.total():,} calls acknowledged", flush=True)
    if total.wrong:
        raise SystemExit("\n".join(total.wrong[:20]))


def schedule(folder: Path, faults: int) -> str:
    """Three in five on SQLite, where an episode takes less time."""
    part = max(faults * 3 // 5 // EPISODE, 1) * EPISODE
    found = {"SQLite": sqlite(folder, part), "PostgreSQL": postgres(folder, faults - part)}
    both = sum(tally.faults.total() for tally in found.values())
    lines = [
        f"{both:,} faults over four workers that ask, tell and look; timeout = {TIMEOUT:g} s. What "
        "was acknowledged is there, what is there was given, what was refused as not stored is not "
        "there, a look shows what was acknowledged before it; every study replays and goes on. "
        f"Anything else, or a call of more than {TIMEOUT + SLACK:g} s, would be wrong.\n"
    ]
    rows = []
    for place, tally in found.items():
        waits = sorted(seconds for seconds, *_ in tally.waits)
        refused = sorted(seconds for seconds, _, what in tally.waits if what == "busy")
        calls = tally.acknowledged
        rows.append(
            [
                place,
                f"{tally.faults.total():,}",
                f"{calls['ask']:,} + {calls['tell']:,} + {calls['read']:,}",
                f"{tally.unheard:,}, {tally.stored:,}",
                f"{statistics.median(waits):.3f}, {waits[-1]:.2f}",
                f"{refused[-1]:.2f}" if refused else "none",
                f"{len(tally.wrong)}",
            ]
        )
    head = [
        "",
        "faults",
        "asks + tells + looks acknowledged",
        "asks and tells cut off, of them stored",
        "seconds of a call: median, longest",
        "longest until 'busy'",
        "wrong",
    ]
    lines.append(markdown(head, rows) + "\n")
    kinds = sorted({kind for tally in found.values() for kind in tally.faults})
    codes = sorted({code for tally in found.values() for code in tally.refusals})
    for title, names, count in (
        ("fault", kinds, lambda tally, name: tally.faults[name]),
        ("call ended with", codes, lambda tally, name: tally.refusals[name]),
    ):
        cells = [[name, *(f"{count(tally, name):,}" for tally in found.values())] for name in names]
        lines.append(markdown([title, *found], cells) + "\n")
    return "\n".join(lines)


# ---- many writers


def writer(url: str, name: str, seconds: float, go: int, pipe: int) -> None:
    """Small transactions as fast as they go, and how long each of them took."""
    event = Event(1, "created", 0.0, data={})
    last, waits = chain_hash("", event), []
    storage = SqlStorage(url, name, 30.0)
    storage.begin(ChainedEvent(event, last), "resume")
    os.write(pipe, b"\n")
    os.read(go, 1)  # until everybody is here
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter()
        event = event._replace(seq=event.seq + 1, kind="told")
        last = chain_hash(last, event)
        with storage.transaction() as log:
            log.append([ChainedEvent(event, last)])
        waits.append(time.perf_counter() - began)
    storage.close()
    with os.fdopen(pipe, "w") as out:
        json.dump(waits, out)


def turns(folder: Path, processes: int, seconds: float) -> list[list[float]]:
    """Of every process."""
    url = f"sqlite:///{folder}/{processes}.db"
    SqlStorage(url, "first", 30.0).close()
    (wait, go), pipes = os.pipe(), []
    for k in range(processes):
        read, write = os.pipe()
        if os.fork() == 0:
            os.close(go)
            try:
                writer(url, f"study {k}", seconds, wait, write)
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(write)
        pipes.append(read)
    for pipe in pipes:
        os.read(pipe, 1)
    os.close(go)
    os.close(wait)
    found = []
    for pipe in pipes:
        with os.fdopen(pipe) as heard:
            found.append(json.load(heard))
    for _ in pipes:
        os.wait()
    return found


def fairness(folder: Path, seconds: float) -> str:
    rows = []
    for processes in (1, 8, 32):
        waits = turns(folder, processes, seconds)
        every = sorted(wait for one in waits for wait in one)
        shares = sorted(len(one) for one in waits)
        rows.append(
            [
                f"{processes}",
                f"{len(every) / seconds:,.0f}",
                f"{1e3 * statistics.median(every):,.0f}",
                f"{1e3 * every[int(0.99 * len(every))]:,.0f}",
                f"{1e3 * every[-1]:,.0f}",
                f"{shares[0]:,} to {shares[-1]:,}",
            ]
        )
        print(rows[-1], flush=True)
    head = [
        "processes that write",
        "transactions per second",
        "ms: median",
        "99 %",
        "longest",
        "transactions of a process",
    ]
    return f"SQLite, {seconds:g} s each.\n\n" + markdown(head, rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--parts", default="fairness,schedule")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    found = []
    for part in options.parts.split(","):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if part == "fairness":
                found.append(fairness(folder, options.seconds))
            else:
                found.append(schedule(folder, options.faults))
        print(found[-1], flush=True)
        save(options.out, "\n".join(found), PYTHON)


if __name__ == "__main__":
    main()
