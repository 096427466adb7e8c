"""Campaigns: the same rows wherever they are made, nothing computed twice, and nothing stored is
lost, whatever is killed, cut or full.
"""

import csv
import io
import json
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from scipy.stats import binomtest

import combgame as cg
from combgame.campaign import execute, opening, pools, store
from combgame.campaign.opening import open_store
from combgame.campaign.report import rows, show
from combgame.campaign.store import Chunk, Row, Store
from combgame.rules.uniform import Uniform
from combgame.simulate.bench import Bench
from combgame.simulate.result import error_interval
from combgame.storage.lock import Lock, lock_path

MEANS = (0.5, 0.3, 0.2, 0.1)
PROBLEM = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
FOUR = cg.Instance("four", PROBLEM, MEANS)
MEASURED = {"seconds", "rounds_per_second", "us_per_round"}
TOML = """
runs = 5
delta = 0.1
threshold = "stylised"
rules = ["uniform"]

[[problems]]
actions = {kind = "subsets", arms = 4, size = 2}
answers = {kind = "arms"}
rewards = {kind = "gaussian", sigma = 0.1}
truth = {means = [0.5, 0.3, 0.2, 0.1]}
"""


def tiny(runs=6, rules=("ofw", "uniform"), name="tiny", **settings):
    return cg.Campaign.cross(
        name,
        [FOUR],
        rules,
        **{"delta": (0.1, 0.01), "threshold": "stylised", "runs": runs, **settings},
    )


def unmeasured(lines):
    return [{name: value for name, value in line.items() if name not in MEASURED} for line in lines]


def table(path):
    """Every row of a campaign file, without what is measured."""
    with open_store(path)[0] as file:
        return unmeasured(rows(file))


def whole_table(campaign, folder):
    """The table of the campaign when nothing happens to it."""
    campaign.run(folder / "uninterrupted.db", engine="python")
    return table(folder / "uninterrupted.db")


def until(found, seconds=60.0):
    """Ask again and again; what is found, when there is something."""
    last = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < last, "it does not happen"
        time.sleep(0.01)
    return value


def count(path):
    """How many runs are committed, seen from outside."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60.0)) as db:
            return db.execute("SELECT COUNT(*) FROM runs").fetchone()[0]
    except sqlite3.Error:
        return 0


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


RULES = '''
import os
import time
from dataclasses import dataclass
from pathlib import Path

from combgame.rules.uniform import Uniform


@dataclass(frozen=True)
class Gated(Uniform):
    """Says in which process it is, and waits there until the gate is open."""

    folder: str = ""

    def setup(self, problem):
        folder = Path(self.folder)
        (folder / f"{os.getpid()}.pid").touch()
        last = time.monotonic() + 60.0
        while not (folder / "open").exists():
            assert time.monotonic() < last
            time.sleep(0.01)
        return super().setup(problem)


@dataclass(frozen=True)
class Deadly(Uniform):
    """Ends every process but one."""

    spared: int = 0

    def setup(self, problem):
        if os.getpid() != self.spared:
            os._exit(1)
        return super().setup(problem)
'''


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """A module with rules of a user's, which workers can import too."""
    (tmp_path / "campaign_rules.py").write_text(RULES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "campaign_rules", raising=False)
    import campaign_rules

    yield campaign_rules
    sys.modules.pop("campaign_rules", None)


def inside(folder):
    """The processes that have come to a gate."""
    return [int(file.stem) for file in folder.glob("*.pid")]


@pytest.fixture
def local_cluster():
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


# ---- the same rows everywhere


def test_rows_do_not_depend_on_the_engine_and_are_those_of_simulate(tmp_path):
    campaign = tiny()
    for engine in ("python", "compiled"):
        campaign.run(tmp_path / f"{engine}.db", engine=engine)
    found = table(tmp_path / "python.db")
    assert len(found) == 2 * 6 * 2 and found == table(tmp_path / "compiled.db")
    for rule in ("ofw", "uniform"):
        sim = cg.simulate(
            PROBLEM,
            MEANS,
            rule=rule,
            delta=[0.1, 0.01],
            threshold="stylised",
            runs=6,
            engine="python",
        )
        for delta in (0.1, 0.01):
            lines = [line for line in found if line["rule"] == rule and line["delta"] == delta]
            assert [line["rounds"] for line in lines] == sim.at(delta).rounds.tolist()
            assert [tuple(map(int, line["answer"].split())) for line in lines] == sim.at(
                delta
            ).answers
            assert [line["correct"] for line in lines] == sim.at(delta).correct.tolist()


def test_capped_runs_have_no_answer(tmp_path):
    lines = tiny(runs=3, rules=["uniform"], max_rounds=3, delta=(1e-8, 1e-9)).run(
        tmp_path / "a.db", engine="python"
    )
    assert [line["capped"] for line in lines] == [3, 3] and [line["mean"] for line in lines] == [
        3.0,
        3.0,
    ]
    assert {
        (line["answer"], line["correct"], line["capped"]) for line in table(tmp_path / "a.db")
    } == {("", False, True)}


def test_rows_do_not_depend_on_the_processes(tmp_path):
    campaign = tiny(runs=12)
    campaign.run(tmp_path / "two.db", jobs=2, engine="python")
    assert table(tmp_path / "two.db") == whole_table(campaign, tmp_path)


@pytest.mark.parametrize("jobs", [1, 2])
def test_rows_do_not_depend_on_a_cluster_of_this_machine(tmp_path, jobs):
    campaign = tiny(runs=12)
    campaign.run(tmp_path / "cluster.db", jobs=jobs, cluster="local", engine="python")
    assert table(tmp_path / "cluster.db") == whole_table(campaign, tmp_path)


def test_rows_do_not_depend_on_a_cluster_given_by_its_address(tmp_path, local_cluster):
    campaign = tiny(runs=12)
    campaign.run(tmp_path / "cluster.db", cluster=local_cluster.scheduler_address, engine="python")
    assert table(tmp_path / "cluster.db") == whole_table(campaign, tmp_path)


# ---- going on


@pytest.fixture
def made(monkeypatch):
    """The numbers of the runs that are made in this process, in their order."""
    numbers, one = [], Bench.one

    def counted(self, number):
        numbers.append(number)
        return one(self, number)

    monkeypatch.setattr(Bench, "one", counted)
    return numbers


def test_a_campaign_that_was_cut_off_anywhere_ends_with_the_same_table(tmp_path, monkeypatch, made):
    campaign, one = tiny(runs=8), Bench.one
    expected = whole_table(campaign, tmp_path)
    for end in range(16):
        path, calls = tmp_path / f"{end}.db", iter(range(end))

        def cut_off(self, number, calls=calls):
            if next(calls, None) is None:
                raise KeyboardInterrupt
            return one(self, number)

        with monkeypatch.context() as patch:
            patch.setattr(Bench, "one", cut_off)
            with pytest.raises(KeyboardInterrupt):
                campaign.run(path, engine="python")
        stored = count(path)
        assert stored <= end and (
            stored > 0 or end < 2
        )  # the first run of each rule is stored by itself
        made.clear()
        campaign.run(path, engine="python")
        assert len(made) == 16 - stored and table(path) == expected


def test_what_is_stored_is_not_made_again(tmp_path, made):
    tiny(runs=5).run(tmp_path / "a.db", engine="python")
    made.clear()
    before = tiny(runs=5).run(tmp_path / "a.db", engine="python")
    assert made == [] and [line["runs"] for line in before] == [5] * 4
    after = tiny(runs=9).run(tmp_path / "a.db", engine="python")
    assert sorted(made) == sorted([5, 6, 7, 8] * 2) and [line["runs"] for line in after] == [9] * 4
    assert table(tmp_path / "a.db") == whole_table(tiny(runs=9), tmp_path)
    fewer = tiny(runs=5).run(
        tmp_path / "a.db", engine="python"
    )  # of nine stored ones, the five that were asked for
    assert unmeasured(fewer) == unmeasured(before)


@dataclass(frozen=True)
class Listing(Uniform):
    """An option that has no hash."""

    impartial = True
    words: list[str] = field(default_factory=lambda: ["a", "b"])


def test_options_of_a_users_rule_may_be_lists(tmp_path):
    tiny(runs=3, rules={"mine": Listing()}).run(tmp_path / "a.db", engine="python")
    tiny(runs=3, rules=["uniform"]).run(tmp_path / "b.db", engine="python")
    mine, usual = (table(tmp_path / name) for name in ("a.db", "b.db"))
    assert [line["rounds"] for line in mine] == [line["rounds"] for line in usual]


def test_holes_are_filled(tmp_path, made):
    """Runs may be stored in any order."""
    campaign = tiny(runs=9, rules=["uniform"])
    expected = whole_table(campaign, tmp_path)
    with open_store(tmp_path / "a.db", "tiny")[0] as file:
        file.register(campaign, execute.references(campaign.configurations, file))
        for first in (1, 4, 7):
            file.add(execute.work(campaign.configurations[0], first, 2, "python", execute.here()))
    made.clear()
    campaign.run(tmp_path / "a.db", engine="python")
    assert sorted(made) == [0, 3, 6] and table(tmp_path / "a.db") == expected


def test_two_campaigns_may_share_a_file(tmp_path, made):
    first, second = (
        tiny(runs=4),
        tiny(runs=6, rules={"mine": "uniform", "hedge": "hedge"}, name="second"),
    )
    one = first.run(tmp_path / "a.db", engine="python")
    made.clear()
    two = second.run(tmp_path / "a.db", engine="python")
    assert len(made) == 2 + 6  # uniform has four runs already
    assert [line["rule"] for line in two] == ["mine"] * 2 + ["hedge"] * 2 and [
        line["runs"] for line in two
    ] == [6] * 4
    made.clear()
    assert (
        unmeasured(first.run(tmp_path / "a.db", engine="python")) == unmeasured(one) and made == []
    )
    assert {line["rule"] for line in table(tmp_path / "a.db")} == {"ofw", "uniform", "hedge"}
    both = first + second
    assert len(both.configurations) == 3


def test_a_chunk_that_comes_twice_is_stored_once(tmp_path):
    campaign = tiny(runs=4, rules=["uniform"])
    campaign.run(tmp_path / "a.db", engine="python")
    before = table(tmp_path / "a.db")
    with open_store(tmp_path / "a.db")[0] as file:
        file.add(execute.work(campaign.configurations[0], 2, 2, "python", execute.here()))
        file.add(execute.work(campaign.configurations[0], 3, 2, "python", execute.here()))
    after = table(tmp_path / "a.db")
    assert (
        after[: len(before)] == before and len(after) == len(before) + 2
    )  # run 4 is new, for two deltas


# ---- kill -9


DRIVER = """
import sys
sys.path.insert(0, sys.argv[1])
import combgame as cg
from campaign_rules import Gated

if __name__ == "__main__":
    problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    four = cg.Instance("four", problem, (0.5, 0.3, 0.2, 0.1))
    rules = {"ofw": "ofw", "gated": Gated(folder=sys.argv[1])}
    how = {"delta": (0.1, 0.01), "threshold": "stylised", "runs": 20}
    campaign = cg.Campaign.cross("tiny", [four], rules, **how)
    campaign.run(sys.argv[2], jobs=2, cluster=sys.argv[3] or None, engine="python")
"""


@pytest.mark.parametrize("cluster", ["", "local"])
def test_a_killed_driver_loses_nothing_that_was_stored(tmp_path, parts, cluster):
    path = tmp_path / "a.db"
    (tmp_path / "driver.py").write_text(DRIVER)
    command = [sys.executable, str(tmp_path / "driver.py"), str(tmp_path), str(path), cluster]
    with (tmp_path / "log").open("w") as log:
        driver = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        workers = until(
            lambda: count(path) > 0 and inside(tmp_path)
        )  # one worker is in the middle of a chunk
        stored = count(path)
    finally:
        driver.kill()
        driver.wait()
    with Lock(path):  # nobody holds it any more, although that worker may still be there
        with open_store(path)[0] as file:
            kept = rows(file)
        assert len(kept) >= 2 * stored and len(
            {(line["identity"], line["delta"]) for line in kept}
        ) == len(kept)
    until(lambda: not any(alive(pid) for pid in workers), 30.0)  # it is not left to its gate
    (tmp_path / "open").touch()
    subprocess.run(command, check=True, timeout=120)
    campaign = tiny(runs=20, rules={"ofw": "ofw", "gated": parts.Gated(folder=str(tmp_path))})
    assert table(path) == whole_table(campaign, tmp_path)


def kill_the_first(folder):
    """A thread that kills the first process at the gate, and then opens it."""

    def work():
        try:
            os.kill(until(lambda: inside(folder))[0], signal.SIGKILL)
        finally:
            (folder / "open").touch()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.mark.parametrize("cluster", [None, "local"])
def test_a_killed_worker_is_replaced(tmp_path, parts, cluster):
    campaign = tiny(runs=12, rules={"ofw": "ofw", "gated": parts.Gated(folder=str(tmp_path))})
    thread = kill_the_first(tmp_path)
    campaign.run(tmp_path / "a.db", jobs=2, cluster=cluster, engine="python")
    thread.join()
    assert len(inside(tmp_path)) > 1  # somebody else has made it
    assert table(tmp_path / "a.db") == whole_table(campaign, tmp_path)


def test_a_worker_that_dies_while_a_chunk_is_being_stored_is_replaced(tmp_path, monkeypatch):
    """Then the pool is found broken by whoever hands out the next chunk."""
    add, killed = Store.add, []

    def kills(self, chunk):
        add(self, chunk)
        if not killed:
            from joblib.externals.loky import reusable_executor

            pool = reusable_executor._executor
            killed.append(int(chunk.worker.rpartition(":")[2]))
            os.kill(killed[0], signal.SIGKILL)
            until(lambda: pool._flags.broken is not None)

    monkeypatch.setattr(Store, "add", kills)
    campaign = tiny(runs=12)
    campaign.run(tmp_path / "a.db", jobs=2, engine="python")
    assert killed and table(tmp_path / "a.db") == whole_table(campaign, tmp_path)


@pytest.mark.parametrize("cluster", [None, "local"])
def test_a_run_that_always_kills_its_worker_ends_the_campaign_with_a_sentence(
    tmp_path, parts, cluster
):
    import dask
    import distributed  # noqa: F401  (brings its settings)

    campaign = tiny(runs=4, rules={"deadly": parts.Deadly(spared=os.getpid()), "ofw": "ofw"})
    once = dask.config.set(
        {"distributed.scheduler.allowed-failures": 0}
    )  # a cluster would try four times itself, every time
    with (
        once,
        pytest.raises(
            cg.CombGameError,
            match=r"deadly on four: the worker died 3 times at run 0 .* is stored\.$",
        ),
    ):
        campaign.run(tmp_path / "a.db", jobs=2, cluster=cluster, engine="python")
    assert {line["rule"] for line in table(tmp_path / "a.db")} == {"ofw"}
    campaign.run(tmp_path / "a.db", engine="python")  # in this process it can be made
    assert table(tmp_path / "a.db") == whole_table(campaign, tmp_path)


# ---- a damaged file


def made_up(configuration, first, number, engine, sources):
    """Rows that cost nothing."""
    lines = [
        Row(
            run,
            [1000 + run, 2000 + run],
            [[0], [run % 4]],
            [True, run % 4 == 0],
            2000 + run,
            {"support": run % 7, "x" * 240: run},
            0.1,
        )
        for run in range(first, first + number)
    ]
    return Chunk(configuration.key, first, lines, sources, "somebody:1", 0.1 * number)


MANY = tiny(runs=1250)


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A campaign file of some hundred pages, and what its campaign reports."""
    path = tmp_path_factory.mktemp("big") / "a.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "work", made_up)
        found = MANY.run(path)
    assert path.stat().st_size > 200 * 4096
    return path, found, table(path)


@pytest.fixture
def damaged(big, tmp_path, monkeypatch):
    """A copy that a test may damage."""
    monkeypatch.setattr(execute, "work", made_up)
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
        patch.setattr(execute, "work", counted)
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


CUTS = {
    "half": lambda size: size // 2,
    "nine tenths": lambda size: size * 9 // 10,
    "a page less": lambda size: size - 4096,
    "a byte less": lambda size: size - 1,
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_file_that_was_cut_is_found_and_mended(damaged, big, cut):
    size = damaged.stat().st_size
    os.truncate(damaged, CUTS[cut](size))
    with pytest.raises(cg.CombGameError, match="is damaged"):
        open_store(damaged)
    least = {"half": 0.3, "nine tenths": 0.7, "a page less": 0.9, "a byte less": 0.9}
    assert least[cut] * 2500 <= mended(damaged, big) < 2500


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


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (b'{"support":', b'{"supper_":'),  # a page that is still in order
        (b'{"support":', b'{"support;'),
        (b'{"support":', b"\xff\xfe\xfd"),  # not even text
        (b"[true,true]", b"[true,flse]"),
        (b"somebody:1", b"\0" * 300),
    ],
)
def test_a_row_that_was_changed_is_found_and_mended(damaged, big, words, instead):
    write(damaged, place(damaged, words), instead)
    with pytest.raises(cg.CombGameError, match="is damaged"):
        open_store(damaged)
    assert 2000 < mended(damaged, big) < 2500


def test_a_page_of_noise_is_found_and_mended(damaged, big):
    write(damaged, damaged.stat().st_size // 2 // 4096 * 4096, bytes(range(256)) * 16)
    with pytest.raises(cg.CombGameError, match="is damaged"):
        open_store(damaged)
    assert 1250 < mended(damaged, big) < 2500


SMALL = tiny(runs=150)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "a.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "work", made_up)
        found = SMALL.run(path)
    return path, found, table(path)


@pytest.fixture
def damaged_small(small, tmp_path):
    path = tmp_path / "a.db"
    shutil.copy(small[0], path)
    return path


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE runs SET stops = '[1,1]' WHERE run = 7",
        "UPDATE runs SET rounds = rounds + 1 WHERE run = 7",
        "UPDATE runs SET figures = x'00' WHERE run = 7",
        "UPDATE runs SET run = 9999 WHERE run = 7",
        "UPDATE runs SET chunk = chunk + 1 WHERE run = 7",
        "UPDATE chunks SET checksum = 'ab' WHERE id = 7",
        "UPDATE chunks SET number = number + 1 WHERE id = 7",
        "DELETE FROM runs WHERE run = 7",
        "DELETE FROM chunks WHERE id = 7",
        "UPDATE configurations SET description = replace(description, '0.3', '0.4')",
        "UPDATE configurations SET reference = replace(reference, '1', '2')",
        "UPDATE configurations SET reference = 'nothing'",
        "DELETE FROM campaign",
        "DROP TABLE configurations",
        "DROP TABLE chunks",
        "DROP TABLE runs",
    ],
)
def test_a_row_that_was_changed_by_hand_is_found_and_mended(damaged_small, small, change):
    with closing(sqlite3.connect(damaged_small)) as db:
        db.execute(change)
        db.commit()
    with pytest.raises(cg.CombGameError, match="is damaged"):
        open_store(damaged_small)
    kept = mended(damaged_small, small, SMALL)
    if "configurations" in change or "campaign" in change:
        assert kept == 300
    else:
        assert kept == 0 if "DROP" in change else 100 < kept < 300


@pytest.mark.parametrize("length", [5 * 4096, 2 * 4096, 4096, 1000, 100, 99, 10, 1, 0])
def test_a_file_of_which_little_is_left_is_made_anew(damaged_small, small, length):
    os.truncate(damaged_small, length)
    with pytest.raises(cg.CombGameError, match=r"is damaged|it is empty"):
        open_store(damaged_small)
    assert mended(damaged_small, small, SMALL) == 0


def test_a_configuration_that_is_missing_is_known_again_when_its_campaign_runs(
    damaged_small, small, monkeypatch
):
    monkeypatch.delattr(execute, "work")  # nothing is made
    with closing(sqlite3.connect(damaged_small)) as db:
        db.execute("DELETE FROM configurations WHERE label = 'ofw'")
        db.commit()
    assert unmeasured(SMALL.run(damaged_small)) == unmeasured(small[1])


@pytest.mark.parametrize("block", range(4))
def test_a_changed_byte_anywhere_changes_no_report(small, tmp_path, monkeypatch, block):
    """A byte in every so many; the head of the file is looked at below."""
    monkeypatch.setattr(execute, "work", made_up)
    data = small[0].read_bytes()
    for number, at in enumerate(range(100 + 1997 * block, len(data), 1997 * 4)):
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
    monkeypatch.setattr(execute, "work", made_up)
    data = small[0].read_bytes()
    for at in range(0, 100, 3):
        folder = tmp_path / str(at)
        folder.mkdir()
        path = folder / "a.db"
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x15]) + data[at + 1 :])
        try:
            assert unmeasured(SMALL.run(path)) == unmeasured(small[1]), at
        except cg.CombGameError as error:
            assert (
                "choose another" in str(error)
                or "another version" in str(error)
                or "new --store" in str(error)
            )
            assert path.read_bytes()[at] == data[at] ^ 0x15  # left as it was


def test_a_file_that_is_damaged_again_keeps_both(damaged_small, small, monkeypatch):
    monkeypatch.setattr(execute, "work", made_up)
    for _ in range(2):
        os.truncate(damaged_small, damaged_small.stat().st_size // 2)
        SMALL.run(damaged_small)
    assert (
        len(list(damaged_small.parent.glob("a.db.damaged-*"))) == 2
        and table(damaged_small) == small[2]
    )


def test_a_kill_while_mending_loses_nothing(damaged_small, small, monkeypatch):
    """The mended file takes the place of the damaged one in one step."""
    monkeypatch.setattr(execute, "work", made_up)
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


def test_another_programs_damaged_file_is_left_alone(tmp_path):
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (x)")
        db.executemany("INSERT INTO theirs VALUES (?)", [("x" * 100,)] * 1000)
        db.commit()
    os.truncate(path, path.stat().st_size // 2)
    before = path.read_bytes()
    with pytest.raises(cg.CombGameError, match="is another program's SQLite file"):
        tiny().run(path, engine="python")
    assert path.read_bytes() == before and not list(tmp_path.glob("*damaged*"))


MAKER = """
import os, sqlite3, sys
from combgame.campaign import opening, store
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

store.sqlite3.connect = traced
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
    assert found.stdout.split() == ["killed"] * 10 + ["made"], found.stderr
    for path in tmp_path.glob("[0-9]*.db"):
        campaign.run(path, engine="python")
        assert table(path) == expected
        with open_store(path)[0] as file:
            assert file.name == "tiny"
        ended += 1
    assert ended == 11


SPILLER = """
import os, sqlite3, sys
from pathlib import Path
from combgame.campaign import opening, store
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
        with pytest.raises(cg.CombGameError, match="another process is writing to it; wait for it"):
            campaign.run(path, engine="python")
    campaign.run(path, engine="python")
    assert not list(tmp_path.glob("*damaged*"))


def test_a_reader_is_not_misled_by_a_chunk_that_is_stored_meanwhile(tmp_path, monkeypatch):
    campaign, path = tiny(runs=4, rules=["uniform"]), tmp_path / "a.db"
    campaign.run(path, engine="python")
    chunk = execute.work(campaign.configurations[0], 4, 2, "python", execute.here())
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

    monkeypatch.setattr(store.sqlite3, "connect", watched)
    with open_store(path)[0] as file:
        assert added and len(file.rows(campaign.configurations[0].key)) in (4, 6)


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
        full.stderr.startswith(f"combgame: {path}: the disk or the quota is full")
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


@pytest.mark.parametrize("size", [1, 3000])
def test_a_disk_without_any_room_is_said(tmp_path, size):
    (tmp_path / "a.toml").write_text(TOML)
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
        patch.setattr(execute, "work", made_up)
        patch.setattr(opening, "Store", Limited)
        with pytest.raises(cg.CombGameError, match=r"quota is full.*run the same command again"):
            campaign.run(path)
    kept = table(path)
    monkeypatch.setattr(execute, "work", made_up)
    campaign.run(path)
    after = table(path)
    whole = {(line["identity"], line["delta"]): line for line in after}
    assert 100 < len(kept) < len(after) == len(whole) == 2000
    assert all(whole[line["identity"], line["delta"]] == line for line in kept)


# ---- two writers


HOLDER = """
import sys
from pathlib import Path
from combgame.storage.lock import Lock
with Lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_process_writes_at_a_time(tmp_path, capsys):
    campaign, path = tiny(runs=3), tmp_path / "a.db"
    campaign.run(path, engine="python")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(
            cg.CombGameError,
            match=rf"a\.db is being written by process {holder.pid} on .*; wait until it has "
            r"finished",
        ):
            tiny(runs=5).run(path, engine="python")
        code, out, _ = command(capsys, "campaign", "status", path)
        assert code == 0 and f"It is being worked on by process {holder.pid} on " in out
        code, out, _ = command(capsys, "campaign", "status", path, "--json")
        told = json.loads(out)
        assert f"process {holder.pid} " in told["running"] and (
            told["stored"],
            told["planned"],
        ) == (6, 6)
    finally:
        holder.kill()
        holder.wait()
        holder.stdin.close()
        holder.stdout.close()
    assert Lock.holder(lock_path(path)) is None
    tiny(runs=5).run(path, engine="python")
    assert json.loads(command(capsys, "campaign", "status", path, "--json")[1])["running"] is None


# ---- the command line


def command(capsys, *words):
    """The command line in this process: how it ended, and what it wrote."""
    from combgame.cli.app import main

    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["combgame", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
    return code, *capsys.readouterr()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished campaign of two problems, one of them in a file of its own."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "five.toml").write_text(
        'names = ["a", "b", "c", "d", "e"]\nactions = {kind = "subsets", arms = 5, size = '
        '2}\nanswers = {kind = "arms"}\n'
        'rewards = {kind = "gaussian", sigma = 0.1}\ntruth = {means = {a = 0.1, b = 0.2, c = '
        "0.3, d = 0.4, e = 0.6}}\n"
    )
    (folder / "a.toml").write_text(
        TOML.replace(
            '["uniform"]',
            '["uniform", {rule = "uniform", start = "full", label = "all pairs first"}]',
        )
        .replace("0.1\nthr", "[0.1, 0.01]\nthr")
        .replace("[[problems]]\n", '[[problems]]\nname = "four arms"\nx = 4\n')
        + '\n[[problems]]\nfile = "five.toml"\nx = 5\n'
    )
    cg.read_campaign(folder / "a.toml").run(folder / "a.db", engine="python")
    return folder


def test_a_campaign_runs_from_the_command_line(tmp_path, finished, capsys):
    for name in ("a.toml", "five.toml"):
        shutil.copy(finished / name, tmp_path)
    code, out, err = command(capsys, "campaign", "run", tmp_path / "a.toml")
    assert (
        code == 0
        and "all 20 runs of" in err
        and len(out.split("\n\n")[0].splitlines()) == 1 + 2 * 2 * 2
    )
    assert (
        "four arms" in out
        and "five" in out
        and "all pairs first" in out
        and "stylised (heuristic)" in out
    )
    assert table(tmp_path / "a.db") == table(finished / "a.db")
    code, out, err = command(
        capsys,
        "campaign",
        "run",
        tmp_path / "a.toml",
        "--store",
        tmp_path / "b.db",
        "--runs",
        3,
        "--json",
    )
    assert code == 0 and {line["runs"] for line in json.loads(out)} == {3}
    with (tmp_path / "b.db").open("r+b") as file:
        file.truncate(5000)
    code, out, err = command(
        capsys, "campaign", "run", tmp_path / "a.toml", "--store", tmp_path / "b.db", "--runs", 3
    )
    assert (
        code == 0
        and err.startswith(f"combgame: {tmp_path / 'b.db'} was damaged")
        and err.count("\n") == 2
    )


def test_status_says_how_far_a_campaign_is(tmp_path, finished, capsys):
    code, out, _ = command(capsys, "campaign", "status", finished / "a.db")
    assert code == 0 and "a: 20 of 20 runs are stored" in out and "It is complete" in out
    assert "5 of 5       [####################] five: all pairs first" in out
    told = json.loads(command(capsys, "campaign", "status", finished / "a.db", "--json")[1])
    assert told["campaign"] == "a" and told["running"] is None and len(told["made_by"]) == 1
    assert [c["stored"] for c in told["configurations"]] == [5] * 4
    campaign = tiny(runs=4)
    with open_store(tmp_path / "b.db", "b")[0] as file:
        file.register(campaign, execute.references(campaign.configurations, file))
    code, out, _ = command(capsys, "campaign", "status", tmp_path / "b.db")
    assert code == 0 and "0 of 8 runs" in out and "Nobody is working on it" in out
    with open_store(tmp_path / "b.db")[0] as file:
        file.add(execute.work(campaign.configurations[0], 0, 2, "python", execute.here()))
    assert "2 of 8 runs" in command(capsys, "campaign", "status", tmp_path / "b.db")[1]


def test_reports_in_every_format(finished, capsys, tmp_path):
    path = finished / "a.db"
    lines = json.loads(command(capsys, "campaign", "report", path, "--json")[1])
    assert (
        lines == json.loads(command(capsys, "campaign", "report", path, "--format", "json")[1])
        and len(lines) == 8
    )
    for line in lines:
        assert (
            line["q25"] <= line["median"] <= line["q75"]
            and line["q25"] <= line["mean"]
            and line["runs"] == 5
        )
        assert (
            line["error_low"] == 0.0
            and line["error_high"] == pytest.approx(0.5218, abs=1e-4)
            and line["error_rate"] == 0.0
        )
        assert (
            line["ratio"] == pytest.approx(line["mean"] / line["limit"])
            and 0 < line["bound"] < line["limit"]
        )
    sim = cg.simulate(
        PROBLEM, MEANS, rule="uniform", delta=0.1, threshold="stylised", runs=5, engine="python"
    ).report()[0]
    assert all(
        lines[0][name] == pytest.approx(sim[name])
        for name in ("mean", "median", "q25", "q75", "bound", "limit", "ratio")
    )
    text = command(capsys, "campaign", "report", path)[1]
    assert text.splitlines()[0].split() == [
        "problem",
        "rule",
        "threshold",
        "delta",
        "seed",
        "runs",
        "mean",
        "q25",
        "median",
        "q75",
        "errors",
        "capped",
        "bound",
        "limit",
        "mean/limit",
        "us/round",
    ]
    assert "0.0% [0.0%, 52.2%]" in text and len(text.splitlines()) == 11
    marked = command(capsys, "campaign", "report", path, "-f", "markdown")[1].splitlines()
    assert marked[1].startswith("| --- | --- | --- | ---: |") and "Clopper-Pearson" in marked[-1]
    assert {line.count("|") for line in marked[:10]} == {17}
    table_ = list(
        csv.DictReader(io.StringIO(command(capsys, "campaign", "report", path, "-f", "csv")[1]))
    )
    assert len(table_) == 8 and [float(line["mean"]) for line in table_] == [
        line["mean"] for line in lines
    ]
    code, out, err = command(
        capsys, "campaign", "report", path, "-f", "csv", "-o", tmp_path / "r.csv"
    )
    assert code == 0 and out == "" and err == f"combgame: wrote {tmp_path / 'r.csv'}.\n"
    assert list(csv.DictReader((tmp_path / "r.csv").open())) == table_
    code, out, err = command(capsys, "campaign", "report", path, "-f", "excel")
    assert (
        code == 2 and "format = 'excel' is not known; use one of text, markdown, csv, json." in err
    )


def test_exports_have_a_line_per_run_and_delta(finished, capsys, tmp_path):
    path = finished / "a.db"
    lines = list(csv.DictReader(io.StringIO(command(capsys, "campaign", "export", path)[1])))
    assert len(lines) == 2 * 2 * 5 * 2 and len(
        {(line["identity"], line["delta"]) for line in lines}
    ) == len(lines)
    assert {line["answer"] for line in lines if line["instance"] == "five"} == {"4"}
    told = json.loads(command(capsys, "campaign", "export", path, "--json")[1])
    assert unmeasured(told) == table(path) and [str(line["rounds"]) for line in told] == [
        line["rounds"] for line in lines
    ]
    assert (
        command(capsys, "campaign", "export", path, "-f", "json", "-o", tmp_path / "e.json")[0] == 0
    )
    assert json.loads((tmp_path / "e.json").read_text()) == told
    code, _, err = command(capsys, "campaign", "export", path, "-f", "markdown")
    assert code == 2 and "format = 'markdown'" in err


def test_plots_have_the_rules_the_axes_and_the_problems(finished, capsys, tmp_path):
    code, out, err = command(
        capsys, "campaign", "plot", finished / "a.db", "-o", tmp_path / "new" / "p"
    )
    assert code == 0 and out == "" and "p.png" in err and "p.svg" in err
    png, svg = (tmp_path / "new" / f"p.{tail}" for tail in ("png", "svg"))
    assert (
        png.read_bytes()[:4] == b"\x89PNG"
        and png.stat().st_size > 10_000
        and svg.stat().st_size > 5_000
    )
    for words in (
        "uniform",
        "all pairs first",
        "stopping time (rounds): mean, quartiles",
        "problem",
        "delta = 0.1",
        "delta = 0.01",
    ):
        assert words in svg.read_text()
    first = svg.read_bytes(), png.read_bytes()
    command(capsys, "campaign", "plot", finished / "a.db", "-o", tmp_path / "new" / "p")
    assert (svg.read_bytes(), png.read_bytes()) == first
    tiny(runs=2, delta=0.1).run(tmp_path / "b.db", engine="python")  # without x
    assert command(capsys, "campaign", "plot", tmp_path / "b.db")[0] == 0
    assert "four" in (tmp_path / "b.svg").read_text() and (tmp_path / "b.png").exists()


def test_a_campaign_without_runs_can_be_looked_at(tmp_path, capsys):
    campaign = tiny(runs=4)
    with open_store(tmp_path / "b.db", "b")[0] as file:
        file.register(campaign, execute.references(campaign.configurations, file))
    assert json.loads(command(capsys, "campaign", "report", tmp_path / "b.db", "--json")[1]) == []
    assert command(capsys, "campaign", "report", tmp_path / "b.db")[0] == 0
    assert command(capsys, "campaign", "export", tmp_path / "b.db")[0] == 0
    code, _, err = command(capsys, "campaign", "plot", tmp_path / "b.db")
    assert code == 2 and err.count("\n") == 1 and "no runs" in err


BAD = {
    "unknown key": (
        ("runs = 5", "runs = 5\nspeed = 3"),
        "'speed' is not known; a campaign file has name, runs",
    ),
    "no problems": (("[[problems]]", "[other]"), "'other' is not known"),
    "problems left out": (
        (TOML[TOML.index("[[problems]]") :], ""),
        r"problems must be one or more \[\[problems\]\] tables",
    ),
    "no truth": (
        ("truth = {means = [0.5, 0.3, 0.2, 0.1]}", ""),
        r"problems\[0\]: a campaign simulates, so it needs the true means",
    ),
    "too few means": (("[0.5, 0.3, 0.2, 0.1]", "[0.5, 0.3]"), r"problems\[0\].* truth"),
    "a tie": (("[0.5, 0.3, 0.2, 0.1]", "[0.5, 0.5, 0.2, 0.1]"), "are equally good"),
    "unknown rule": (('["uniform"]', '["uniformly"]'), r"rules\[0\] = 'uniformly' is not known"),
    "no rules": (('["uniform"]', "[]"), "rules must be a list of at least one rule"),
    "rules of a number": (('["uniform"]', "[3]"), r"rules\[0\] = 3 must be one of"),
    "two labels": (
        ('["uniform"]', '["uniform", {rule = "ofw", label = "uniform"}]'),
        "two rules are called 'uniform'",
    ),
    "the same rule": (
        ('["uniform"]', '["uniform", {rule = "uniform", label = "b"}]'),
        "'b' on 'problem 1' is the same as 'uniform'",
    ),
    "two names": (
        ("[[problems]]", '[[problems]]\nfile = "other.toml"\nname = "p"\n[[problems]]\nname = "p"'),
        "two problems are called 'p'",
    ),
    "x is a text": (("[[problems]]", '[[problems]]\nx = "four"'), "x = 'four' must be a number"),
    "x is not a number": (("[[problems]]", "[[problems]]\nx = nan"), "x = nan must be a number"),
    "delta": (("delta = 0.1", "delta = 1.5"), "delta = 1.5"),
    "delta is a text": (("delta = 0.1", 'delta = "small"'), "delta = 'small'"),
    "no delta": (("delta = 0.1", "delta = []"), "delta"),
    "runs": (("runs = 5", "runs = 0"), "runs = 0 must be a whole number of at least 1"),
    "runs is a text": (("runs = 5", 'runs = "many"'), "runs = 'many'"),
    "seed": (("runs = 5", "runs = 5\nseed = -1"), "seed = -1"),
    "max_rounds": (("runs = 5", "runs = 5\nmax_rounds = 0"), "max_rounds = 0"),
    "threshold": (('"stylised"', '"stylish"'), "threshold = 'stylish' is not known"),
    "threshold is a number": (('"stylised"', "3"), "threshold = 3"),
    "thresholds are numbers": (('"stylised"', "[3]"), r"threshold = \[3\] must be a name"),
    "no threshold": (('"stylised"', "[]"), r"threshold = \[\] must be a name"),
    "no such problem file": (
        ("[[problems]]", '[[problems]]\nfile = "none.toml"\n[[problems]]'),
        "none.toml does not exist",
    ),
    "file and more": (
        ("[[problems]]", '[[problems]]\nfile = "other.toml"'),
        "'actions' cannot stand beside file",
    ),
    "not TOML": (("runs = 5", "runs = five"), "is not TOML"),
}


@pytest.mark.parametrize("slip", BAD)
def test_a_slip_in_a_campaign_file_gets_a_sentence(tmp_path, capsys, slip):
    (old, new), words = BAD[slip]
    assert old in TOML
    (tmp_path / "other.toml").write_text(TOML[TOML.index("actions") :])
    (tmp_path / "a.toml").write_text(TOML.replace(old, new))
    code, out, err = command(capsys, "campaign", "run", tmp_path / "a.toml")
    assert code == 2 and out == "" and err.startswith("combgame: ") and err.count("\n") == 1
    with pytest.raises(cg.CombGameError, match=words):
        cg.read_campaign(tmp_path / "a.toml")
    assert not list(tmp_path.glob("a.db*"))


def foreign(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (x)")
        db.commit()


def newer(path):
    tiny(runs=1).run(path, engine="python")
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
        db.commit()


PLACES = {
    "a text": (
        lambda path: path.write_text("hello, this is no database"),
        "a.db is not a campaign's file of runs",
    ),
    "a foreign file": (foreign, "a.db is another program's SQLite file, not a campaign"),
    "a newer file": (newer, r"was made by another version of combgame \(schema 99, here 1\)"),
    "a folder": (lambda path: path.mkdir(), "a.db is a folder"),
    "no folder": (lambda path: path.parent.rmdir(), "there is no folder"),
}


@pytest.mark.parametrize("kind", PLACES)
def test_a_store_that_is_none_gets_a_sentence_and_is_left_alone(tmp_path, capsys, kind):
    make, words = PLACES[kind]
    (tmp_path / "a.toml").write_text(TOML)
    path = tmp_path / "deeper" / "a.db"
    path.parent.mkdir()
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(cg.CombGameError, match=words):
        cg.read_campaign(tmp_path / "a.toml").run(path, engine="python")
    for line in (
        ["run", tmp_path / "a.toml", "--store", path],
        ["status", path],
        ["report", path],
        ["export", path],
        ["plot", path],
    ):
        code, out, err = command(capsys, "campaign", *line)
        assert code == 2 and out == "" and err.startswith("combgame: ") and err.count("\n") == 1, (
            line
        )
    assert before is None or path.read_bytes() == before


def test_a_report_that_cannot_be_written_gets_a_sentence(finished, tmp_path, capsys):
    (tmp_path / "file").touch()
    for line in (
        ["report", "-o", tmp_path / "none" / "a.txt"],
        ["export", "-o", tmp_path],
        ["plot", "-o", tmp_path / "file" / "p"],
    ):
        code, out, err = command(capsys, "campaign", line[0], finished / "a.db", *line[1:])
        assert code == 2 and out == "" and err.startswith("combgame: ") and err.count("\n") == 1, (
            line
        )


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "tcp://"])
def test_a_cluster_that_is_not_there_gets_a_sentence(tmp_path, monkeypatch, address):
    monkeypatch.setattr(pools, "ANSWER", 1.0)
    with pytest.raises(
        cg.CombGameError,
        match=rf"cluster = '{address}': no scheduler answers there .*dask scheduler",
    ):
        tiny(runs=1).run(tmp_path / "a.db", cluster=address)


def test_a_cluster_without_workers_gets_a_sentence(tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(pools, "ANSWER", 1.0)
    with LocalCluster(
        n_workers=0, processes=False, dashboard_address="127.0.0.1:0", protocol="tcp"
    ) as cluster:
        address = cluster.scheduler_address
        with pytest.raises(
            cg.CombGameError,
            match=f"cluster = '{address}': it has no workers; .*dask worker {address}",
        ):
            tiny(runs=1).run(tmp_path / "a.db", cluster=address)


CLUSTER = """
import sys
sys.path.insert(0, sys.argv[1])
from distributed import LocalCluster

if __name__ == "__main__":
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


def test_a_cluster_that_goes_away_gets_a_sentence_and_what_was_finished_is_stored(tmp_path, parts):
    (tmp_path / "cluster.py").write_text(CLUSTER)
    campaign = tiny(runs=8, rules={"ofw": "ofw", "gated": parts.Gated(folder=str(tmp_path))})
    tiny(runs=3, rules=["ofw"]).run(tmp_path / "a.db", engine="python")
    with (tmp_path / "log").open("w") as log:
        start = [sys.executable, str(tmp_path / "cluster.py"), str(tmp_path)]
        cluster = subprocess.Popen(
            start, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
    address = cluster.stdout.readline().strip()

    def kill():
        try:
            until(lambda: inside(tmp_path))
        finally:
            cluster.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(
        cg.CombGameError, match="the cluster is gone: its scheduler does not answer any more"
    ):
        campaign.run(tmp_path / "a.db", cluster=address, engine="python")
    thread.join()
    cluster.wait()
    cluster.stdin.close()
    cluster.stdout.close()
    assert len(table(tmp_path / "a.db")) >= 6
    (tmp_path / "open").touch()
    campaign.run(tmp_path / "a.db", engine="python")
    assert table(tmp_path / "a.db") == whole_table(campaign, tmp_path)


def test_a_worker_with_another_version_is_refused():
    campaign = tiny(runs=1)
    with pytest.raises(
        cg.CombGameError,
        match=r"but the campaign was started with 0\.0\.0 .* install the same one everywhere",
    ):
        execute.work(campaign.configurations[0], 0, 1, "python", "0.0.0 (other)")


# ---- figures, identities, progress


def test_the_interval_of_the_error_rate_is_exact():
    several = [(e, n) for n in range(1, 13) for e in range(n + 1)] + [
        (0, 750),
        (3, 750),
        (49, 1000),
        (999, 1000),
        (10**4, 10**5),
    ]
    for errors, runs in several:
        exact = binomtest(errors, runs).proportion_ci(0.95, method="exact")
        assert error_interval(errors, runs) == pytest.approx(
            (exact.low, exact.high), rel=1e-9, abs=1e-12
        ), (errors, runs)


def key(problem=PROBLEM, means=MEANS, rule="ofw", name="four", x=None, **settings):
    instance, label = cg.Instance(name, problem, means, x), settings.pop("label", "label")
    campaign = cg.Campaign.cross(
        "c", [instance], {label: rule}, **{"delta": 0.1, "threshold": "stylised", **settings}
    )
    return campaign.configurations[0].key


def test_names_do_not_make_another_run():
    usual = key()
    named = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1), names=["a", "b", "c", "d"])
    assert (
        usual
        == key(named)
        == key(name="other", x=3.0)
        == key(label="mine")
        == key(rule=cg.CombGame(cg.OFW()))
        == key(runs=7)
    )
    assert usual == key(means=dict(enumerate(MEANS))) == key(delta=[0.1]) and key(
        threshold="proved"
    ) == key(threshold="gaussian")


def test_whatever_determines_a_run_makes_another():
    sigma = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.2))
    boxed = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1), bounds=(0.0, 1.0))
    others = [
        key(),
        key(delta=0.05),
        key(delta=[0.1, 0.05]),
        key(seed=1),
        key(threshold="proved"),
        key(means=(0.5, 0.3, 0.2, 0.15)),
        key(sigma),
        key(boxed),
        key(cg.Problem(cg.Subsets(4, 3), cg.Arms(4), cg.Gaussian(0.1))),
        key(cg.Problem(cg.Subsets(4, 2), None, cg.Gaussian(0.1))),
        key(max_rounds=10),
        key(rule="uniform"),
        key(rule=cg.CombGame(cg.OFW(), tracking="D")),
        key(rule=cg.CombGame(cg.OFW(sparsify=False))),
    ]
    assert len(set(others)) == len(others)


def test_progress_says_the_rate_and_the_time_left(tmp_path, capsys):
    tiny(runs=30).run(tmp_path / "a.db", engine="python", progress=True)
    err = capsys.readouterr().err
    assert "tiny: 100%" in err and "60/60 runs" in err and "runs/s" in err and "left" in err
    tiny(runs=40).run(tmp_path / "a.db", engine="python", progress=True)
    assert "tiny:  75%" in capsys.readouterr().err  # what is stored counts
    tiny(runs=41).run(tmp_path / "a.db", engine="python")
    tiny(runs=42).run(tmp_path / "a.db", engine="python", progress=False)
    assert capsys.readouterr().err == ""  # not a terminal


def test_names_of_nodes_and_edges_do_not_change_a_key():
    def key(problem):
        return (
            cg.Campaign.cross(
                "c",
                [cg.Instance("i", problem, (0.5, 0.4, 0.3))],
                ["uniform"],
                runs=1,
                delta=0.1,
                threshold="proved",
            )
            .configurations[0]
            .key
        )

    noise = cg.Gaussian(1.0)
    plain = cg.Paths([("s", "a"), ("a", "t"), ("s", "t")], "s", "t")
    named = cg.Paths([(1, 2, "x"), (2, 9, "y"), (1, 9, "z")], 1, 9)
    other = cg.Paths([("s", "t"), ("s", "a"), ("a", "t")], "s", "t")
    assert (
        key(cg.Problem(plain, None, noise))
        == key(cg.Problem(named, None, noise))
        != key(cg.Problem(other, None, noise))
    )
    trees = [
        cg.SpanningTrees(edges)
        for edges in ([("a", "b"), ("b", "c"), ("a", "c")], [(5, 4), (4, 3), (5, 3)])
    ]
    assert key(cg.Problem(trees[0], None, noise)) == key(cg.Problem(trees[1], None, noise))
    assert key(cg.Problem(cg.Arms(3), None, cg.Gaussian(1))) == key(
        cg.Problem(cg.Arms(3), None, cg.Gaussian(1.0))
    )


def test_runs_made_by_other_sources_are_mentioned(tmp_path):
    campaign, said = tiny(runs=2), []
    campaign.run(tmp_path / "a.db", engine="python")
    with sqlite3.connect(tmp_path / "a.db") as db:
        db.execute("UPDATE chunks SET sources = '0.0.1 (somewhere else)'")
    db.close()
    tiny(runs=3).run(tmp_path / "a.db", engine="python", say=said.append)
    assert (
        len(said) == 1
        and "has runs that were made by 0.0.1 (somewhere else)" in said[0]
        and execute.here() in said[0]
    )


def test_bounds_that_decide_the_answer_are_no_trouble(tmp_path):
    problem = cg.Problem(cg.Arms(2), None, cg.Gaussian(1.0), bounds=[(0.6, 1.0), (0.0, 0.5)])
    report = cg.Campaign.cross(
        "c",
        [cg.Instance("i", problem, (0.8, 0.2))],
        ["uniform"],
        runs=2,
        delta=0.1,
        threshold="proved",
    ).run(tmp_path / "a.db", engine="python")
    assert report[0]["ratio"] is None and str(
        cg.simulate(
            problem,
            [0.8, 0.2],
            rule="uniform",
            runs=2,
            engine="python",
            delta=0.1,
            threshold="proved",
        )
    )


def test_bounded_rewards_have_no_bound_that_holds_for_every_rule(tmp_path):
    problem = cg.Problem(cg.Arms(2), None, cg.Bounded(0.0, 1.0))
    report = cg.Campaign.cross(
        "c",
        [cg.Instance("i", problem, (0.9, 0.1))],
        ["uniform"],
        runs=2,
        delta=0.1,
        threshold="proved",
    ).run(tmp_path / "a.db", engine="python")
    assert report[0]["bound"] is None and all(
        show(report, form) for form in ("text", "markdown", "csv", "json")
    )


def test_an_address_that_is_none_is_refused_at_once(tmp_path):
    with pytest.raises(cg.InputError, match="cluster = 'nonsense' must be a scheduler's address"):
        tiny().run(tmp_path / "a.db", cluster="nonsense")


def test_what_a_campaign_cannot_keep_is_refused_and_what_it_means_is_said():
    four = cg.Instance(
        "four", cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1)), (0.5, 0.3, 0.2, 0.1)
    )
    with pytest.raises(cg.InputError, match=r"record=True is for cg.regret"):
        cg.Campaign.cross(
            "c", [four], [cg.CombGame(record=True)], runs=1, delta=0.1, threshold="proved"
        )
    tied = cg.Instance("tied", four.problem, (0.5, 0.5, 0.2, 0.1))
    with pytest.raises(cg.TieError, match=r"tied: means: the answers .* change the means.$"):
        cg.Campaign.cross("c", [tied], ["ofw"], runs=1, delta=0.1, threshold="proved")
    labels = [
        c.label
        for c in cg.Campaign.cross(
            "c", [four], ["gcb-pe"], threshold=["stylised", "proved"], runs=1, delta=0.1
        ).configurations
    ]
    assert labels == ["gcb-pe, stylised, stopped by stylised", "gcb-pe, proved"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cg.Instance("i", None, (0.5,)), "Instance 'i': problem = None must be a Problem"),
        (lambda: cg.Instance("i", PROBLEM, (math.nan, *MEANS[1:])), "every value must be finite"),
        (
            lambda: cg.Campaign.cross("c", [PROBLEM], ["ofw"], delta=0.1, threshold="proved"),
            "must be a list of instances",
        ),
        (
            lambda: cg.Campaign.cross(
                "c", [cg.Instance("i", PROBLEM, MEANS)], "ofw", delta=0.1, threshold="proved"
            ),
            "rules = 'ofw' must be a list of rules",
        ),
        (
            lambda: cg.Campaign.cross(
                "c", [cg.Instance("i", PROBLEM, MEANS)], [], delta=0.1, threshold="proved"
            ),
            "has nothing to run",
        ),
        (lambda: cg.regret(None, MEANS, rule="lloo"), "regret: problem = None must be a Problem"),
    ],
)
def test_what_is_no_campaign_is_said_in_a_sentence(call, words):
    with pytest.raises(cg.InputError, match=words):
        call()
