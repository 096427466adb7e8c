"""The workers of a campaign, processes and clusters: killed, replaced, gone, of another version."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import combgame as cg
from combgame.research.campaign import execution as execute
from combgame.research.campaign import executors as pools
from combgame.research.campaign.lock import locked
from combgame.research.campaign.report import rows
from combgame.research.campaign.store import Store, open_store
from tests.campaigns import count, table, tiny, until, whole_table
from tests.said import refused

pytestmark = pytest.mark.slow  # processes, and clusters of dask


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

    def bind(self, problem):
        folder = Path(self.folder)
        (folder / f"{os.getpid()}.pid").touch()
        last = time.monotonic() + 60.0
        while not (folder / "open").exists():
            assert time.monotonic() < last
            time.sleep(0.01)
        return super().bind(problem)


@dataclass(frozen=True)
class Deadly(Uniform):
    """Ends every process but one."""

    spared: int = 0

    def bind(self, problem):
        if os.getpid() != self.spared:
            os._exit(1)
        return super().bind(problem)
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


@pytest.mark.parametrize("jobs", [1, 2])
def test_rows_do_not_depend_on_a_cluster_of_this_machine(tmp_path, jobs):
    campaign = tiny(runs=12)
    campaign.run(tmp_path / "cluster.db", jobs=jobs, cluster="local", engine="python")
    assert table(tmp_path / "cluster.db") == whole_table(campaign, tmp_path)


def test_rows_do_not_depend_on_a_cluster_given_by_its_address(tmp_path, local_cluster):
    campaign = tiny(runs=12)
    campaign.run(tmp_path / "cluster.db", cluster=local_cluster.scheduler_address, engine="python")
    assert table(tmp_path / "cluster.db") == whole_table(campaign, tmp_path)


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
    with locked(path):  # nobody holds it any more, although that worker may still be there
        with open_store(path)[0] as file:
            kept = rows(file)
        assert len(kept) >= 2 * stored
        assert len({(line["identity"], line["delta"]) for line in kept}) == len(kept)
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
    with once, refused("worker-dies", label="deadly", instance="four", tries=3, runs="0"):
        campaign.run(tmp_path / "a.db", jobs=2, cluster=cluster, engine="python")
    assert {line["rule"] for line in table(tmp_path / "a.db")} == {"ofw"}
    campaign.run(tmp_path / "a.db", engine="python")  # in this process it can be made
    assert table(tmp_path / "a.db") == whole_table(campaign, tmp_path)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "tcp://"])
def test_a_cluster_that_is_not_there_gets_a_sentence(tmp_path, monkeypatch, address):
    monkeypatch.setattr(pools, "ANSWER", 1.0)
    with refused("no-scheduler", cluster=address):
        tiny(runs=1).run(tmp_path / "a.db", cluster=address)


CLUSTER = """
import sys
sys.path.insert(0, sys.argv[1])
from distributed import LocalCluster

if __name__ == "__main__":
    workers = int(sys.argv[2])
    own = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    cluster = LocalCluster(n_workers=workers, **own)
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


def beside(folder, workers):
    """A cluster in a process of its own, and its address."""
    (folder / "cluster.py").write_text(CLUSTER)
    with (folder / "log").open("w") as log:
        start = [sys.executable, str(folder / "cluster.py"), str(folder), str(workers)]
        cluster = subprocess.Popen(
            start, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
    return cluster, cluster.stdout.readline().strip()


def ended(cluster):
    cluster.wait()
    cluster.stdin.close()
    cluster.stdout.close()


def test_a_cluster_without_workers_gets_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(pools, "ANSWER", 1.0)
    cluster, address = beside(tmp_path, 0)
    try:
        with refused("no-workers", cluster=address) as caught:
            tiny(runs=1).run(tmp_path / "a.db", cluster=address)
        assert f"dask worker {address}" in caught.value.remedy
    finally:
        cluster.kill()
        ended(cluster)


def test_a_cluster_that_goes_away_gets_a_sentence_and_what_was_finished_is_stored(tmp_path, parts):
    campaign = tiny(runs=8, rules={"ofw": "ofw", "gated": parts.Gated(folder=str(tmp_path))})
    tiny(runs=3, rules=["ofw"]).run(tmp_path / "a.db", engine="python")
    cluster, address = beside(tmp_path, 1)

    def kill():
        try:
            until(lambda: inside(tmp_path))
        finally:
            cluster.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    with refused("cluster-gone"):
        campaign.run(tmp_path / "a.db", cluster=address, engine="python")
    thread.join()
    ended(cluster)
    assert len(table(tmp_path / "a.db")) >= 6
    (tmp_path / "open").touch()
    campaign.run(tmp_path / "a.db", engine="python")
    assert table(tmp_path / "a.db") == whole_table(campaign, tmp_path)


def test_a_worker_with_another_version_is_refused():
    campaign = tiny(runs=1)
    with refused("other-sources", ours="0.0.0 (other)", theirs=execute.here()):
        execute.run_chunk(campaign.configurations[0], 0, 1, "python", "0.0.0 (other)")


def test_an_address_that_is_none_is_refused_at_once(tmp_path):
    with refused("must-be", cg.InputError, name="cluster", value="nonsense"):
        tiny().run(tmp_path / "a.db", cluster="nonsense")
