"""Many at once: connections and bodies are limited together, and whoever has a token gets in."""

import contextlib
import json
import socket
import ssl
import subprocess
import sys
import time
from dataclasses import replace

import pytest

import combgame as cg
from combgame.lab.server.registry import make_token
from combgame.lab.server.settings import ServerSettings, fitting
from tests.said import refused
from tests.services import PROBLEM, process, serving

resource = pytest.importorskip("resource")

HOST = b"Host: localhost\r\n"
GET = b"GET /api/v1/me HTTP/1.1\r\n" + HOST


@pytest.fixture
def place(tmp_path):
    return f"sqlite:///{tmp_path}/lab.db"


@contextlib.contextmanager
def connections(service, n, sent=b"", source="127.0.0.1"):
    """So many, all of which are there."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(n):
            raw = socket.create_connection(
                (service.host, int(service.port)), timeout=60, source_address=(source, 0)
            )
            made.append(stack.enter_context(contextlib.closing(raw)))
            raw.sendall(sent)
        time.sleep(0.3)
        yield made


def ended(raw):
    """Whether the other side has closed it, without a word."""
    raw.settimeout(0.2)
    try:
        return raw.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


# ---- connections


def test_there_are_so_many_connections_and_no_more(place, caplog):
    with serving(place, tokens=False, connections=8) as service:
        with contextlib.ExitStack() as stack:
            for k in range(8):  # of several addresses, because one has a share
                stack.enter_context(connections(service, 1, source=f"127.0.0.{k + 2}"))
            with connections(service, 1, source="127.0.0.30") as (more,):
                assert ended(more)
                assert "too-many-connections" in caplog.text
        time.sleep(0.2)
        assert service.call("GET", "/health").status == 200, "they have left"
        for k in range(40):
            assert service.call("GET", "/health" if k % 2 else "/api/v1/me").status == 200
        time.sleep(0.3)
        listener = service.server.servers[0]
        assert listener.open == 0 and not listener.unknown, "who has left does not count"


def test_one_address_cannot_shut_out_others_unless_it_has_a_token(place, caplog):
    with serving(place, tokens=True, connections=16) as service:
        token = make_token(service.app.state.desk.shelf, "ann", "read")
        known = GET + b"Authorization: Bearer %s\r\n\r\n" % token.encode()
        with contextlib.ExitStack() as stack:
            for _ in range(6):
                (one,) = stack.enter_context(connections(service, 1, known))
                assert one.recv(12) == b"HTTP/1.1 200"
            with connections(service, 6, b"GET /heal") as half:
                assert sorted(ended(one) for one in half) == [False] * 4 + [True] * 2
                assert "too-many-from-one-address" in caplog.text
                with connections(service, 1, known, "127.0.0.2") as (other,):
                    assert other.recv(12) == b"HTTP/1.1 200"
            time.sleep(0.2)
        with connections(service, 5, GET + b"\r\n", "127.0.0.3") as strangers:
            assert sum(one.recv(12) == b"HTTP/1.1 401" for one in strangers[:4]) == 4
            assert ended(strangers[4]), "to ask does not make known"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", "k.pem", "-out", "c.pem"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return {"ssl_certfile": str(folder / "c.pem"), "ssl_keyfile": str(folder / "k.pem")}


HELLO = b"\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb\x03\x03" + b"a" * 16_000  # and no end of it


def test_connections_count_before_the_handshake_of_tls(place, certificate, caplog):
    with serving(
        place, tokens=False, more=certificate, connections=16, request_timeout_s=3.0
    ) as service:
        began = time.monotonic()
        with connections(service, 6, HELLO) as half:
            assert service.server.servers[0].open == 4
            assert sorted(ended(one) for one in half) == [False] * 4 + [True] * 2
            assert "too-many-from-one-address" in caplog.text
            time.sleep(max(began + 5.0 - time.monotonic(), 0.0))
            assert all(ended(one) for one in half), "a handshake is waited for as long as a head"
        context = ssl.create_default_context(cafile=certificate["ssl_certfile"])
        with (
            socket.create_connection((service.host, int(service.port)), timeout=60) as raw,
            context.wrap_socket(raw, server_hostname="localhost") as secure,
        ):
            secure.sendall(b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n")
            assert secure.recv(12) == b"HTTP/1.1 200"


def test_a_client_asks_for_a_certificate_that_the_machine_trusts(place, certificate, monkeypatch):
    with serving(place, tokens=False, more=certificate) as service:
        url = f"https://localhost:{service.port}"
        with refused("distrusted", cg.StoreError):
            cg.Client(url, patience=5.0).list()
        monkeypatch.setenv("SSL_CERT_FILE", certificate["ssl_certfile"])
        with cg.Client(url) as client:
            assert client.list() == []


# ---- bodies


def post(path, length, kind=b"application/json", more=b""):
    head = b"POST %s HTTP/1.1\r\nContent-Type: %s\r\nContent-Length: %d\r\n"
    return head % (path, kind, length) + HOST + more + b"\r\n"


FORM = b"multipart/form-data; boundary=x"


def first_answer(service, *sent):
    with socket.create_connection((service.host, int(service.port)), timeout=20) as raw:
        for one in sent:
            raw.sendall(one)
        heard = raw.recv(1 << 16)
        return int(heard.split(b" ")[1]), heard


def test_without_a_token_no_body_is_waited_for(place):
    with serving(place, tokens=True) as service:
        token = make_token(service.app.state.desk.shelf, "ann", "admin")
        began = time.monotonic()
        for path in (b"/api/v1/studies", b"/api/v1/studies/x/tell", b"/new", b"/studies/x/results"):
            for kind in (b"application/json", FORM):
                assert first_answer(service, post(path, 10**6, kind))[0] == 401, path
        for more in (b"", b"Authorization: Bearer %s\r\n" % token.encode()):
            for path in (b"/api/v1/nothing", b"/health"):
                assert first_answer(service, post(path, 10**6, more=more))[0] in (404, 405)
        wrong = post(b"/api/v1/studies", 10**6, more=b"Authorization: Bearer no\r\n")
        status, heard = first_answer(service, wrong)
        assert status == 401 and b"bad-token" in heard
        assert time.monotonic() - began < 10.0, "twenty seconds are for who has one"
        # the form that logs in is small
        kind = b"application/x-www-form-urlencoded"
        form = b"token=" + token.encode()
        assert first_answer(service, post(b"/login", len(form), kind), form)[0] == 303
        large = b"token=" + b"a" * 5000
        status, heard = first_answer(service, post(b"/login", len(large), kind), large)
        assert status == 413 and b"4,096" in heard


def test_a_connection_goes_on_after_a_body_that_was_not_kept(place):
    with serving(place, tokens=True) as service:
        whole = post(b"/api/v1/studies", 5_000_000) + b"a" * 5_000_000
        with socket.create_connection((service.host, int(service.port)), timeout=20) as raw:
            raw.sendall(whole + b"GET /health HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n")
            heard = b""
            while more := raw.recv(1 << 16):
                heard += more
        assert [one[:3] for one in heard.split(b"HTTP/1.1 ")[1:]] == [b"401", b"200"]


def test_all_bodies_together_are_limited_and_freed(place):
    with serving(place, tokens=False, held=3 * 2**20, request_timeout_s=60.0) as service:
        guard = guard_of(service)
        some = post(b"/new", 10**6, FORM) + b"a" * (10**6 - 1)
        with connections(service, 3, some):
            until(lambda: guard.held > 2.9e6)  # a busy machine reads them late
            assert guard.held <= 3 * 2**20
            said = service.post("studies", {"name": "a" * 10**6, "problem": PROBLEM})
            assert said.status == 503 and said.code == "too-much-at-once"
            assert said.headers["retry-after"] and said.data["error"]["remedy"]
            assert service.create("small")  # what little there is goes through
        until(lambda: guard.held == 0)
        assert service.post("studies", {"name": "a" * 10**6, "problem": PROBLEM}).status == 422
        assert guard.held == 0


def until(reached, seconds=30.0):
    """Wait until something holds, and fail if it does not."""
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.02)


def guard_of(service):
    one = service.app.middleware_stack
    while type(one).__name__ != "SecurityMiddleware":
        one = one.app
    return one


# ---- files


def test_connections_leave_files_for_studies(monkeypatch):
    asked = []

    def may(soft, hard):
        monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
        monkeypatch.setattr(resource, "setrlimit", lambda _, given: asked.append(given))

    limits = ServerSettings()
    may(1024, 1024)
    assert fitting(limits).connections == 1024 - 384
    may(1024, 10**6)
    assert fitting(limits).connections == 2000 and asked[-1] == (2384, 10**6)
    may(1024, resource.RLIM_INFINITY)
    assert fitting(limits).connections == 2000
    asked.clear()
    may(resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    assert fitting(limits) == limits and not asked
    may(100, 200)
    assert fitting(limits).connections == 50
    assert fitting(replace(limits, connections=3)).connections == 3


@pytest.mark.slow
def test_with_few_files_whoever_has_a_connection_can_make_studies(place):
    import combgame as cg

    few = ["bash", "-c", 'ulimit -n 512; exec "$@"', "-"]
    with process(place, before=few) as (service, _, lines):
        assert json.loads(lines[0])["connections"] == 128
        problem = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(0.1))
        with cg.Client(service.url, patience=3.0) as client:
            client.create(problem, name="before")
            with contextlib.ExitStack() as stack:
                for k in range(8):  # each has its share
                    half = connections(service, 70, b"GET /heal", f"127.0.0.{k + 2}")
                    stack.enter_context(half)
                for k in range(10):
                    assert client.create(problem, name=f"during {k}").ask()


def test_too_many_files_are_said_to_be_that(tmp_path):
    code = """
import os, resource
import combgame as cg

problem = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(0.1))
cg.Study(problem, storage="sqlite:///lab.db", name="a", engine="python").close()
opened = [os.open(os.devnull, os.O_RDONLY)]
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (opened[0] + 1, hard))
try:
    cg.Study.open("sqlite:///lab.db", "a", engine="python")
except cg.StoreError as error:
    print(error.code, error)
os.close(opened.pop())
resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
print(cg.Study.open("sqlite:///lab.db", "a", engine="python").state)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    said, state = ran.stdout.splitlines()
    assert said.startswith("too-many-files ") and "LimitNOFILE" in said and state == "running"
    assert not ran.stderr
