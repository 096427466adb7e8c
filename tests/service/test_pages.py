"""The page, as HTML: what it shows, what it takes in, and whom it lets in."""

import io
import json
import re
import zipfile
from html.parser import HTMLParser

import numpy as np
import openpyxl
import pytest
from starlette.testclient import TestClient

import combgame as cg
from combgame.lab.round import Round
from combgame.lab.server.app import create_app
from combgame.lab.server.pages.create_form import begun, expected, names_of
from combgame.lab.server.pages.results_form import StudyContext, pasted, typed, understood
from combgame.lab.server.registry import make_token
from combgame.lab.server.settings import ServerSettings
from tests.said import refused

EVIL = "<img src=x onerror=alert(1)>"
NAMES = ["wt", "A12G", "K7R"]
PROBLEM = cg.Problem(cg.Subsets(3, 2), cg.Arms(3), cg.Gaussian(0.1), names=NAMES)
MEANS = {"wt": 0.2, "A12G": 0.34, "K7R": 0.25}
HTML = {"accept": "text/html"}
HEAD = re.compile(r'<section id="now".*?class="banner (\w+)".*?<h2[^>]*>(.*?)</h2>', re.S)


class Tags(HTMLParser):
    """What a page is made of."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self.ids, self.labels = [], [], [], [], set()
        self.fields = {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.tags.append(tag)
        self.attributes += [(tag, *one) for one in attrs]
        self.ids += [known["id"]] if "id" in known else []
        if tag == "label" and "for" in known:
            self.labels.add(known["for"])
        if tag in ("input", "textarea") and "name" in known:
            self.fields.setdefault(known["name"], []).append(known)

    def handle_data(self, data):
        self.text.append(data)

    @property
    def words(self):
        return re.sub(r"\s+", " ", " ".join(self.text))


def field(text, name):
    return Tags(text).fields[name][0]["value"]


@pytest.fixture
def client(storage):
    with TestClient(create_app(storage, tokens=False, engine="python"), headers=HTML) as client:
        client.get("/")  # which sets the cookie
        yield client


def study(storage, name="plate", problem=PROBLEM, rounds=0, off=0.0, client="ada", **how):
    made = cg.Study(problem, storage=storage, name=name, engine="python", **how)
    for k in range(rounds):
        if made.done:
            break
        todo = made.ask(client=client)
        wave = 0.02 * (-1) ** k
        told = {one: MEANS.get(one, 0.3) + wave + off for one in todo.names}
        made.tell(todo, told, client=client)
    return made


def post(client, path, page="/", **data):
    token = field(client.get("/new").text, "csrf")
    return client.post(path, data={"csrf": token, **data}, follow_redirects=False)


def taken(client, name="plate", n=1):
    """Take rounds; the page to enter them."""
    assert post(client, f"/studies/{name}/ask", n=str(n)).status_code == 303
    return client.get(f"/studies/{name}/enter").text


# ---- looking


def test_certified_not_yet_and_stopped_without_cannot_be_confused(client, storage):
    page = client.get("/").text
    assert "There are no studies yet" in page and 'href="/new"' in page
    study(storage, "certain", rounds=60)
    study(storage, "open", rounds=1).ask(client="ben")
    study(storage, "ended", rounds=2, max_rounds=2)
    words = Tags(client.get("/").text).words  # the list says what each study waits for
    assert "Not yet certain" in words and "1 round for ben" in words
    assert "Certified" in words and "Best: A12G" in words
    shown = {name: client.get(f"/studies/{name}").text for name in ("certain", "open", "ended")}
    heads = {name: HEAD.search(text) for name, text in shown.items()}
    assert heads["certain"].groups() == ("certified", "A12G is the best, with 95% confidence")
    assert heads["open"].group(1) == "running" and "not certified yet" in heads["open"].group(2)
    assert heads["ended"].group(1) == "stopped" and "not certified" in heads["ended"].group(2)
    assert "Give it more" in shown["ended"] and "Give it more" not in shown["open"]
    page = client.get("/studies/certain/decision").text  # which can be printed
    assert "95% (proved)" in page and "What it rests on" in page and "data-print" in page


def test_a_certificate_on_contradicted_noise_is_not_green(client, storage):
    made = study(storage, "noisy", min_replicates=8)
    while not made.done:  # single values far apart, a clear winner
        todo = made.ask()
        sign = (-1) ** (todo.id // 3)
        made.tell(todo, {x: 5.0 * (x == "A12G") + 0.5 * sign for x in todo.names})
    page = client.get("/studies/noisy").text
    assert 'class="banner doubted"' in page
    assert "only if the noise were as stated" in page
    assert "noise=unknown" in page, "the remedy is a button"


def test_estimates_are_sorted_with_winners_marked_and_the_plan_is_shown(client, storage):
    study(storage, rounds=4, planned_rounds=40.0)
    page = client.get("/studies/plate").text
    rows = re.findall(r'<th scope="row">(.*?)</th>', page, re.S)
    assert "★" in rows[0] and "A12G" in rows[0] and "leads" in rows[0]
    assert sum("hardest to rule out" in row for row in rows) == 1
    assert page.count('<svg class="bar"') == 3
    page = client.get("/studies/plate/pictures").text
    assert "about 40 rounds" in page and "4 rounds" in Tags(page).words and "<svg" in page


def test_a_network_is_drawn_with_its_leading_path(client, storage):
    edges = [("s", "a"), ("a", "t"), ("s", "t", EVIL)]
    problem = cg.Problem(cg.Paths(edges, "s", "t"), rewards=cg.Gaussian(0.1))
    study(storage, "net", problem, rounds=4)
    page = client.get("/studies/net").text
    assert '<svg class="network"' in page and "leading" in page and EVIL not in page


def test_the_log_and_a_long_list_of_studies_have_pages(client, storage):
    made = study(storage, rounds=30)
    seen, address = [], "/studies/plate/log"
    while address:
        page = client.get(address).text
        seen += re.findall(r"<li><span class=\"when\">", page)
        older = re.search(r'href="(\?before=\d+)">Older', page)
        address = "/studies/plate/log" + older.group(1) if older else None
    assert len(seen) == len(made.events())
    for k in range(30):
        cg.Study(PROBLEM, storage=storage, name=f"s{k}", engine="python")
    assert "Page 1 of 2" in client.get("/").text
    assert "Page 2 of 2" in client.get("/?page=99").text


def check_policy(path, read):
    names = {name for _, name, _ in read.attributes}
    assert "style" not in names and not {n for n in names if n.startswith("on")}, path
    assert "style" not in read.tags
    scripts = [src for tag, name, src in read.attributes if (tag, name) == ("script", "src")]
    assert scripts == ["/static/page.js"]
    assert len(read.ids) == len(set(read.ids)) or path in ("", "/pictures"), path
    for name, fields in read.fields.items():
        for one in fields:
            if one.get("type") not in ("hidden", "radio", "checkbox"):
                assert one["id"] in read.labels, f"{path}: {name} has no label"


def test_markup_in_every_name_is_text_and_nothing_that_the_policy_forbids_is_on_any_page(
    client, storage
):
    problem = cg.Problem(
        cg.Subsets(3, 2), cg.Arms(3), cg.Gaussian(0.1), names=[EVIL, "<b>b</b>", "c'\"&"]
    )
    name = f"<script>{EVIL}</script>"
    made = study(storage, name, problem, rounds=3, client="<i>ada</i>")
    made.fail(made.ask(client="<u>ben</u>"), "<h1>dropped</h1>")
    made.retract(1, EVIL)
    made.ask(client="local")
    at = "/studies/" + "".join(f"%{b:02X}" for b in name.encode())
    whole = client.get("/").text
    for path in (
        "",
        "/log",
        "/decision",
        "/enter",
        "/enter?all=1",
        "/retract",
        "/retract?round=2",
        "/fail?round=1",
        "/release?round=1",
        "/pictures",
        "/outside",
        "/stop",
        "/more",
    ):
        got = client.get(at + path)
        assert got.status_code == 200, path
        check_policy(path, Tags(got.text))
        whole += got.text
    whole += client.get("/new?like=" + "".join(f"%{b:02X}" for b in name.encode())).text
    read = Tags(whole)
    assert not {"img", "b", "i", "u"} & set(read.tags)
    assert read.tags.count("h1") == whole.count("<h1")
    assert EVIL in " ".join(read.text), "it is shown as it is"
    # what is not there has a page, too
    for path in ("/studies/nope", "/nowhere"):
        page = client.get(path)
        assert page.status_code == 404 and "There is nothing here" in page.text


# ---- who may


@pytest.fixture
def locked(storage):
    app = create_app(storage, tokens=True, engine="python")
    shelf = app.state.desk.shelf
    app.keys = {role: make_token(shelf, role, role) for role in ("read", "measure", "admin")}
    return app


def log_in(client, key, goal="/"):
    return client.post("/login", data={"token": key, "next": goal}, follow_redirects=False)


def test_log_in_and_log_out_and_nowhere_else(locked):
    with TestClient(locked, headers=HTML) as client:
        first = client.get("/studies/x?page=2", follow_redirects=False)
        assert first.status_code == 303
        assert first.headers["location"].startswith("/login?next=/studies/x")
        wrong = log_in(client, "cg_wrong")
        assert wrong.status_code == 401 and "not known" in wrong.text
        right = log_in(client, locked.keys["read"], "/?page=1")
        assert right.headers["location"] == "/?page=1"
        assert "HttpOnly" in right.headers["set-cookie"]
        assert "SameSite=Strict" in right.headers["set-cookie"]
        page = client.get("/").text
        assert "Log out" in page and "New study" not in page
        token = field(page, "csrf")
        client.post("/logout", data={"csrf": token})
        assert client.get("/", follow_redirects=False).status_code == 303
        for goal in ("//evil.example", "https://evil.example", "/\\evil", "x"):
            assert log_in(client, locked.keys["read"], goal).headers["location"] == "/"


FORMS = {
    "read": (),
    "measure": ("enter", "outside", "fail?round=1", "release?round=1", "retract"),
    "admin": ("enter", "outside", "fail?round=1", "release?round=1", "retract", "stop", "more"),
}


@pytest.mark.parametrize("role", FORMS)
def test_a_form_is_shown_to_those_who_may_send_it_and_taken_from_them_alone(locked, storage, role):
    made = study(storage, max_rounds=9)
    made.ask(client="ada")
    with TestClient(locked, headers=HTML) as client:
        log_in(client, locked.keys[role])
        page = client.get("/studies/plate").text
        assert ("Take the next round" in page) == ("It failed" in page) == (role != "read")
        assert ("Stop the study" in page) == (role == "admin")
        for form in FORMS["admin"]:
            got = client.get(f"/studies/plate/{form}")
            shown = form in FORMS[role]
            assert got.status_code == (200 if shown else 403), form
            assert ("/studies/plate/" in got.text and "<form" in got.text) or not shown
            assert 'name="reason"' not in got.text or shown
            assert shown or f"/studies/plate/{form}" not in page
        assert client.get("/studies/plate/none").status_code == 404
        assert client.get("/new").status_code == (200 if role == "admin" else 403)
        token = field(page, "csrf")
        for path, least in (("ask", "measure"), ("stop", "admin")):
            data = {"csrf": token, "reason": "x"}
            got = client.post(f"/studies/plate/{path}", data=data, follow_redirects=False)
            may = list(FORMS).index(role) >= list(FORMS).index(least)
            assert got.status_code == (303 if may else 403), path
            assert may or "You may not do that" in got.text
        for path in ("ask", "stop", "retract", "fail", "results"):  # nor without the form's token
            got = client.post(f"/studies/plate/{path}", data={"reason": "x", "csrf": "wrong"})
            assert got.status_code == 403, path
        assert client.post("/new", data={"name": "x"}).status_code == 403
    kinds = ["created", "asked", *(["asked"] if role != "read" else [])]
    assert [one.kind for one in made.events()] == kinds + ["closed"] * (role == "admin")


# ---- entering


def typed_fields(page, values):
    read = Tags(page)
    return {
        name: values[one[0]["data-name"]]
        for name, one in read.fields.items()
        if "data-cell" in one[0]
    }


def test_a_round_is_shown_before_it_is_stored(client, storage):
    made = study(storage)
    page = taken(client)
    values = typed_fields(page, {"wt": "0,21", "A12G": "0,93", "K7R": "0,25"})
    shown = post(client, "/studies/plate/preview", **values)
    assert shown.status_code == 200 and "2 values understood" in Tags(shown.text).words
    assert [one.kind for one in made.events()] == ["created", "asked"], "nothing is stored yet"
    told = {name: field(shown.text, name) for name in ("told", "once")}
    stored = post(client, "/studies/plate/results", **told)
    assert stored.headers["location"] == "/studies/plate?done=stored&n=2"
    assert "2 values stored." in client.get(stored.headers["location"]).text
    assert made.status.values == 2
    again = post(client, "/studies/plate/results", **told)
    assert again.status_code == 303 and made.status.values == 2, "the same form twice counts once"


def test_values_that_come_later_stay_open_and_several_of_an_arm_are_replicates(client, storage):
    made = study(storage)
    page = taken(client)
    values = typed_fields(page, dict.fromkeys(NAMES, ""))
    values[next(iter(values))] = "0,31; 0,29"
    shown = post(client, "/studies/plate/preview", **values).text
    assert "come later" in shown and "2 values understood" in Tags(shown).words
    told = {name: field(shown, name) for name in ("told", "once")}
    post(client, "/studies/plate/results", **told, blanks="later")
    assert len(made.pending[0].remaining) == 1 and made.status.values == 2
    assert "already told" in client.get("/studies/plate").text


def test_what_cannot_be_read_is_said_beside_what_was_typed(client, storage):
    study(storage)
    page = taken(client)
    for value, says in (
        ("abc", "must be a number"),
        ("<0.1", "which side of a limit"),
        ("#DIV/0!", "a formula that went wrong"),
        ("1,234", "may be 1.234 or 1234"),
    ):
        values = typed_fields(page, dict.fromkeys(NAMES, value))
        shown = post(client, "/studies/plate/preview", **values)
        assert shown.status_code == 422 and says in Tags(shown.text).words
        fields = Tags(shown.text).fields.values()
        kept = [one[0]["value"] for one in fields if "data-cell" in one[0]]
        assert kept == [value, value], "what was typed is not lost"


def test_an_odd_value_is_marked_before_it_is_stored_and_afterwards_has_its_remedy_as_a_button(
    client, storage
):
    made = study(storage, rounds=6)
    page = taken(client)
    values = typed_fields(page, {"wt": "2.0", "A12G": "3.4", "K7R": "2.5"})
    words = Tags(post(client, "/studies/plate/preview", **values).text).words
    assert "standard errors from the mean" in words
    assert "is it 0.34?" in words or "is it 0.25?" in words or "is it 0.2?" in words
    (todo,) = made.pending
    made.tell(todo, {todo.names[0]: 7.0, todo.names[1]: MEANS[todo.names[1]]})
    page = client.get("/studies/plate").text
    assert "standard errors from the mean" in page
    assert f"/studies/plate/retract?round={todo.id}" in page


@pytest.mark.parametrize("sigma", [0.15, None])
def test_a_lost_point_is_marked_where_rounds_have_levels(client, storage, sigma):
    """ "Nothing looks odd" was said of 1162 for 1.162."""
    problem = cg.Problem(
        cg.Subsets(6, 3),
        cg.Arms(6),
        cg.Gaussian(sigma, batch_effect=True),
        names=list("abcdef"),
    )
    rng = np.random.default_rng(1)
    one = study(storage, problem=problem, client="ada")
    for todo in one.ask(8, client="bob"):
        level = rng.normal(1.0, 0.3)
        one.tell(todo, {a: 0.1 * a + level + rng.normal(0, 0.15) for a in todo.arms}, client="bob")
    page = taken(client)
    cells = [one[0]["name"] for one in Tags(page).fields.values() if "data-cell" in one[0]]
    good = {name: f"{1.2 + 0.1 * int(name[-1]):.3f}" for name in cells}
    assert "Nothing looks odd" in Tags(post(client, "/studies/plate/preview", **good).text).words
    value = float(good[cells[1]])
    odd = post(client, "/studies/plate/preview", **{**good, cells[1]: f"{1000 * value:.0f}"})
    words = Tags(odd.text).words
    assert "1 line to look at" in words and f"is it {value:g}" in words
    assert "standard errors from what the other values let" in words


def upload(client, raw, file, **data):
    token = field(client.get("/new").text, "csrf")
    return client.post(
        "/studies/plate/preview", data={"csrf": token, **data}, files={"file": (file, raw)}
    )


def test_a_csv_and_a_workbook_go_out_and_come_back(client, storage):
    made = study(storage)
    taken(client, n=2)
    sheet = client.get("/studies/plate/sheet.csv?mine=1")
    assert sheet.headers["content-disposition"].startswith("attachment")
    head, *lines = sheet.text.strip().split("\n")
    filled = "\n".join([head, *(f"{line}0.5{k}" for k, line in enumerate(lines))]) + "\n"
    shown = upload(client, filled.encode(), "back.csv").text
    assert "4 values understood" in Tags(shown).words
    post(client, "/studies/plate/results", told=field(shown, "told"))
    assert made.status.values == 4 and made.status.rounds == 2
    taken(client)
    book = openpyxl.load_workbook(io.BytesIO(client.get("/studies/plate/sheet.xlsx").content))
    for row in list(book.active.rows)[1:]:
        row[3].value = 0.5
    out = io.BytesIO()
    book.save(out)
    shown = upload(client, out.getvalue(), "back.xlsx").text
    post(client, "/studies/plate/results", told=field(shown, "told"))
    assert made.status.values == 6


def test_a_file_that_is_no_table_is_refused_in_a_sentence(client, storage):
    study(storage)
    taken(client)
    for raw in (b"", b"PK\x03\x04nonsense", b"\xd0\xcf\x11\xe0old", b"\0\1\2\3"):
        got = upload(client, raw, "x.xlsx")
        assert got.status_code == 422 and 'role="alert"' in got.text, raw
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/workbook.xml", "")
        packed.writestr("xl/worksheets/sheet1.xml", bytes(21 * 2**20))
    got = upload(client, out.getvalue(), "bomb.xlsx")
    assert got.status_code == 422 and "more than 20,971,520 bytes" in Tags(got.text).words


def test_a_round_with_the_values_of_another_is_asked_about(client, storage):
    made = study(storage)
    page = taken(client)
    told = {"wt": "0.20511", "A12G": "0.24622", "K7R": "0.25733"}
    shown = post(client, "/studies/plate/preview", **typed_fields(page, told)).text
    post(client, "/studies/plate/results", told=field(shown, "told"))
    for _ in range(4):
        page = taken(client)
        values = typed_fields(page, told)
        shown = post(client, "/studies/plate/preview", **values).text
        if "the very values of number" in shown:
            break
        post(client, "/studies/plate/results", told=field(shown, "told"))
    assert "measured twice" in shown
    assert made.status.rounds >= 1


def test_what_comes_back_changed_is_refused(client, storage):
    made = study(storage)
    taken(client)
    for told in ("", "[]", '{"a": 1}', '{"1": {"0": {"x": 1}}}', "[" * 5000):
        assert post(client, "/studies/plate/results", told=told).status_code == 422
    got = post(client, "/studies/plate/results", told=json.dumps({"99": {"0": 1.0}}))
    assert got.status_code in (404, 409, 422)
    assert made.status.values == 0


def test_data_from_outside(client, storage):
    made = study(storage, rounds=2)
    shown = post(
        client, "/studies/plate/preview", outside="1", paste="wt\t0,21\nA12G\t0,93", reason="old"
    )
    assert "2 values understood" in Tags(shown.text).words
    told, reason = field(shown.text, "told"), field(shown.text, "reason")
    got = post(client, "/studies/plate/results", told=told, outside="1", reason=reason)
    assert "done=outside" in got.headers["location"]
    assert made.events()[-1].reason == "old"


A, B = Round(4, (0, 2), ("wt", "K7R"), (0, 2)), Round(5, (1, 2), ("A12G", "K7R"), (1, 2))


CELLS = [
    ("0,31\n0,25\n", [A], {4: {0: 0.31, 2: 0.25}}),
    ("0.31\t0.25", [A], {4: {0: 0.31, 2: 0.25}}),
    ("K7R\t0,25\nwt\t0,31", [A], {4: {0: 0.31, 2: 0.25}}),
    ("K7R;0,25\r\nwt;0,31\r\n", [A], {4: {0: 0.31, 2: 0.25}}),
    ("wt\tK7R\n0,31\t0,25", [A], {4: {0: 0.31, 2: 0.25}}),
    ("arm\tvalue\nwt\t0.31\nK7R\t", [A], {4: {0: 0.31, 2: None}}),
    ("round\tarm\tvalue\n5\tA12G\t1\n4\twt\t2", [A, B], {5: {1: 1.0}, 4: {0: 2.0}}),
    ("1\n2\n3\n4", [A, B], {4: {0: 1.0, 2: 2.0}, 5: {1: 3.0, 2: 4.0}}),
    ("round,wt,K7R\n4,0.31,0.25", [A], {4: {0: 0.31, 2: 0.25}}),
]


def test_cells_of_a_spreadsheet_are_understood_or_refused():
    nothing = cg.Study(PROBLEM, engine="python").status.estimates

    def known(rounds):
        return StudyContext(
            PROBLEM, "plate", nothing, None, {one.id: one for one in rounds}, {}, {}
        )

    for text, rounds, values in CELLS:
        assert understood(pasted(text, PROBLEM, rounds), known(rounds)).values == values, text
    for text, rounds, code in (
        ("", [A], "nothing-pasted"),
        ("1\n2\n3", [A], "other-number"),
        ("wt\t1\nK7R\t2", [A, B], "which-round"),
        ("x\t1\ny\t2", [A], "other-number"),
    ):
        with refused(code):
            pasted(text, PROBLEM, rounds)
    with refused("mixed-decimals"):  # typed fields share one decimal mark
        understood(typed({(4, "wt"): "0,5", (4, "K7R"): "0.25"}), known([A]))


# ---- what goes wrong


def test_fail_give_up_and_release(client, storage):
    made = study(storage)
    taken(client, n=3)
    got = post(client, "/studies/plate/fail", round="1", reason="dropped", again="yes")
    assert "done=failed" in got.headers["location"]
    post(client, "/studies/plate/fail", round="2", reason="broken", again="no")
    post(client, "/studies/plate/release", round="3", reason="on leave")
    page = Tags(client.get("/studies/plate").text).words
    assert "failed, to be taken again" in page
    assert [one.id for one in made.pending] == [1, 3] and made.pending[1].client is None
    none = post(client, "/studies/plate/fail", round="1", reason=" ")
    assert none.status_code == 422 and "no reason was given" in none.text


def test_taking_back_shows_what_and_needs_a_reason_and_more_is_given_until_it_is_stopped(
    client, storage
):
    made = study(storage, rounds=3, max_rounds=3)
    page = client.get("/studies/plate/retract?round=2").text
    told = [row for row in made.rows("round") if row["round"] == 2]
    assert all(row["arm"] in page for row in told)
    assert post(client, "/studies/plate/retract", round="2", reason="").status_code == 422
    got = post(client, "/studies/plate/retract", round="2", reason="wrong plate")
    assert "done=retracted" in got.headers["location"] and made.status.retractions == 1
    twice = post(client, "/studies/plate/retract", round="2", reason="again")
    assert twice.status_code == 422 and "nothing to retract" in twice.text
    few = post(client, "/studies/plate/more", max_rounds="1", reason="more money")
    assert few.status_code == 422 and "is not more than" in few.text
    post(client, "/studies/plate/more", max_rounds="9", reason="more money")
    assert made.state == "running"
    post(client, "/studies/plate/stop", reason="enough")
    assert made.state == "by hand"
    assert "somebody stopped it" in client.get("/studies/plate").text


# ---- to begin


FORM = {"name": "new one", "names": "variant\nwt\nA12G\nK7R\n", "play": "2", "find": "1"}


def test_the_form_shows_a_plan_and_makes_the_study(client, storage):
    form = {**FORM, "noise": "gaussian", "sigma": "0,1", "gap": "0.1", "risk": "0.05"}
    shown = post(client, "/new", **form, do="plan")
    assert shown.status_code == 200
    rounds = re.search(r"<strong>([\d,]+) rounds</strong>", shown.text).group(1)
    got = post(client, "/new", **form, do="create")
    assert got.headers["location"].startswith("/studies/new%20one?done=created")
    made = cg.Study.open(storage, "new one", engine="python")
    assert made.problem == cg.Problem(
        cg.Subsets(3, 2), cg.Arms(3), cg.Gaussian(0.1), names=["wt", "A12G", "K7R"]
    )
    assert f"{made.planned_rounds:,.0f}" == rounds
    assert post(client, "/new", **form, do="create").status_code == 422, "the name is taken"


BUILT = [
    ({}, cg.Problem(cg.Subsets(3, 2), cg.Arms(3), cg.Gaussian(), names=NAMES)),
    (
        {"noise": "gaussian", "sigma": "0.2", "level": "1"},
        cg.Problem(cg.Subsets(3, 2), cg.Arms(3), cg.Gaussian(0.2, batch_effect=True), names=NAMES),
    ),
    (
        {"level": "1"},
        cg.Problem(cg.Subsets(3, 2), cg.Arms(3), cg.Gaussian(batch_effect=True), names=NAMES),
    ),
    (
        {"noise": "bernoulli", "play": "1", "find": "2", "goal": "minimise"},
        cg.Problem(cg.Arms(3), cg.Subsets(3, 2), cg.Bernoulli(), names=NAMES, goal="minimise"),
    ),
    (
        {"noise": "bounded", "low": "0", "high": "5"},
        cg.Problem(cg.Subsets(3, 2), cg.Arms(3), cg.Bounded(0, 5), names=NAMES),
    ),
    (
        {"kind": "path", "edges": "s,a\na,t\ns,t,direct", "source": "s", "sink": "t"},
        cg.Problem(
            cg.Paths([("s", "a"), ("a", "t"), ("s", "t", "direct")], "s", "t"),
            rewards=cg.Gaussian(),
        ),
    ),
    (
        {"kind": "tree", "edges": "a b\nb c\nc a"},
        cg.Problem(cg.SpanningTrees([("a", "b"), ("b", "c"), ("c", "a")]), rewards=cg.Gaussian()),
    ),
]


def test_every_kind_of_problem_that_the_form_builds():
    for change, problem in BUILT:
        made = begun({**FORM, **change}, ServerSettings())
        assert made.fits and made.problem == problem, change


UNFIT = [
    ({"name": ""}, "name"),
    ({"names": "one"}, "names"),
    ({"names": ""}, "names"),
    ({"play": "4"}, "play"),
    ({"find": "3"}, "find"),
    ({"play": "x"}, "play"),
    ({"noise": "gaussian"}, "sigma"),
    ({"noise": "gaussian", "sigma": "-1"}, "sigma"),
    ({"level": "1", "noise": "gaussian"}, "sigma"),
    ({"level": "1", "noise": "gaussian", "sigma": "1", "play": "1"}, "play"),
    ({"level": "1", "play": ""}, "play"),
    ({"level": "1", "kind": "tree", "edges": "a b\nb c\nc a"}, "problem"),
    ({"risk": "2"}, "risk"),
    ({"max_rounds": "-5"}, "max_rounds"),
    ({"kind": "path", "edges": "s a\na t"}, "source"),
    ({"kind": "path", "edges": "s a\na s", "source": "s", "sink": "a"}, "problem"),
    ({"kind": "tree", "edges": "a b\nc d"}, "problem"),
    ({"kind": "tree", "edges": "a"}, "problem"),
    ({"noise": "bounded", "low": "", "high": ""}, "low"),
]


def test_what_does_not_fit_is_said_at_its_field():
    for change, wrong in UNFIT:
        made = begun({**FORM, **change}, ServerSettings())
        assert wrong in made.wrong and not made.fits, change
    made = begun({**FORM, "names": "\n".join(map(str, range(2000)))}, ServerSettings(arms=1000))
    assert "limit" in made.wrong["problem"]
    assert names_of("a\r\nb\r\n") == ["a", "b"] and names_of("x; y; z") == ["x", "y", "z"]


PLANNED = {**FORM, "name": "n", "play": "2", "noise": "gaussian", "sigma": "0.1", "gap": "0.1"}


def plan_of(**change):
    made = begun({**PLANNED, **change}, ServerSettings())
    return expected(made), made


def test_the_plan_of_the_form_knows_its_tolerance_and_its_budget(client):
    plain, _ = plan_of()
    close, _ = plan_of(epsilon="0.05")
    assert close["rounds"] < 0.6 * plain["rounds"] and plain["budget"] == ""
    budgets = (0.3, "few"), (1.0, "perhaps"), (3.0, "not half"), (10.0, "enough")
    for share, word in budgets:
        most = str(round(share * plain["rounds"]))
        assert plan_of(max_rounds=most)[0]["budget"] == word
    few = str(round(0.3 * plain["rounds"]))
    words = Tags(post(client, "/new", **PLANNED, max_rounds=few, do="plan").text).words
    assert f"At most {few} rounds will most likely not be enough" in words
    assert f"At most {few} rounds" in words.split("Looked for")[1], "among the settings"
    words = Tags(post(client, "/new", **PLANNED, epsilon="0.2", do="plan").text).words
    assert "Any answer within 0.2 of the best will do" in words
    assert "for this difference, all of them would" in words
    assert "whatever is within 0.2 of the best" in words


def test_a_plan_is_never_shorter_than_the_start_nor_kept_beyond_the_budget(client, storage):
    easy, _ = plan_of(gap="10", min_replicates="8")
    assert easy["rounds"] == 8 * 2  # three arms, two at once
    assert post(client, "/new", **PLANNED, max_rounds="3", do="create").status_code == 303
    assert cg.Study.open(storage, "n", engine="python").planned_rounds == 3.0


@pytest.mark.parametrize("noise", [{"noise": "gaussian", "sigma": "0.1"}, {"noise": "unknown"}])
def test_rounds_with_levels_are_offered_and_shown_wherever_settings_are(client, storage, noise):
    form = {**PLANNED, "sigma": "", "guess": "0.1", **noise}
    without = plan_of(**form)[0]
    shown = post(client, "/new", **form, level="1", do="plan").text
    assert plan_of(**form, level="1")[0]["rounds"] == pytest.approx(1.4 * without["rounds"])
    assert 'id="level" value="1" aria-describedby="level-hint" checked' in shown
    assert post(client, "/new", **form, level="1", do="create").status_code == 303
    made = cg.Study.open(storage, "n", engine="python")
    assert made.problem.rewards.has_batch_effect()
    for todo in made.ask(2):
        made.tell(todo, {name: MEANS.get(name, 0.3) for name in todo.names})
    said = "each may read high or low as a whole, so arms are compared within rounds only"
    pages = [shown, *(client.get(f"/studies/n{end}").text for end in ("", "/decision"))]
    assert all(said in Tags(page).words for page in pages[:2])
    made.stop("enough")
    assert said in Tags(client.get("/studies/n/decision").text).words
    assert (
        "may read high or low as a whole" in Tags(client.get("/api/v1/studies/n/report").text).words
    )
    like = client.get("/new?like=n").text
    assert 'level-hint" checked' in like and f'value="{noise["noise"]}" checked' in like


def test_what_cannot_be_compared_yet_is_said_with_its_reason(client, storage):
    problem = cg.Problem(
        cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(batch_effect=True), names=list("abcd")
    )
    made = study(storage, problem=problem)

    def one_more():
        todo = made.ask()
        made.tell(todo, {name: None if name == "d" else 0.3 for name in todo.names})

    one_more()
    page = client.get("/studies/plate").text
    words = Tags(page).words
    assert "Nobody leads yet" in words and "1 of the" in words
    assert "too little is known yet" not in words and "Between" not in words
    assert 'class="tag"' not in page, "nothing leads"
    assert "Nobody leads yet" in Tags(client.get("/").text).words
    while made.status.compared.code == "nothing-compared":
        one_more()
    words = Tags(client.get("/studies/plate").text).words
    assert "d has not been compared with" in words
    assert "Nobody leads yet" not in words and "Between" not in words
    assert "no arm has an interval of its own" in words and "Add data from outside" not in words


def test_a_problem_file_is_taken_but_no_code(client, storage):
    text = 'names = ["a", "b"]\n[actions]\nkind = "arms"\n[rewards]\nkind = "bernoulli"\n'
    token = field(client.get("/new").text, "csrf")
    data = {"csrf": token, "name": "file", "do": "create"}
    got = client.post("/new", data=data, files={"file": ("p.toml", text)}, follow_redirects=False)
    assert got.status_code == 303
    for evil in (
        '{"kind": "Oracle", "d": 3}',
        "x = ",
        '{"actions": {"kind": "arms", "arms": 1e9}}',
    ):
        data["name"] = "evil"
        got = client.post("/new", data=data, files={"file": ("p.json", evil)})
        assert got.status_code == 422
    study(storage)
    page = client.get("/new?like=plate&noise=unknown").text
    assert "wt\nA12G\nK7R" in page and 'id="noise-unknown" value="unknown" checked' in page
