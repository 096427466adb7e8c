"""The service: who may do what, what is done once, what is seen live, what it says of itself."""

import json
import socket
import sqlite3
import threading
import time
from contextlib import closing
from urllib.parse import quote

import pytest

import combgame as cg
from combgame.lab.server import api
from combgame.lab.server import auth as people
from combgame.lab.server.middleware import in_path
from combgame.lab.server.registry import StudyRegistry, hashed, make_token
from combgame.lab.study import Study
from tests.said import refused
from tests.services import PROBLEM, serving

GET = ("", "/status", "/decision", "/state", "/pending", "/estimates", "/events", "/rows")
GET += ("/history", "/replay", "/export", "/report")
WRITES = {
    "ask": ("measure", {}),
    "tell": ("measure", {"rounds": []}),
    "fail": ("measure", {"round": 1, "reason": "spilt"}),
    "retract": ("measure", {"round": 1, "reason": "typo"}),
    "observe": ("measure", {"values": {"ann": 0.5}}),
    "extend": ("admin", {"max_rounds": 9, "reason": "more"}),
    "stop": ("admin", {"reason": "enough"}),
}


@pytest.fixture
def service(storage):
    with serving(storage) as one:
        yield one


@pytest.fixture
def tokens(storage):
    shelf = StudyRegistry(storage)
    made = {role: make_token(shelf, f"the {role}", role) for role in ("read", "measure", "admin")}
    shelf.close()
    return made


# ---- who may do what


def test_every_role_may_do_what_it_may_and_nothing_else(storage, tokens):
    roles = ("read", "measure", "admin")
    with serving(storage) as service:
        at = service.create(token=tokens["admin"])
        for path in GET:
            assert service.get(at + path).status == 401
            for role in roles:
                assert service.get(at + path, token=tokens[role]).status == 200, path
        made = {"name": "y", "problem": PROBLEM}
        writes = {f"{at}/{verb}": one for verb, one in WRITES.items()}
        for path, (needed, body) in {"studies": ("admin", made), **writes}.items():
            assert service.post(path, body).status == 401
            for role in roles:
                said = service.post(path, body, token=tokens[role])
                may = roles.index(role) >= roles.index(needed)
                assert (said.status not in (401, 403)) == may, (path, role, said.body)
                if not may:
                    assert said.code == "role-missing"


def test_a_name_has_one_token_and_roles_are_those_that_exist(storage, tokens, tmp_path):
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(token.encode() in stored for token in tokens.values()), "it is kept as its hash"
    with closing(StudyRegistry(storage)) as shelf:
        with pytest.raises(cg.StudyError, match="already"):
            make_token(shelf, "the read", "admin")
        with pytest.raises(cg.UnknownNameError, match="role"):
            make_token(shelf, "other", "root")
        with pytest.raises(cg.UnknownNameError, match="there are 'the read'"):
            shelf.remove_token("nobody")
        assert [one.role for one in shelf.tokens()] == ["read", "measure", "admin"]
        with serving(storage) as service:
            me = {"name": "the read", "role": "read"}
            assert service.get("me", token=tokens["read"]).data == me
            shelf.remove_token("the read")
            service.app.state.people._read = -1e9  # two seconds later
            assert service.get("me", token=tokens["read"]).code == "bad-token"
            assert service.get("me", token=tokens["admin"]).status == 200


def test_who_guesses_tokens_is_slowed_down_and_who_has_one_is_not(storage, tokens):
    with serving(storage, login_attempts=3) as service:
        said = [service.get("me", token=f"cg_guess{k}").status for k in range(5)]
        assert said == [401, 401, 401, 429, 429]
        assert service.get("me", token=tokens["read"]).status == 200
        for header in ("Basic abc", "Bearer", "cg_x", ""):
            assert service.get("me", headers={"Authorization": header}).status in (401, 429)


def test_a_browser_logs_in_with_a_cookie_and_changes_things_with_its_form_token(storage, tokens):
    with serving(storage) as service:
        at = service.create(token=tokens["admin"])
        people, desk = service.app.state.people, service.app.state.desk
        from combgame.lab.server.auth import User
        from combgame.lab.server.registry import hashed

        number = desk.shelf.tokens()[1].id
        desk.shelf.add_login(hashed("secret"), number, 4e9, 0.0)
        desk.shelf.add_login(hashed("old"), number, 5.0, 0.0)
        mine = {"Cookie": "combgame=secret"}
        assert people.needed and service.get(at, headers=mine).status == 200
        assert service.get(at, headers={"Cookie": "combgame=old"}).status == 401
        assert service.get(at, headers={"Cookie": "combgame=other"}).status == 401
        assert service.post(f"{at}/ask", headers=mine).code == "form-expired"
        form = User("the measure", "measure", "secret").form_token
        said = service.post(f"{at}/ask", headers={**mine, "X-CSRF-Token": form})
        assert said.status == 200
        other = User("the measure", "measure", "else").form_token
        said = service.post(f"{at}/ask", headers={**mine, "X-CSRF-Token": other})
        assert said.code == "form-expired"


def test_another_page_cannot_write_and_every_answer_has_the_headers_that_protect_it(service):
    at = service.create()
    for headers in (
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "evil.example"},
    ):
        assert service.post(f"{at}/ask", headers=headers).code == "other-origin"
    assert service.get(at, headers={"Host": "evil.example"}).code == "other-origin"
    plain = {"Content-Type": "text/plain"}
    assert service.call("POST", f"/api/v1/{at}/ask", raw=b"{}", headers=plain).status == 403
    said = service.post(f"{at}/ask", headers={"Origin": service.url})
    assert said.status == 200
    assert "access-control-allow-origin" not in said.headers
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    preflight = service.call("OPTIONS", f"/api/v1/{at}/ask", headers=asked)
    assert preflight.status == 405 and "access-control-allow-origin" not in preflight.headers
    for path in ("/health", "/api/v1/studies", "/nowhere", "/api/v1/studies/none"):
        said = service.call("GET", path)
        assert said.headers["content-security-policy"].startswith("default-src 'none'; script-src")
        assert "unsafe" not in said.headers["content-security-policy"]
        assert said.headers["x-content-type-options"] == "nosniff"
        assert said.headers["cache-control"] == "no-store"
    cookie = service.get("studies").headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie


def test_a_service_that_does_not_start_makes_no_file(tmp_path):
    from combgame.lab.server.run import serve

    where = f"sqlite:///{tmp_path}/lab.db"
    with refused("tokens-needed", cg.AccessError) as caught:
        serve(where, "0.0.0.0", 0)
    assert "token make" in str(caught.value)
    with refused("bad-certificate"):
        serve(where, port=0, certificate=str(tmp_path / "none.pem"))
    with socket.create_server(("127.0.0.1", 0)) as taken, refused("cannot-listen"):
        serve(where, port=taken.getsockname()[1])
    assert list(tmp_path.iterdir()) == []


# ---- done once


def test_a_request_that_is_made_again_does_nothing_twice_and_is_answered_alike(storage):
    with serving(storage) as service:
        at = service.create(key="made")
        again = service.post("studies", {"name": "x", "problem": PROBLEM}, key="made")
        assert again.status == 201
        assert service.post("studies", {"name": "x", "problem": PROBLEM}).code == "study-exists"
        asked = [service.post(f"{at}/ask", {"n": 2}, key="k1").data for _ in range(3)]
        assert asked[0] == asked[1] == asked[2] and len(asked[0]["rounds"]) == 2
        number, arm = asked[0]["rounds"][0]["id"], asked[0]["rounds"][0]["names"][0]
        told = {"rounds": [{"round": number, "values": {arm: 0.5}}]}
        first = service.post(f"{at}/tell", told, key="k2")
        seen = {"values": {"ann": 0.25}}
        numbers = [service.post(f"{at}/observe", seen, key="k3").data for _ in range(2)]
        assert numbers[0] == numbers[1]
        assert service.post(f"{at}/observe", {"values": {"ann": 1.0}}, key="k3").code == "key-used"
        before = service.get(f"{at}/events").data
    with serving(storage) as service:  # after a restart
        assert service.post(f"{at}/tell", told, key="k2").data == first.data
        assert service.post(f"{at}/ask", {"n": 2}, key="k1").data == asked[0]
        assert service.post(f"{at}/observe", seen, key="k3").data == numbers[0]
        assert service.get(f"{at}/events").data == before


def test_two_servers_on_one_database_do_everything_once_and_for_its_own_person_only(url):
    with closing(StudyRegistry(url)) as shelf:
        for one in shelf.tokens():
            shelf.remove_token(one.name)
        ann, bob = (make_token(shelf, name, "admin") for name in ("ann", "bob"))
    with serving(url) as one, serving(url) as two:
        at, given = one.create(token=ann, key="made"), []
        first = one.post(f"{at}/ask", {"n": 3}, token=ann, key="k").data
        assert two.post(f"{at}/ask", {"n": 3}, token=ann, key="k").data == first
        theirs = two.post(f"{at}/ask", {"n": 3}, token=bob, key="k").data
        assert not {x["id"] for x in theirs["rounds"]} & {x["id"] for x in first["rounds"]}

        def work(service, who):
            for _ in range(6):
                todo = service.post(f"{at}/ask", {"client": who}, token=ann).data["rounds"][0]
                values = dict.fromkeys(todo["names"], 0.5)
                body = {"rounds": [{"round": todo["id"], "values": values}], "client": who}
                assert service.post(f"{at}/tell", body, token=ann).status == 200
                given.append(todo["id"])

        threads = [
            threading.Thread(target=work, args=(service, f"{k}"))
            for k, service in enumerate((one, two, one, two))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(given) == list(range(7, 31))
        assert one.get(f"{at}/replay", token=ann).data["same"]
        events = [x.get(f"{at}/events", token=ann).data for x in (one, two)]
        assert events[0] == events[1] and len(events[0]["events"]) == 1 + 6 + 2 * 24


# ---- live


def changes(service, path, stop_after, **headers):
    """The first changes of a stream."""
    import http.client

    connection = http.client.HTTPConnection(service.host, int(service.port), timeout=60)
    connection.request("GET", f"/api/v1/{path}", headers=headers)
    answer, seen = connection.getresponse(), []
    assert answer.headers["content-type"].startswith("text/event-stream")
    while len(seen) < stop_after:
        line = answer.readline()
        if not line:
            break
        if line.startswith(b"data: "):
            seen.append(json.loads(line[6:]))
            yield seen[-1]
    connection.close()


def test_whoever_watches_sees_what_is_written_here_and_elsewhere(storage):
    with serving(storage, tokens=False, poll=0.05) as service:
        at = service.create()
        mine, all_ = changes(service, f"{at}/changes", 3), changes(service, "changes", 2)
        assert next(mine) == {"name": "x", "seq": 1}
        service.post(f"{at}/ask")
        assert next(mine) == {"name": "x", "seq": 2}
        with Study.open(storage, "x", client="elsewhere") as study:
            study.ask()
        assert next(mine) == {"name": "x", "seq": 3}
        threading.Timer(0.3, lambda: service.post(f"{at}/ask", {"client": "third"})).start()
        assert next(all_)["name"] == "x"
        assert service.get("studies/none/changes").status == 404


@pytest.fixture
def watchful(monkeypatch):
    """Who watches is looked up at every change, and not every two seconds."""
    for module in (api, people):
        monkeypatch.setattr(module, "FRESH", -1.0)


def test_a_stream_tells_nothing_more_once_its_token_is_revoked_or_its_log_in_over(
    storage, tokens, watchful
):
    with serving(storage, poll=0.05) as service, closing(StudyRegistry(storage)) as shelf:
        at = service.create(token=tokens["admin"])
        number = next(one.id for one in shelf.tokens() if one.role == "measure")
        shelf.add_login(hashed("mine"), number, time.time() + 60.0, time.time())
        several = [
            changes(service, f"{at}/changes", 9, Authorization=f"Bearer {tokens['read']}"),
            changes(service, f"{at}/changes", 9, Cookie="combgame=mine"),
        ]
        assert [next(one)["seq"] for one in several] == [1, 1]
        shelf.remove_token("the read")
        shelf.remove_login(hashed("mine"))
        service.post(f"{at}/ask", token=tokens["admin"])
        assert [list(one) for one in several] == [[], []]


def test_streams_end_when_the_server_stops_and_are_limited(storage):
    with serving(storage, tokens=False, watchers=1) as service:
        at = service.create()
        watching = changes(service, f"{at}/changes", 5)
        next(watching)
        assert service.get(f"{at}/changes").code == "too-many"
    assert list(watching) == []


def test_one_study_that_is_slow_does_not_hold_up_another(service, monkeypatch):
    slow, quick = service.create("slow"), service.create("quick")
    going, begun = threading.Event(), threading.Event()
    ask = Study.ask

    def waits(self, *given):
        if self.name == "slow":
            begun.set()
            assert going.wait(60)
        return ask(self, *given)

    monkeypatch.setattr(Study, "ask", waits)
    threads = [
        threading.Thread(target=service.post, args=(f"{slow}/ask",)) for _ in range(20)
    ]  # more than there are threads
    for thread in threads:
        thread.start()
    begun.wait(60)
    assert service.post(f"{quick}/ask").status == 200
    assert service.call("GET", "/health").status == 200
    going.set()
    for thread in threads:
        thread.join()


# ---- what it has


def test_a_name_may_have_any_character_that_a_name_may_have(service):
    for name in ("plate 7/b", "a%2Fb", "<script>alert(1)</script>", "é ü 漢", "a?b#c", "x/ask"):
        at = service.create(name)
        assert service.get(at).data["name"] == name
        assert service.post(f"{at}/ask").status == 200
    listed = service.get("studies?state=true").data["studies"]
    assert {one["state"] for one in listed} == {"running"} and len(listed) == 6
    assert in_path("a/b c%") == quote("a/b c%", safe="") == "a%2Fb%20c%25"


def test_events_come_in_pages_and_a_key_is_as_long_as_the_description_says(service):
    at = service.create()
    service.post(f"{at}/ask", {"n": 6})
    seen, after = [], 0
    while after is not None:
        page = service.get(f"{at}/events?after={after}&most=3").data
        seen, after = seen + page["events"], page["next"]
    assert [one["seq"] for one in seen] == [1, 2, 3, 4, 5, 6, 7]
    assert service.get(f"{at}/events?after=100").data == {"events": [], "next": None}
    assert service.post(f"{at}/ask", key="k" * 150).status == 200
    assert service.post(f"{at}/ask", key="k" * 151).code == "must-be"


def test_open_studies_are_few_and_come_back_and_one_that_was_replaced_is_the_one_that_is_served(
    storage,
):
    with serving(storage, tokens=False, studies=2) as service:
        ats = [service.create(f"s{k}") for k in range(5)]
        assert service.app.state.desk.open <= 2
        for at in ats * 2:
            assert service.post(f"{at}/ask").status == 200
        assert service.app.state.desk.open <= 2
        at = ats[0]
        problem = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1.0))
        Study(problem, storage=storage, name="s0", if_exists="replace").close()
        assert service.get(at).data["problem"]["actions"] == {"kind": "Arms", "d": 2}
        assert service.post(f"{at}/ask").data["rounds"][0]["id"] == 1


def test_it_says_how_it_is(service):
    assert service.call("GET", "/health").data == {"state": "alive"}
    assert service.call("GET", "/ready").data == {"state": "ready"}
    at = service.create()
    service.get(at)
    text = service.call("GET", "/metrics").body.decode()
    route = 'method="GET",route="/api/v1/studies/{name}",status="200"'
    assert f"combgame_requests_total{{{route}}} 1.0\n" in text
    assert 'combgame_request_seconds_bucket{le="+Inf",route="/api/v1/studies/{name}"} 1.0\n' in text
    assert "combgame_open_studies 1.0\n" in text
    assert service.get("openapi.json").data["openapi"].startswith("3.")


def test_logs_are_lines_of_json_without_secrets(storage, tokens, caplog):
    caplog.set_level("INFO", "combgame.lab.server")
    with serving(storage) as service:
        at = service.create("a b", token=tokens["admin"])
        service.get(f"{at}/events?after=0&token=hidden", token=tokens["read"])
        service.get(at, token="cg_wrong")
    lines = [json.loads(one.message) for one in caplog.records if one.name == "combgame.lab.server"]
    asked = [one for one in lines if one["event"] == "request"]
    assert [one["status"] for one in asked] == [201, 200, 401]
    assert asked[1]["person"] == "the read" and asked[1]["path"] == "/api/v1/studies/a b/events"
    assert not any(secret in caplog.text for secret in (*tokens.values(), "hidden", "cg_wrong"))


def test_without_the_extra_it_says_which_one_is_needed(storage):
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['fastapi'] = sys.modules['uvicorn'] = None\n"
        "from combgame.cli.app import main\n"
        f"sys.argv = ['combgame', 'serve', '-s', {storage!r}]\nmain()"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.returncode == 2
    assert said.stderr.strip() == (
        "combgame: the service needs the extra 'server'; install it with pip install "
        "'combgame[server]'."
    )


def test_only_what_may_go_on_later_is_answered_with_503(service, storage, tmp_path):
    at = service.create()
    head = service.get(f"{at}/replay?head=99:0123456789abcdef")
    assert (head.status, head.code) == (409, "events-missing")
    head = service.get(f"{at}/replay?head=1:0123456789abcdef")
    assert (head.status, head.code) == (409, "other-history")
    service.post(f"{at}/ask")
    with closing(sqlite3.connect(tmp_path / "lab.db")) as db:
        db.execute("UPDATE combgame_events SET data = '{}' WHERE seq = 2")
        db.commit()
    said = service.get(f"{at}/events")
    assert (said.status, said.code) == (500, "event-changed")
    assert "retry-after" not in said.headers
