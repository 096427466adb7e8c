import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import combgame as cg
from combgame.cli._common import SHELL
from combgame.simulation import runner as numbering
from tests.studies import TOML, command

# the same examples every time, and no judgement by the clock: no luck in CI
settings.register_profile(
    "fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fixed")

# ---- lanes: what `make test` leaves to `make test-all` is late

HERE = Path(__file__).parent
FOLDERS = {"statistical": "slow", "storage/faults": "slow", "engine": "compiled"}
MATRIX = HERE / "engine" / "test_matrix.py"  # compiled, and in `make test` nevertheless
LATE = ("slow", "compiled", "postgresql", "browser")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks by the folder, the database, the engine; and what is late."""
    for item in items:
        if not item.path.is_relative_to(HERE):
            continue
        for folder, mark in FOLDERS.items():
            if item.path.is_relative_to(HERE / folder):
                item.add_marker(mark)
        given = getattr(item, "callspec", None)
        if "server" in getattr(item, "fixturenames", ()) or (
            given is not None and given.params.get("url") == "postgresql"
        ):
            item.add_marker("postgresql")
        if given is not None and given.params.get("engine") == "compiled":
            item.add_marker("compiled")
        marks = ("slow",) if item.path == MATRIX else LATE
        if any(item.get_closest_marker(mark) for mark in marks):
            item.add_marker("late")


def pytest_addoption(parser):
    parser.addoption(
        "--interpreted", action="store_true", help="a test that compiles anything fails"
    )


def pytest_configure(config):
    if not config.getoption("--interpreted"):
        return
    from combgame.engine.numba.compiler import Compiler

    def refuse(*_):
        pytest.fail("this compiles: say engine='python', or mark the test compiled")

    Compiler.compile_extra = refuse


# ---- numbers of arms


@pytest.fixture(autouse=True)
def given_numbers_where_marked(request, monkeypatch):
    """Tests that name arms are marked given_numbers: their runs and studies keep the given numbers
    of the arms. In a module that is marked, own_numbers leaves a test as users have it.
    """
    if "given_numbers" in request.keywords and "own_numbers" not in request.keywords:
        monkeypatch.setattr(numbering, "drawn", lambda d, seed, run, what: np.arange(d))


# ---- where studies are kept


@pytest.fixture(scope="session")
def place():
    """A folder that the user of a PostgreSQL can reach; pytest's own is closed to others whenever
    another run of pytest begins.
    """
    with tempfile.TemporaryDirectory(prefix="combgame-pg-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="session")
def server(place):
    """A real PostgreSQL."""
    pgserver = pytest.importorskip("pgserver")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of where it keeps its locks
        found = pgserver.get_server(place / "data")
    yield found
    found.ensure_postgres_running()  # it knows the process, and a test may have restarted it
    found.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """A database of its own."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/lab.db"
    server = request.getfixturevalue("server")
    server.psql(
        "DROP TABLE IF EXISTS combgame_requests, combgame_logins, combgame_tokens, "
        "combgame_snapshots, combgame_events, combgame_studies, "
        "combgame_schema;"
    )
    return server.get_uri().replace("postgresql://", "postgresql+psycopg://")


@pytest.fixture
def often(monkeypatch):
    """A snapshot every seven events."""
    monkeypatch.setattr("combgame.lab.session.EVERY", 7)


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A folder with a problem, and `run(words)`: the exit code of a command of studies, and what
    was printed; of a refusal, what the shell says of it.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMBGAME_STORAGE", "sqlite:///lab.db")
    monkeypatch.setenv("COMBGAME_CLIENT", "me")
    Path("screen.toml").write_text(TOML)

    def run(*words):
        try:
            done = command(*words)
        except cg.CombGameError as refusal:
            return 2, refusal.render(SHELL)
        return done.exit_code, done.output

    return run


@pytest.fixture
def storage(tmp_path):
    """A file of its own, for what talks to every database alike."""
    return f"sqlite:///{tmp_path}/lab.db"
