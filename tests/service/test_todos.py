"""A todo is of one history: after an older copy of a study was put back, its number may be that of
another round, and then nothing is taken for that one.
"""

import dataclasses
import html
import json
import re
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path

import openpyxl
import pytest
from starlette.testclient import TestClient

import combgame as cg
from combgame.lab.exports import write_sheet
from combgame.lab.inputs import MARK
from combgame.lab.server.app import create_app
from tests.said import refused
from tests.services import serving
from tests.studies import PROBLEM, command


def values(todo, value=0.5):
    return dict.fromkeys(todo.arms, value)


class Lab:
    """A file of studies, an older copy of which can be put back."""

    def __init__(self, folder):
        self.folder, self.file, self.n = folder, folder / "lab.db", 0
        self.storage = f"sqlite:///{self.file}"

    def open(self, **more):
        return cg.Study.open(self.storage, "plates", engine="python", **more)

    def copy(self):
        self.n += 1
        made = self.folder / f"copy{self.n}.db"
        with self.open() as study:
            study.copy(made)
        return made

    def put_back(self, copy):
        for tail in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                Path(f"{self.file}{tail}").unlink()
        copy.replace(self.file)


@pytest.fixture
def place(tmp_path):
    made = Lab(tmp_path)
    cg.Study(PROBLEM, name="plates", storage=made.storage, engine="python").close()
    return made


@pytest.fixture
def restored(place):
    """Round 1 was asked before the copy was made, and round 2 after it; by now round 2 is another,
    with the same arms.
    """
    with place.open() as study:
        before = study.ask()
    copy = place.copy()
    with place.open() as study:
        old = study.ask(client="ann")
    place.put_back(copy)
    with place.open() as study:
        new = study.ask(client="ben")
    assert (before.id, old.id, new.id) == (1, 2, 2) and old.arms == new.arms
    return place, before, old, new


def test_a_todo_of_a_history_that_was_put_back_is_refused(restored):
    place, before, old, new = restored
    with place.open() as study:
        events = study.events()
        for verb, *given in (
            ("tell", old, values(old)),
            ("tell_many", {old: values(old)}),
            ("tell_many", [(1, values(before)), (old, values(old))]),
            ("tell_and_ask", old, values(old)),
            ("fail", old, "spilt"),
            ("retract", old, "a typo"),
        ):
            with refused("other-round", cg.StudyError, round=2, name="plates") as caught:
                getattr(study, verb)(*given)
        assert "older copy" in str(caught.value) and "observe()" in str(caught.value)
        assert study.events() == events
        study.tell(new, values(new))
        with refused("other-round", cg.StudyError):  # now that it has ended, too
            study.tell(old, values(old))
        assert study.observe(dict(zip(old.names, (0.25, 0.125), strict=True))) == 3


def test_a_todo_from_before_the_copy_and_a_number_alone_are_accepted(restored):
    place, before, old, _ = restored
    with place.open() as study:
        study.tell(before, values(before))
        study.tell(old.id, values(old))
        assert study.status.rounds == 2


def test_a_todo_as_a_text_takes_its_mark_along(restored):
    place, _, old, new = restored
    with place.open() as study:
        for verb, *given in (("tell", values(old)), ("fail", "spilt"), ("retract", "a typo")):
            with refused("other-round", cg.StudyError, round=2):
                getattr(study, verb)(f"{old.id}#{old.mark}", *given)
        with refused("other-round", cg.StudyError):
            study.tell_many({f"2#{old.mark}": values(old)})
        with refused("round-twice", cg.InputError):
            study.tell_many({f"2#{new.mark}": values(new), 2: values(new)})
        for odd in ("2#", "2#x", "2#BC DF", "two", "#bcdfghjk", "2", "2 3"):
            with refused("must-be", cg.InputError):
                study.tell(odd, values(new))
        study.tell(f"{new.id}#{new.mark}", values(new))
        assert study.status.rounds == 1
        study.retract(f" {new.id}#{new.mark.upper()} ", "a typo")


def test_a_todo_whose_number_is_not_there_or_of_data_from_outside_is_of_another_history(place):
    copy = place.copy()
    with place.open() as study:
        first, _, old = study.ask(3)
    place.put_back(copy)
    with place.open() as study:
        with refused("other-round", cg.StudyError, round=3):
            study.tell(old, values(old))
        with refused("unknown-round", cg.UnknownNameError, round=3):
            study.tell(3, values(old))
        assert study.observe({"ann": 0.5}) == first.id
        for verb, *given in (("tell", values(first)), ("retract", "a typo")):
            with refused("other-round", cg.StudyError):
                getattr(study, verb)(first, *given)


def test_a_todo_of_another_study_is_refused(tmp_path):
    one, two = (cg.Study(PROBLEM, engine="python") for _ in range(2))
    todo, other = one.ask(), two.ask()
    assert todo == other and todo.mark != other.mark  # what is to be measured is the same
    with refused("other-round", cg.StudyError):
        two.tell(todo, values(todo))
    with refused("must-be", cg.InputError, name="mark"):
        two.tell(dataclasses.replace(other, mark="B1"), values(todo))


def test_a_round_keeps_its_mark_also_in_a_snapshot(place):
    with place.open() as study:
        todo = study.ask(client="ann", lease=1e-3)
        assert MARK.fullmatch(todo.mark)
        marks = [study.pending[0].mark, study.ask(client="ben").mark]  # whose lease had ended
        study.fail(todo, "spilt")
        marks.append(study.ask(client="cid").mark)
        study.tell(todo, values(todo))
        study.retract(todo, "a typo")
        marks.append(study.pending[0].mark)
    copy = place.copy()
    with place.open() as study:
        marks.append(study.ask(client="cid").mark)
    place.put_back(copy)
    with place.open() as study:
        marks.append(study.pending[0].mark)
        assert set(marks) == {todo.mark}
        study.tell(todo, values(todo))
        others = study.ask(50)
    assert len({one.mark for one in others}) == 50
    with place.open() as study:
        todo, *others = study.ask(600, client="dee")
        for one in others:
            study.fail(one, "spilt")
    with place.open() as study:
        (same,) = [one for one in study.pending if one.id == todo.id]
        assert same.mark == todo.mark
        study.tell(todo, values(todo))


def test_a_frame_takes_its_todos_along(restored, tmp_path):
    pandas = pytest.importorskip("pandas")
    place, _, old, new = restored
    read = {}  # what `ask --out` wrote, read by pandas
    for one in (old, new):
        (tmp_path / "t.csv").write_text(write_sheet([one], "plates"))
        read[one] = pandas.read_csv(tmp_path / "t.csv").assign(value=0.5)

    def frame(one):
        lines = [{"round": one.id, "arm": arm, "value": 0.5} for arm in one.names]
        return pandas.DataFrame(lines).assign(study=f"plates#{one.mark}")

    with place.open() as study:
        with refused("other-round", cg.StudyError):
            study.tell_many(frame(old))
        with refused("other-round", cg.StudyError, round=2):
            study.tell_many(read[old])
        study.tell_many(read[new])
        study.tell_many(frame(new))
        assert study.status.rounds == 1
        with refused("told-otherwise", cg.StudyError):
            study.tell_many(frame(new).drop(columns="study").assign(value=0.25))


# ---- over HTTP


def test_an_old_todo_is_not_taken_for_the_new_round_of_another_client(place):
    copy = place.copy()
    with serving(place.storage, tokens=False) as service:
        ann, ben = (cg.Client(service.url, client=who).open("plates") for who in ("ann", "ben"))
        old = ann.ask()
        place.put_back(copy)  # under the server
        new = ben.ask()
        assert old.id == new.id == 1 and old.arms == new.arms and old.mark != new.mark
        before = ben.seq
        for verb, *given in (
            ("tell", old, values(old)),
            ("tell_many", {old: values(old)}),
            ("tell_and_ask", old, values(old)),
            ("fail", old, "spilt"),
            ("retract", old, "a typo"),
        ):
            with refused("other-round", cg.StudyError, round=1, name="plates"):
                getattr(ann, verb)(*given)
        assert ben.seq == before
        ben.tell(new, values(new))
        assert ann.status.rounds == 1


def test_the_interface_takes_a_mark_and_needs_none(place):
    with serving(place.storage, tokens=False) as service:
        todo = service.post("studies/plates/ask", {}).data["rounds"][0]
        assert MARK.fullmatch(todo["mark"])
        assert service.get("studies/plates/pending").data["rounds"] == [todo]

        def tell(**more):
            told = {"round": 1, "values": dict.fromkeys(todo["names"], 0.5), **more}
            return service.post("studies/plates/tell", {"rounds": [told]})

        other = tell(mark="bcdfghjk")
        assert (other.status, other.code) == (409, "other-round")
        for wrong in ("x", "bcdfghj", "BCDFGH J"):
            assert (tell(mark=wrong).status, tell(mark=wrong).code) == (422, "must-be")
        assert tell(mark=3).status == 422
        fail = service.post("studies/plates/fail", {"round": 1, "reason": "x", "mark": "bcdfghjk"})
        assert (fail.status, fail.code) == (409, "other-round")
        assert tell(mark=None).status == tell(mark=todo["mark"]).status == tell().status == 200


# ---- on the command line


@pytest.fixture
def shell(place, monkeypatch):
    monkeypatch.chdir(place.folder)
    monkeypatch.setenv("COMBGAME_STORAGE", place.storage)
    return place


def filled(path):
    """A value in the column `value` of every line."""
    lines = [line.split(",") for line in Path(path).read_text().splitlines()]
    for k, line in enumerate(lines[1:]):
        line[lines[0].index("value")] = f"0.{k + 1}"
    Path(path).write_text("".join(",".join(line) + "\n" for line in lines))


def test_a_table_of_a_history_that_was_put_back_is_refused(shell):
    command("ask", "--out", "first.csv", "--client", "ann")
    copy = shell.copy()
    for out in ("old.csv", "old.xlsx"):
        command("ask", "--out", out, "--client", "ben")
    shell.put_back(copy)
    command("ask", "--out", "new.csv", "--client", "cid")
    head, *lines = Path("old.csv").read_text().splitlines()
    assert head == "study,round,arm,value" and len(lines) == 2
    assert all(line.startswith("plates#") for line in lines)
    for name in ("first", "old", "new"):
        filled(f"{name}.csv")
    book = openpyxl.load_workbook("old.xlsx")
    for row in list(book.active.rows)[1:]:
        row[3].value = 0.5
    book.save("old.xlsx")
    for path in ("old.csv", "old.xlsx"):
        with refused("other-round", cg.StudyError, round=2):
            command("tell", path)
    assert "1 round, 2 values stored" in command("tell", "new.csv").stdout
    assert "1 round, 2 values stored" in command("tell", "first.csv").stdout


def test_a_table_that_somebody_wrote_by_hand_needs_no_todo_and_a_wide_one_may_say_it(shell):
    arms = json.loads(command("ask", "--json").stdout)[0]["names"]
    lines = [f"1,{arm},0.{k}" for k, arm in enumerate(arms, 1)]
    Path("hand.csv").write_text("\n".join(["round,arm,value", *lines, ""]))
    assert "2 values stored" in command("tell", "hand.csv").stdout
    command("ask", "--out", "todo.csv")
    filled("todo.csv")
    table = Path("todo.csv").read_text()
    Path("todo.csv").write_text(re.sub("plates#[a-z]+", "plates", table))
    assert "2 values stored" in command("tell", "todo.csv").stdout
    todo = json.loads(command("ask", "--json").stdout)[0]
    one, two = todo["names"]
    Path("wide.csv").write_text(f"study,round,{one},{two}\nplates#bcdfghjk,3,0.1,0.2\n")
    with refused("other-round", cg.StudyError):
        command("tell", "wide.csv")
    Path("wide.csv").write_text(f"study,round,{one},{two}\nplates#{todo['mark']},3,0.1,0.2\n")
    assert "2 values stored" in command("tell", "wide.csv").stdout


def test_a_mark_that_was_edited_is_said_to_be(shell):
    command("ask", "--out", "todo.csv")
    filled("todo.csv")
    text = Path("todo.csv").read_text()
    mark = text.splitlines()[1].partition(",")[0].partition("#")[2]
    for odd, theirs in (("x", "plates#x"), ("", "plates#"), ("7" * 8, "plates#77777777")):
        Path("odd.csv").write_text(text.replace(mark, odd))
        with refused("sheet-of-another", cg.InputError, theirs=theirs, study="plates"):
            command("tell", "odd.csv")
    Path("odd.csv").write_text(text.replace("plates#", "other#"))
    with refused("sheet-of-another", cg.InputError, theirs="other", study="plates"):
        command("tell", "odd.csv")
    Path("odd.csv").write_text(text.replace(mark, "bcdfghjk", 1))
    with refused("two-rounds", cg.InputError, round=1):
        command("tell", "odd.csv")


def test_a_study_may_have_any_name_beside_a_mark(tmp_path):
    for name in ("a#b", "=1+1", "plates#bcdfghjk", "#"):
        from combgame.lab.exports import read_sheet, write_sheet, write_workbook

        study = cg.Study(PROBLEM, name=name, engine="python")
        todo = study.ask()
        (tmp_path / "t.csv").write_text(write_sheet([todo], name))
        (tmp_path / "t.xlsx").write_bytes(write_workbook([todo], name))
        for path in ("t.csv", "t.xlsx"):
            read = read_sheet(tmp_path / path, PROBLEM, name)
            assert read.marks == {1: todo.mark} and set(read.values[1]) == set(todo.arms)


# ---- in the browser


HTML = {"accept": "text/html"}


class Fields(HTMLParser):
    """The fields of all forms of a page, by their names."""

    def __init__(self, text):
        super().__init__()
        self.found = {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        if tag == "input" and "name" in known:
            self.found[known["name"]] = known.get("value", "")


def fields_of(text):
    return Fields(text).found


@pytest.fixture
def browser(place):
    app = create_app(place.storage, tokens=False, engine="python")
    with TestClient(app, headers=HTML, follow_redirects=False) as client:
        token = fields_of(client.get("/new").text)["csrf"]

        def send(what, **data):
            return client.post(f"/studies/plates/{what}", data={"csrf": token, **data})

        yield client, send


def test_a_form_from_before_is_not_taken_for_the_round_of_another(place, browser):
    client, send = browser
    copy = place.copy()
    send("ask", n="1")
    shown = fields_of(client.get("/studies/plates/enter").text)
    typed = {name: "0.5" for name in shown if name.startswith("v-")}
    marks = {name: value for name, value in shown.items() if name.startswith("mark-")}
    assert len(typed) == 2 and MARK.fullmatch(marks["mark-1"])
    fail = fields_of(client.get("/studies/plates/fail?round=1").text)
    head, *lines = client.get("/studies/plates/sheet.csv").text.splitlines()
    sheet = "\n".join([head, *(f"{line}0.5" for line in lines)])
    previewed = fields_of(send("preview", **typed, **marks).text)
    place.put_back(copy)
    gone = send("preview", **typed, **marks)
    assert gone.status_code == 422 and "not open any more" in gone.text
    with place.open() as study:
        new = study.ask(client="local")  # who uses the page
        assert new.id == 1
    for got in (
        send("preview", **typed, **marks),
        send("preview", paste=sheet.replace(",", "\t")),
        send("preview", paste="0.5\n0.5", **marks),
        send("results", told=previewed["told"], marks=previewed["marks"]),
        send("fail", round="1", mark=fail["mark"], reason="spilt"),
        send("release", round="1", mark=fail["mark"], reason="ill"),
    ):
        assert got.status_code in (409, 422) and "is another one now" in got.text, got.text
    with place.open() as study:
        assert [one.kind for one in study.events()] == ["created", "asked"]
    marks = {f"mark-{new.id}": new.mark}
    previewed = fields_of(send("preview", **typed, **marks).text)
    assert send("results", told=previewed["told"], marks=previewed["marks"]).status_code == 303
    with place.open() as study:
        assert study.status.values == 2


def test_a_form_whose_round_was_entered_meanwhile_says_so(place, browser):
    client, send = browser
    send("ask", n="1")
    shown = fields_of(client.get("/studies/plates/enter").text)
    typed = {name: "0.5" for name in shown if name.startswith("v-")}
    marks = {name: value for name, value in shown.items() if name.startswith("mark-")}
    with place.open() as study:
        study.tell(1, values(study.pending[0], 0.25))
    got = send("preview", **typed, **marks)
    assert got.status_code == 422 and "round 1 is not open any more" in html.unescape(got.text)
