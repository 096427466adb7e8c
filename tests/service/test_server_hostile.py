"""Whatever is sent to the service: a clear refusal, nothing rendered, nothing lost, and it goes on
serving.
"""

import contextlib
import json
import socket
import time
from urllib.parse import quote

import pytest

import combgame as cg
from combgame.io import to_data
from combgame.lab.server.registry import make_token
from tests.services import PROBLEM, serving

MARKUP = "<img src=x onerror=alert(1)>"
INJECTED = [
    "'; DROP TABLE combgame_events; --",
    "../../etc/passwd",
    "{0.__class__}",
    "%s%n",
    MARKUP,
]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    with serving(f"sqlite:///{folder}/lab.db", tokens=False, request_timeout_s=0.5) as one:
        one.create("x")
        yield one


@pytest.fixture(autouse=True)
def unharmed(service):
    yield
    before = service.get("studies/x").data
    assert service.call("GET", "/health").status == 200 and before["state"] == "running"


def refused(said, *statuses):
    """A refusal in a sentence, and none of the server's own failures."""
    assert said.status in statuses, (said.status, said.body[:300])
    error = said.data["error"]
    assert error["code"] and error["text"] and "Traceback" not in error["text"]
    return error


LINE = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"


def test_a_body_that_is_too_large_is_refused_before_it_is_read(service):
    large = b'{"name": "' + b"a" * (3 * 2**20) + b'"}'
    assert refused(service.call("POST", "/api/v1/studies", raw=large), 413)["code"]
    with socket.create_connection((service.host, int(service.port))) as raw:
        raw.sendall(
            b"POST /api/v1/studies HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Length: 99999999999999\r\n\r\n"
        )
        assert raw.recv(1000).startswith(b"HTTP/1.1 413")
    with socket.create_connection((service.host, int(service.port))) as raw:  # without a length
        raw.sendall(
            b"POST /api/v1/studies HTTP/1.1\r\nHost: localhost\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        try:
            for _ in range(60):
                raw.sendall(b"10000\r\n" + b"a" * 65536 + b"\r\n")
            answer = raw.recv(1000)
        except OSError:  # it has hung up
            answer = b"HTTP/1.1 413"
        assert answer.startswith(b"HTTP/1.1 413")


def test_whoever_is_slow_is_not_waited_for(service):
    post = b"POST /api/v1/studies/x/ask HTTP/1.1\r\nHost: localhost\r\n"
    half = [b"", b"GET /health HTT", post, post + b"Content-Length: 9\r\n\r\n{"]
    with contextlib.ExitStack() as stack:
        several = []
        for sent in half:
            raw = socket.create_connection((service.host, int(service.port)), timeout=60)
            several.append(stack.enter_context(raw))
            raw.sendall(sent)
        for sent, raw in zip(half, several, strict=True):
            answer = raw.recv(1000)  # or the end, which only a hanging server would not give
            assert answer == b"" or answer.startswith(b"HTTP/1.1 408"), sent
    with socket.create_connection((service.host, int(service.port)), timeout=60) as raw:
        raw.sendall(LINE)
        with pytest.raises(ConnectionError):  # nor is whoever sends headers one by one
            while True:
                raw.sendall(b"x: y\r\n")
                time.sleep(0.01)


def answered(service, *sent):
    """What is answered to bytes, until the end."""
    with socket.create_connection((service.host, int(service.port)), timeout=60) as raw:
        heard = b""
        with contextlib.suppress(ConnectionError):
            for piece in sent:
                raw.sendall(piece)
            while more := raw.recv(1 << 16):
                heard += more
        return heard


def test_the_limits_of_headers_are_the_same_however_they_arrive(service):
    for size in (100, 5000, 10**6):
        for length, code in ((60_000, b"200"), (65_536, b"431")):
            for head in (
                LINE + b"x: " + b"a" * length + b"\r\n\r\n",
                LINE + (b"x: %s\r\n" % (b"a" * (length // 50))) * 51 + b"\r\n",
                LINE.replace(b"health", b"health?" + b"a" * length) + b"\r\n",
            ):
                pieces = [head[k : k + size] for k in range(0, len(head), size)]
                assert answered(service, *pieces).split(b" ")[1] == code, (length, head[:80])
    for n, status in ((98, b"200"), (99, b"431")):  # besides `Host` and `Connection`
        heard = answered(service, LINE + b"x:y\r\n" * n + b"\r\n")
        assert heard.split(b" ")[1] == status, n
    error = json.loads(heard.partition(b"\r\n\r\n")[2])["error"]
    assert error["code"] == "too-many-headers" and error["arguments"] == {"most": 100}


def test_requests_that_wait_behind_another_are_limited_and_so_are_their_bodies(service, caplog):
    caplog.set_level("WARNING", "combgame.lab.server")
    waits = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    first = b"GET /api/v1/studies/x HTTP/1.1\r\nHost: localhost\r\n\r\n"
    post = b"POST /api/v1/studies HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    assert answered(service, first + waits * 15 + LINE + b"\r\n").count(b"HTTP/1.1 200") == 17
    assert caplog.text.count("too-many-waiting") == 0
    assert answered(service, first + waits * 100) == b""
    assert caplog.text.count("too-many-waiting") == 1
    assert answered(service, first + post + b"a" * 200_000) == b""
    assert caplog.text.count("too-many-waiting") == 2


def test_trailers_are_no_headers_no_token_and_no_key(service, tmp_path):
    def create(trailer, length):
        body = json.dumps({"name": "trailing", "problem": PROBLEM}).encode()
        return answered(
            service,
            b"POST /api/v1/studies HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"%x\r\n%s\r\n0\r\n" % (len(body), body)
            + b"%s: %s\r\n\r\n" % (trailer, b"a" * length),
        )

    assert create(b"x", 65_536).startswith(b"HTTP/1.1 431")  # and nothing was made
    assert create(b"Origin", 9).startswith(b"HTTP/1.1 201")  # which as a header would be refused
    # behind another request, so that it has come before its own request is looked at
    with serving(f"sqlite:///{tmp_path}/lab.db", tokens=True) as guarded:
        token = make_token(guarded.app.state.desk.shelf, "ann", "admin")
        head = b"Authorization: Bearer %s\r\n" % token.encode()
        get = b"GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\n"
        body = json.dumps({"name": "t", "problem": PROBLEM}).encode()
        post = (
            b"POST /api/v1/studies HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            b"Content-Type: application/json\r\n"
        )
        chunked = b"Transfer-Encoding: chunked\r\n"
        whole = b"\r\n%x\r\n%s\r\n0\r\n" % (len(body), body)
        for more, trailer, status in (
            (b"", head, b"401"),
            (b"", b"x: y\r\n" + head + b"x: y\r\n", b"401"),
            (head, b"Authorization: Bearer no\r\nHost: elsewhere\r\n", b"201"),
        ):
            sent = post + more + chunked + whole + trailer + b"\r\n"
            heard = answered(guarded, get + b"\r\n" + sent)
            first, second = heard.split(b"HTTP/1.1 ")[1:]
            assert first.startswith(b"401") and second.startswith(status), heard


def test_whoever_floods_behind_a_request_has_its_answer_first(service):
    first = b"GET /api/v1/studies/x HTTP/1.1\r\nHost: localhost\r\n\r\n"
    heard = answered(service, first + LINE + b"x: " + b"a" * 100_000)
    assert heard.startswith(b"HTTP/1.1 200") and b'"name":"x"' in heard


def test_a_request_says_once_where_it_goes(service):
    for hosts in ([], ["localhost", "localhost"], ["localhost", "elsewhere"]):
        for path in (b"/health", b"/", b"/api/v1/studies"):
            for version in (b"1.1", b"1.0"):
                lines = b"".join(b"Host: %s\r\n" % one.encode() for one in hosts)
                heard = answered(
                    service,
                    b"GET %s HTTP/%s\r\n%sConnection: close\r\n\r\n" % (path, version, lines),
                )
                head, _, body = heard.partition(b"\r\n\r\n")
                error = json.loads(body)["error"]
                assert head.split(b" ")[1] == b"400" and error["code"] == "one-host"
                assert error["arguments"] == {"n": len(hosts)}


HALF = ["\\ud800", "\\udfff", "\\udc00\\ud800", "\\ud800\\u0041", b"\xed\xa0\x80"]


def test_half_a_character_is_refused_in_a_sentence_and_whole_ones_are_texts(service):
    problem = json.dumps(PROBLEM)
    bodies = {
        "studies": [
            f'{{"name": "@", "problem": {problem}}}',
            f'{{"name": "y", "problem": {problem.replace("ann", "@")}}}',
            f'{{"name": "y", "problem": {problem.replace("sigma", "@")}}}',
            f'{{"name": "y", "problem": {problem}, "rule": "@"}}',
            f'{{"name": "y", "problem": {problem}, "deadline": "@"}}',
            f'{{"name": "y", "problem": {problem}, "@": 1}}',
            '{"name": "y", "problem": {"kind": "@"}}',
        ],
        "studies/x/ask": ['{"client": "@"}', '{"@": 1}'],
        "studies/x/tell": [
            '{"rounds": [{"round": 1, "values": {"@": 1}}]}',
            '{"rounds": [{"round": 1, "values": {"ann": "@"}}]}',
        ],
        "studies/x/fail": ['{"round": 1, "reason": "@"}'],
        "studies/x/observe": ['{"values": {"ann": 1}, "reason": "@"}'],
        "studies/x/retract": ['{"arm": "@", "reason": "why"}'],
        "studies/x/extend": ['{"deadline": "@", "reason": "why"}'],
        "studies/x/stop": ['{"reason": "@"}'],
    }
    before = service.get("studies").data
    every = [(path, body) for path, several in bodies.items() for body in several]
    for half in HALF:
        for path, body in every if half == HALF[0] else every[::5]:
            put = half if isinstance(half, bytes) else half.encode()
            raw = body.encode().replace(b"@", put)
            error = refused(service.call("POST", f"/api/v1/{path}", raw=raw), 422)
            assert error["code"] == "half-character", (path, raw, error)
    assert service.get("studies").data == before
    raw = b'{"name": "\\ud83d\\ude00 \\\\ud800", "problem": %s}' % json.dumps(PROBLEM).encode()
    made = service.call("POST", "/api/v1/studies", raw=raw)
    assert made.status == 201 and made.data["name"] == "\U0001f600 \\ud800"


NO_TABLES = [b"", b"{", b"null", b"[]", b"3", b'"x"', b"\xff\xfe", b'{"name": NaN}', b"{'a': 1}"]


def test_what_is_not_a_table_of_json_or_nested_deeply_is_refused(service):
    for raw in NO_TABLES:
        for path in ("studies", "studies/x/tell", "studies/x/observe"):
            refused(service.call("POST", f"/api/v1/{path}", raw=raw), 400, 422)
    for deep in ("[" * 5000 + "]" * 5000, '{"a":' * 100 + "1" + "}" * 100, "[" * 200_000):
        body = '{"name": "y", "problem": {"actions": ' + deep + "}}"
        said = service.call("POST", "/api/v1/studies", raw=body.encode())
        refused(said, 400, 422)
        told = '{"rounds": [{"round": 1, "values": {"ann": ' + deep + "}}]}"
        refused(service.call("POST", "/api/v1/studies/x/tell", raw=told.encode()), 400, 422)


WRONG = [None, True, -1, 0, 1.5, 10**30, "x", "", [], {}, [[]], {"a": 1}, "\x00", "a" * 10**5]


BODIES = {
    "studies": {"name": "y", "problem": PROBLEM, "delta": 0.05, "seed": 0, "rule": "uniform"},
    "studies/x/tell": {"rounds": [], "final": True},
    "studies/x/fail": {"round": 99, "reason": "r", "retry": True},
    "studies/x/retract": {"round": 99, "reason": "r", "arm": None},
    "studies/x/observe": {"values": {}, "reason": "r", "allow_duplicates": False},
    "studies/x/extend": {"max_rounds": 1, "deadline": None, "reason": "r"},
    "studies/x/stop": {"reason": 0},
    "studies/x/ask": {"n": 0, "lease": 1.0, "client": None},
}


def test_wrong_types_everywhere_are_refused(service):
    for wrong in WRONG:
        for path, body in BODIES.items():
            for key in body:
                if path.endswith("stop") and isinstance(wrong, str) and wrong not in ("", "\x00"):
                    continue
                said = service.post(path, {**body, key: wrong})
                assert said.status < 500, (path, key, said.body[:300])
                if said.status == 201:
                    again = {"name": "y", "problem": PROBLEM, "if_exists": "replace"}
                    service.post("studies", again)
        for path in ("studies/x/tell", "studies/x/observe"):
            for values in ({"ann": wrong}, {"0": wrong}, {str(wrong): 0.5}):
                body = {"rounds": [{"round": 99, "values": values}]} if "tell" in path else {}
                said = service.post(path, body or {"values": values})
                assert said.status < 500, (path, said.body[:300])


def test_texts_are_texts(service):
    for text in INJECTED:
        made = service.post("studies", {"name": text, "problem": PROBLEM, "if_exists": "replace"})
        assert made.status == 201 and made.data["name"] == text
        at = f"studies/{quote(text, safe='')}"
        todo = service.post(f"{at}/ask", {"client": text}).data["rounds"][0]
        assert todo["client"] == text
        failed = {"round": todo["id"], "reason": text, "client": text}
        assert service.post(f"{at}/fail", failed).status == 200
        assert service.post(f"{at}/observe", {"values": {"ann": 0.5}, "reason": text}).status == 200
        events = service.get(f"{at}/events").data["events"]
        assert [one["reason"] for one in events[-2:]] == [text, text]
        if text == MARKUP:
            page = service.get(f"{at}/report")
            assert page.status == 200 and b"<img src=x" not in page.body
        assert service.get(f"{at}/export?form=csv&level=event").status == 200
        wrong = service.get(f"{at}/rows?level={quote(text)}")
        refused(wrong, 422)
        assert wrong.headers["content-type"] == "application/json"


PATHS = ["studies/..", "studies/%2e%2e", "studies/..%2f..%2fetc%2fshadow", "studies/%00"]
PATHS += ["studies/%ff", "studies//status", "../../etc/passwd", "studies/x/%2e%2e/status"]
PATHS += ["studies/" + "a" * 5000]


def test_paths_and_methods_that_are_none_lead_nowhere(service):
    for path in PATHS:
        refused(service.get(path), 404, 422)
    refused(service.call("GET", "/api/v2/studies"), 404)
    refused(service.call("DELETE", "/api/v1/studies/x"), 405)
    refused(service.call("PUT", "/api/v1/studies/x/ask"), 403, 405)
    refused(service.get("studies/x/events?most=100000"), 422)
    refused(service.get("studies/x/events?after=-1"), 422)
    refused(service.get("studies/x/export?form=exe"), 422)
    refused(service.post("studies/x/ask", {"n": 1, "more": 2}), 422)
    refused(service.post("studies/x/ask", {"n": 10**15}), 422)


def test_problems_that_would_run_code_or_fill_the_memory_are_refused(service):
    gaussian = {"kind": "gaussian", "sigma": 1.0}
    huge = [
        {"kind": "arms", "arms": 10**9},
        {"kind": "arms", "arms": 10**30},
        {"kind": "subsets", "arms": 10**7, "size": 3},
        {"kind": "grid-network", "stages": 10**6},
        {"kind": "line-network", "width": 10**4, "layers": 10**4},
        {"kind": "matchings", "rows": 10**4, "columns": 10**4},
        {"kind": "almost-all", "arms": 10**8},
        {"kind": "integer-program", "arms": 3, "A": [[1, 1, 1]], "high": 2, "time_limit": 1e9},
        {"kind": "paths", "edges": [["a", "b"], ["b", "a"]], "source": "a", "sink": "b"},
        {"kind": "spanning-trees", "edges": [["a", "b"], ["c", "d"]]},
        {"kind": "listed", "arms": 3, "sets": [[0, 10**9]]},
        {"kind": "oracle", "argmax": "os.system", "arms": 3},
    ]
    for actions in huge:
        sent = {"actions": actions, "rewards": gaussian}
        refused(service.post("studies", {"name": "h", "problem": sent}), 422)
    arms, sigma = {"kind": "Arms", "d": 3}, {"kind": "Gaussian", "sigma": 1.0}
    for actions in (
        {"kind": "Oracle", "argmax": "print", "d": 3},
        {"kind": "Popen", "module": "subprocess", "qualname": "Popen", "args": ["id"]},
        {"kind": "Arms", "d": 10**12},
        {"kind": "Arms", "d": {"kind": "Oracle"}},
        {"kind": "Gaussian", "sigma": 1.0},
        {"kind": "Matchings", "rows": 10**5, "columns": 10**5},
        {"kind": "float", "value": "nan"},
    ):
        described = {"kind": "Problem", "actions": actions, "rewards": sigma}
        refused(service.post("studies", {"name": "h", "problem": described}), 422)
    for rule in ({"kind": "Oracle"}, {"kind": "Problem", "actions": arms, "rewards": sigma}, "no"):
        refused(service.post("studies", {"name": "h", "problem": PROBLEM, "rule": rule}), 422)
    whole = to_data(cg.Problem(cg.Arms(3), rewards=cg.Gaussian(1.0)))
    assert service.post("studies", {"name": "fine", "problem": whole}).status == 201
    assert "h" not in [one["name"] for one in service.get("studies").data["studies"]]


def test_headers_that_are_strange_do_no_harm(service):
    for headers in (
        {"Idempotency-Key": "a" * 1000},
        {"Idempotency-Key": " "},
        {"Cookie": "combgame=" + "x" * 3000},
        {"Last-Event-ID": "'; --"},
        {"Content-Length": "-5"},
        {"Origin": "null"},
        {"Origin": "http://[bad"},
        {"Host": "[::1"},
        {"Content-Type": "multipart/form-data; boundary=x"},
    ):
        said = service.call("POST", "/api/v1/studies/x/ask", {}, headers=headers)
        assert said.status < 500, (headers, said.body[:200])
