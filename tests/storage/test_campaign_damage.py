"""Campaign files that were cut, changed or left half made: what is good is kept, the rest is made
anew.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

import combgame as cg
from combgame.research.campaign import execution as execute
from combgame.research.campaign import store
from combgame.research.campaign.store import Store, open_store
from tests.campaigns import made_up, table, tiny, unmeasured, whole_table
from tests.said import refused

# ---- a damaged file


MANY = tiny(runs=1250)


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A campaign file of some hundred pages, and what its campaign reports."""
    path = tmp_path_factory.mktemp("big") / "a.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "run_chunk", made_up)
        found = MANY.run(path)
    assert path.stat().st_size > 200 * 4096
    return path, found, table(path)


@pytest.fixture
def damaged(big, tmp_path, monkeypatch):
    """A copy that a test may damage."""
    monkeypatch.setattr(execute, "run_chunk", made_up)
    path = tmp_path / "a.db"
    shutil.copy(big[0], path)
    return path


def mended(path, whole, campaign=MANY):
    """Run the campaign again; what was said, and how many runs were kept. It ends as if nothing had
    happened.
    """
    before, said, numbers = path.read_bytes(), [], []

    def counted(*args):
        numbers.append(args[2])
        return made_up(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "run_chunk", counted)
        assert unmeasured(campaign.run(path, say=said.append)) == unmeasured(whole[1])
    assert table(path) == whole[2]
    kept = campaign.runs - sum(numbers)
    assert len(said) == 1
    if len(before) < 2:  # nothing at all, for SQLite
        assert "a.db was empty: all of its runs are made anew." in said[0]
    else:
        assert (
            "damaged" in said[0]
            and f": {kept} runs are still good" in said[0]
            and "\n" not in said[0]
        )
        aside = list(path.parent.glob("a.db.damaged-*"))
        assert len(aside) == 1 and aside[0].read_bytes() == before and aside[0].name in said[0]
    assert sorted(p.name for p in path.parent.glob("a.db*") if "damaged" not in p.name) == [
        "a.db",
        "a.db.lock",
    ]
    return kept


@pytest.mark.parametrize(("share", "off", "least"), [(0.5, 0, 0.3), (1.0, 1, 0.9)])
def test_a_file_that_was_cut_is_found_and_mended(damaged, big, share, off, least):
    os.truncate(damaged, int(share * damaged.stat().st_size) - off)
    with refused("damaged", where=str(damaged)):
        open_store(damaged)
    assert least * 2500 <= mended(damaged, big) < 2500


def place(path, words, which=0.5):
    """Where some words stand, about in the middle of a file."""
    data = path.read_bytes()
    found = data.find(words, int(len(data) * which))
    assert found > 0
    return found


def write(path, at, data):
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


@pytest.mark.parametrize("what", ["a page that is still in order", "not even text", "noise"])
def test_a_row_or_a_page_that_was_changed_is_found_and_mended(damaged, big, what):
    row = place(damaged, b'{"support":')
    page = damaged.stat().st_size // 2 // 4096 * 4096
    at, instead = {
        "a page that is still in order": (row, b'{"supper_":'),
        "not even text": (row, b"\xff\xfe\xfd"),
        "noise": (page, bytes(range(256)) * 16),
    }[what]
    write(damaged, at, instead)
    with refused("damaged", where=str(damaged)):
        open_store(damaged)
    assert (1250 if what == "noise" else 2000) < mended(damaged, big) < 2500


SMALL = tiny(runs=150)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "a.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "run_chunk", made_up)
        found = SMALL.run(path)
    return path, found, table(path)


@pytest.fixture
def damaged_small(small, tmp_path):
    path = tmp_path / "a.db"
    shutil.copy(small[0], path)
    return path


CHANGES = [
    "UPDATE runs SET stops = '[1,1]' WHERE run = 7",
    "UPDATE runs SET rounds = rounds + 1 WHERE run = 7",
    "UPDATE runs SET figures = x'00' WHERE run = 7",
    "UPDATE runs SET run = 9999 WHERE run = 7",
    "UPDATE runs SET chunk = chunk + 1 WHERE run = 7",
    "UPDATE chunks SET checksum = 'ab' WHERE id = 7",
    "UPDATE chunks SET number = number + 1 WHERE id = 7",
    "UPDATE chunks SET first = 'one', checksum = 'ab' WHERE id = 7",
    "DELETE FROM runs WHERE run = 7",
    "DELETE FROM chunks WHERE id = 7",
    "UPDATE configurations SET description = replace(description, '0.3', '0.4')",
    "UPDATE configurations SET reference = replace(reference, '1', '2')",
    "UPDATE configurations SET reference = 'nothing'",
    "DELETE FROM campaign",
    "DROP TABLE configurations",
    "DROP TABLE chunks",
    "DROP TABLE runs",
]


def test_a_row_that_was_changed_by_hand_is_found_and_mended(tmp_path, small):
    for k, change in enumerate(CHANGES):
        path = tmp_path / str(k) / "a.db"
        path.parent.mkdir()
        shutil.copy(small[0], path)
        with closing(sqlite3.connect(path)) as db:
            db.execute(change)
            db.commit()
        with refused("damaged", where=str(path)):
            open_store(path)
        kept = mended(path, small, SMALL)
        least, most = 101, 299
        if "configurations" in change or "campaign" in change:
            least = most = 300
        elif "DROP" in change:
            least = most = 0
        assert least <= kept <= most, change


def test_a_file_of_which_little_is_left_is_made_anew(tmp_path, small):
    for length in (5 * 4096, 4096, 100, 99, 1, 0):
        path = tmp_path / str(length) / "a.db"
        path.parent.mkdir()
        shutil.copy(small[0], path)
        os.truncate(path, length)
        with refused("damaged" if length > 1 else "no-campaign"):  # one byte is nothing, for SQLite
            open_store(path)
        assert mended(path, small, SMALL) == 0, length


def test_a_configuration_that_is_missing_is_known_again_when_its_campaign_runs(
    damaged_small, small, monkeypatch
):
    monkeypatch.delattr(execute, "run_chunk")  # nothing is made
    with closing(sqlite3.connect(damaged_small)) as db:
        db.execute("DELETE FROM configurations WHERE label = 'ofw'")
        db.commit()
    assert unmeasured(SMALL.run(damaged_small)) == unmeasured(small[1])


def test_a_changed_byte_anywhere_changes_no_report(small, tmp_path, monkeypatch):
    """A byte in every so many; the head of the file is looked at below."""
    monkeypatch.setattr(execute, "run_chunk", made_up)
    data = small[0].read_bytes()
    for number, at in enumerate(range(100 + 1997, len(data), 1997 * 3)):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "a.db"
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x15]) + data[at + 1 :])
        said = []
        assert unmeasured(SMALL.run(path, say=said.append)) == unmeasured(small[1]), at
        assert table(path) == small[2], at
        damage = [
            text for text in said if "has runs that were made by" not in text
        ]  # or the byte was in the digest of the sources
        assert len(list(folder.glob("a.db.damaged-*"))) == len(damage)


def test_a_damaged_head_is_mended_or_refused_in_a_sentence(small, tmp_path, monkeypatch):
    monkeypatch.setattr(execute, "run_chunk", made_up)
    data = small[0].read_bytes()
    for at in range(0, 100, 3):
        folder = tmp_path / str(at)
        folder.mkdir()
        path = folder / "a.db"
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x15]) + data[at + 1 :])
        try:
            assert unmeasured(SMALL.run(path)) == unmeasured(small[1]), at
        except cg.CombGameError as error:
            assert error.code in ("not-a-campaign", "foreign-file", "other-version")
            assert path.read_bytes()[at] == data[at] ^ 0x15  # left as it was


def test_a_kill_while_mending_loses_nothing_and_a_file_that_is_damaged_again_keeps_both(
    damaged_small, small, monkeypatch
):
    """The mended file takes the place of the damaged one in one step."""
    monkeypatch.setattr(execute, "run_chunk", made_up)
    os.truncate(damaged_small, damaged_small.stat().st_size * 9 // 10)
    before = damaged_small.read_bytes()

    def die(self, target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            SMALL.run(damaged_small)
    assert damaged_small.read_bytes() == before
    assert unmeasured(SMALL.run(damaged_small)) == unmeasured(small[1])
    os.truncate(damaged_small, damaged_small.stat().st_size // 2)
    SMALL.run(damaged_small)
    aside = list(damaged_small.parent.glob("a.db.damaged-*"))
    assert len(aside) == 3 and table(damaged_small) == small[2]  # twice where it was interrupted


def test_another_programs_damaged_file_is_left_alone(tmp_path):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (x)")
        db.executemany("INSERT INTO theirs VALUES (?)", [("x" * 100,)] * 1000)
        db.commit()
    os.truncate(path, path.stat().st_size // 2)
    before = path.read_bytes()
    with refused("foreign-file", where=str(path)):
        tiny().run(path, engine="python")
    assert path.read_bytes() == before and not list(tmp_path.glob("*damaged*"))


MAKER = """
import os, sqlite3, sys
from combgame.research.campaign import store as opening
from combgame.research.campaign import store
connect = sqlite3.connect

def traced(*args, **kwargs):
    db = connect(*args, **kwargs)
    def trace(statement):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
    db.set_trace_callback(trace)
    return db

sqlite3.connect = traced
for last in range(40):
    left = last
    child = os.fork()
    if child == 0:
        opening.open_store(f"{sys.argv[1]}/{last}.db", "tiny")
        os._exit(0)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print({0: "made", 9: "killed"}[ended], flush=True)
    if ended == 0:
        break
"""


def test_a_kill_while_the_file_is_made_leaves_one_that_can_be_used(tmp_path):
    """Whatever statement is the last one."""
    campaign, ended = tiny(runs=2), 0
    expected = whole_table(campaign, tmp_path)
    found = subprocess.run(
        [sys.executable, "-c", MAKER, str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert found.stdout.split() == ["killed"] * 13 + ["made"], found.stderr
    for path in tmp_path.glob("[0-9]*.db"):
        campaign.run(path, engine="python")
        assert table(path) == expected
        with open_store(path)[0] as file:
            assert file.name == "tiny"
        ended += 1
    assert ended == 14


SPILLER = """
import os, sqlite3, sys
from pathlib import Path
from combgame.research.campaign import store as opening
from combgame.research.campaign import store
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
if len(sys.argv) > 2:
    db.execute(f"PRAGMA application_id = {store.MARK}")
    for line in store.TABLES.split(";"):
        db.execute(line)
row = "INSERT INTO runs VALUES ('k', ?, '', '', '', 0, '', 0.0, 99)"
db.executemany(row, [(i,) for i in range(3000)])
os._exit(9)
"""


def test_a_kill_in_the_middle_of_a_transaction_leaves_what_was_before(tmp_path):
    """Pages of it are in the file already; SQLite's journal takes them out again."""
    campaign = tiny(runs=3)
    expected = whole_table(campaign, tmp_path)
    campaign.run(tmp_path / "a.db", engine="python")
    for name, more in (("a.db", []), ("b.db", ["new"])):
        path = tmp_path / name
        size = path.stat().st_size if path.exists() else 0
        subprocess.run([sys.executable, "-c", SPILLER, str(path), *more], timeout=60)
        assert path.stat().st_size > size + 4096 and Path(f"{path}-journal").stat().st_size > 0
        said = []
        campaign.run(path, engine="python", say=said.append)
        assert (
            said == ([] if size else [f"{path} was empty: all of its runs are made anew."])
            and table(path) == expected
        )


def test_a_file_that_somebody_else_has_locked_is_not_taken_for_a_damaged_one(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "PATIENCE", 0.1)
    campaign, path = tiny(runs=3), tmp_path / "a.db"
    campaign.run(path, engine="python")
    with closing(sqlite3.connect(path)) as db:
        db.execute("BEGIN EXCLUSIVE")
        with refused("busy", where=str(path), seconds=0.1):
            campaign.run(path, engine="python")
    campaign.run(path, engine="python")
    assert not list(tmp_path.glob("*damaged*"))


def test_a_reader_is_not_misled_by_a_chunk_that_is_stored_meanwhile(tmp_path, monkeypatch):
    campaign, path = tiny(runs=4, rules=["uniform"]), tmp_path / "a.db"
    campaign.run(path, engine="python")
    chunk = execute.run_chunk(campaign.configurations[0], 4, 2, "python", execute.here())
    connect, added = sqlite3.connect, []

    def watched(*args, **kwargs):
        db = connect(*args, **kwargs)

        def writes(statement):
            if "FROM chunks" in statement and not added:
                added.append(True)
                with suppress(cg.CombGameError), Store(path) as writer:
                    writer.db.execute("PRAGMA busy_timeout = 0")
                    writer.add(chunk)

        db.set_trace_callback(writes)
        return db

    monkeypatch.setattr(sqlite3, "connect", watched)
    with open_store(path)[0] as file:
        assert added and len(file.rows(campaign.configurations[0].key)) in (4, 6)
