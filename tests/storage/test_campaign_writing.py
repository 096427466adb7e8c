"""Writing to a campaign file: a full disk loses nothing that was stored, one process writes at a
time, and what goes into a file that is gone does not count.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace

import pytest

import combgame as cg
from combgame.research.campaign import execution as execute
from combgame.research.campaign import store as opening
from combgame.research.campaign.lock import holder
from combgame.research.campaign.store import Store, open_store
from tests.campaigns import PROBLEM, TOML, command, count, made_up, table, tiny, whole_table
from tests.said import refused

# ---- a full disk


LIMITED = """
import resource, sys
size = int(sys.argv.pop(1))
if size:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
from combgame.cli.app import main
main()
"""


def limited(size, *words):
    """The command line, with files that cannot grow beyond a size."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(size), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_full_disk_loses_nothing_that_was_stored(tmp_path):
    file, path = tmp_path / "a.toml", tmp_path / "a.db"
    file.write_text(TOML)
    first = limited(0, "campaign", "run", file)
    assert first.returncode == 0, first.stderr
    before, size = table(path), path.stat().st_size
    full = limited(size + 2 * 4096, "campaign", "run", file, "--runs", 400)
    assert full.returncode == 2 and full.stderr.count("\n") == 1, full.stderr
    assert (
        f"{path}: the disk or the quota is full" in full.stderr
        and "what was stored is kept" in full.stderr
    )
    assert table(path)[:5] == before and 5 <= len(table(path)) < 400
    again = limited(0, "campaign", "run", file, "--runs", 400, "--json")
    assert again.returncode == 0 and json.loads(again.stdout)[0]["runs"] == 400
    campaign = cg.read_campaign(file)
    campaign = replace(
        campaign, configurations=tuple(replace(c, runs=400) for c in campaign.configurations)
    )
    assert table(path) == whole_table(campaign, tmp_path)


def test_a_disk_without_any_room_is_said(tmp_path):
    (tmp_path / "a.toml").write_text(TOML)
    for size in (1, 3000):
        full = limited(size, "campaign", "run", tmp_path / "a.toml")
        assert (
            full.returncode == 2
            and "the disk or the quota is full" in full.stderr
            and "Traceback" not in full.stderr
        )
    campaign = cg.read_campaign(tmp_path / "a.toml")
    campaign.run(tmp_path / "a.db", engine="python")
    assert table(tmp_path / "a.db") == whole_table(campaign, tmp_path)


def test_a_file_that_may_not_grow_keeps_what_it_has(tmp_path, monkeypatch):
    campaign, path = tiny(runs=500), tmp_path / "a.db"

    class Limited(Store):
        def __init__(self, path):
            super().__init__(path)
            self.db.execute("PRAGMA max_page_count = 40")

    with monkeypatch.context() as patch:
        patch.setattr(execute, "run_chunk", made_up)
        patch.setattr(opening, "Store", Limited)
        with refused("disk-full", where=str(path)) as caught:
            campaign.run(path)
        assert "run the same command again" in caught.value.remedy
    kept = table(path)
    monkeypatch.setattr(execute, "run_chunk", made_up)
    campaign.run(path)
    after = table(path)
    whole = {(line["identity"], line["delta"]): line for line in after}
    assert 100 < len(kept) < len(after) == len(whole) == 2000
    assert all(whole[line["identity"], line["delta"]] == line for line in kept)


# ---- two writers


HOLDER = """
import sys
from pathlib import Path
from combgame.research.campaign.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_process_writes_at_a_time(tmp_path, capsys):
    campaign, path = tiny(runs=3), tmp_path / "a.db"
    campaign.run(path, engine="python")
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert other.stdout.readline() == b"held\n"
        with refused("being-written", path=str(path)) as caught:
            tiny(runs=5).run(path, engine="python")
        assert caught.value.arguments["holder"].startswith(f"process {other.pid} on ")
        code, out, _ = command(capsys, "campaign", "status", path)
        assert code == 0 and f"It is being worked on by process {other.pid} on " in out
        code, out, _ = command(capsys, "campaign", "status", path, "--json")
        told = json.loads(out)
        assert f"process {other.pid} " in told["running"] and (
            told["stored"],
            told["planned"],
        ) == (6, 6)
    finally:
        other.kill()
        other.wait()
        other.stdin.close()
        other.stdout.close()
    assert holder(path) is None
    tiny(runs=5).run(path, engine="python")
    assert json.loads(command(capsys, "campaign", "status", path, "--json")[1])["running"] is None


# ---- a file that is gone


GONE = {
    "deleted": lambda path: path.unlink(),
    "moved": lambda path: path.rename(path.with_name("moved.db")),
    "replaced": lambda path: shutil.copy(path, path.with_name("b.db")).replace(path),
}


@pytest.mark.skipif(os.name != "posix", reason="POSIX only")
def test_a_file_that_is_gone_ends_the_campaign(tmp_path, monkeypatch):
    """It is not filled with chunks that nobody will find."""
    campaign = tiny(runs=8)
    for how, act in GONE.items():
        path, chunks = tmp_path / how / "a.db", []
        path.parent.mkdir()

        def work(*given, path=path, act=act, chunks=chunks):
            chunks.append(given)
            if len(chunks) == 3:
                act(path)
            return made_up(*given)

        with monkeypatch.context() as patch:
            patch.setattr(execute, "run_chunk", work)
            with refused("file-gone", cg.StoreError, where=str(path), stored=False) as caught:
                campaign.run(path)
        assert len(chunks) == 3 and "run the same command again" in caught.value.remedy
        with monkeypatch.context() as patch:
            patch.setattr(execute, "run_chunk", made_up)
            campaign.run(path)  # what is there now, or a new one
        assert count(path) == campaign.runs, how


class Interrupted:
    """A connection that Ctrl-C interrupts at a statement."""

    def __init__(self, db, words):
        self._db, self._words = db, words

    def __getattr__(self, name):
        return getattr(self._db, name)

    def execute(self, statement, *given):
        if self._words in statement:
            signal.raise_signal(signal.SIGINT)
        return self._db.execute(statement, *given)


@pytest.mark.parametrize("words", ["BEGIN", "INTO chunks", "COMMIT", "ROLLBACK"])
def test_an_interrupt_leaves_a_chunk_as_a_whole_or_not_at_all(tmp_path, words):
    campaign, path = tiny(runs=4, rules=["uniform"]), tmp_path / "a.db"
    with open_store(path, "tiny")[0] as file:
        file.register(campaign, execute.references(campaign.configurations, file))
        chunk, db = made_up(campaign.configurations[0], 0, 4, "python", "here"), file.db
        file.db = Interrupted(db, words)
        with suppress(KeyboardInterrupt):
            file.add(chunk)
            signal.raise_signal(signal.SIGINT)
        file.db = db
        if count(path) == 0:
            file.add(chunk)
    assert count(path) == 4


def test_a_study_that_is_open_is_no_campaign_and_keeps_its_locks(tmp_path):
    path = tmp_path / "lab.db"
    with cg.Study(PROBLEM, storage=f"sqlite:///{path}") as study:
        study.ask()
        with refused("foreign-file", where=str(path)):
            tiny(runs=1).run(path)
        assert study.ask(client="you").id == 2
    with refused("foreign-file", where=str(path)):
        tiny(runs=1).run(path)
