"""What the tests of the service share: a server on loopback, and requests to it."""

import http.client
import json
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import quote

from combgame.lab.server.app import create_app
from combgame.lab.server.run import Server, listen
from combgame.lab.server.settings import ServerSettings

PROBLEM = {
    "names": ["ann", "bob", "cid"],
    "actions": {"kind": "arms"},
    "rewards": {"kind": "gaussian", "sigma": 0.1},
}


class Said(NamedTuple):
    status: int
    headers: dict
    body: bytes

    @property
    def data(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.data["error"]["code"]


class Service:
    """A server, as its clients see it."""

    def __init__(self, url, app=None, server=None):
        self.url, self.app, self.server = url, app, server
        self.host, self.port = url.removeprefix("http://").split(":")

    def call(self, method, path, body=None, token=None, key=None, headers=(), raw=None):
        """One request; body: as JSON."""
        sent = dict(headers)
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        if key is not None:
            sent["Idempotency-Key"] = key
        connection = http.client.HTTPConnection(self.host, int(self.port), timeout=60)
        try:
            connection.request(method, path, data, sent)
            answer = connection.getresponse()
            given = {name.lower(): value for name, value in answer.getheaders()}
            return Said(answer.status, given, answer.read())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.call("GET", f"/api/v1/{path}", **more)

    def post(self, path, body=None, **more):
        return self.call("POST", f"/api/v1/{path}", {} if body is None else body, **more)

    def create(self, name="x", problem=PROBLEM, **more):
        made = self.post("studies", {"name": name, "problem": problem}, **more)
        assert made.status == 201, made.body
        return f"studies/{quote(name, safe='')}"


@contextmanager
def serving(storage, tokens=None, more=None, **limits):
    """A service in a thread of this process; more: settings of its server."""
    app = create_app(storage, tokens=tokens, limits=ServerSettings(**limits))
    listening = listen("127.0.0.1", 0)
    settings = {"timeout_graceful_shutdown": 10, **(more or {})}
    server = Server(app, storage, app.state.desk.limits, **settings)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        port = listening.getsockname()[1]
        yield Service(f"http://127.0.0.1:{port}", app, server)
    finally:
        app.state.desk.changes.close()
        server.should_exit = True
        thread.join()


@contextmanager
def process(storage, port=0, before=(), first=""):
    """A service in a process of its own, and that process; before: what starts it; first: what that
    does before.
    """
    code = first + "from combgame.cli.app import main; main()"
    command = [sys.executable, "-c", code, "serve", "-s", storage, "--port", str(port)]
    running = subprocess.Popen([*before, *command], stderr=subprocess.PIPE, text=True)
    try:
        for line in running.stderr:
            said = json.loads(line)
            if said["event"] == "serving":
                break
        else:
            raise AssertionError("it did not start")
        lines = [line]
        reader = threading.Thread(target=lambda: lines.extend(running.stderr))
        reader.start()
        yield Service(said["url"]), running, lines
    finally:
        running.kill()
        running.wait()
        reader.join()
        running.stderr.close()
