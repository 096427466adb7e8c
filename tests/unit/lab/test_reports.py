"""Pictures and pages: what they show of a study, a plan, a comparison."""

import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import combgame as cg
from combgame._display import html
from combgame._display.html import inline
from combgame._display.plotting import MOST, save, shown, spoken
from combgame.lab.report import figures as experiment
from combgame.lab.report import graphs as networks
from combgame.lab.report import pages as studies
from combgame.lab.report.content import arms_of, network
from tests.said import refused
from tests.studies import COINS, MEANS, NAMES, PROBLEM, TOML, UNKNOWN, command, measure

NASTY = ["<script>alert(1)</script>", "a & b", "$x_1$", '"quoted"', "back\\slash", "naïve 酵素"]
VOID = {"meta", "br", "circle", "path", "use", "rect", "hr", "image", "line"}


class Reader(HTMLParser):
    """Checks that elements are closed in order, and keeps texts, tags, ids and links."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.tags, self.links, self.ids = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        known = dict(attrs)
        self.links += [known[key] for key in ("href", "src", "xlink:href") if key in known]
        self.ids += [known["id"]] if "id" in known else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def told(problem, means, rounds, name="five", draw=None, **more):
    study, rng = cg.Study(problem, name=name, **more), np.random.default_rng(0)
    draw = draw or (lambda arm: float(rng.normal(means[arm], 0.1)))
    for _ in range(rounds):
        if study.done:
            break
        todo = study.ask()
        study.tell(todo, {arm: draw(arm) for arm in todo.remaining})
    return study


@pytest.fixture(scope="module")
def study():
    study = told(PROBLEM, MEANS, 8)
    study.fail(study.ask(client="bob"), "spilt")
    return study


# ---- which arms


rows = st.lists(
    st.tuples(st.integers(0, 3), st.floats(-5, 5), st.booleans(), st.booleans()), max_size=30
)


@given(rows, st.integers(1, 30), st.booleans())
def test_leading_arms_have_room_first_and_all_are_in_order(drawn, most, least_first):
    arms = [
        {"arm": str(k), "n": n, "mean": mean if n else None, "leads": bool(leads and n), "rival": r}
        for k, (n, mean, leads, r) in enumerate(drawn)
    ]
    chosen = shown(arms, most, least_first)
    parts = [one["arm"] for part in chosen for one in part]
    assert sorted(parts) == sorted(one["arm"] for one in arms)
    means = [one["mean"] for one in chosen.arms]
    assert means == sorted(means, reverse=not least_first) and len(means) <= most
    if any(one["leads"] for one in chosen.rest):
        assert all(one["leads"] for one in chosen.arms)
    assert all(one["n"] == 0 for one in chosen.silent)


@given(st.floats(1e-6, 1e6), st.integers(-1000, 1000))
def test_neighbours_on_an_axis_look_different(step, k):
    assert spoken(k * step, step) != spoken((k + 1) * step, step)
    assert float(spoken(k * step, step).replace(",", "")) == pytest.approx(
        k * step, abs=2e-3 * abs(k * step) + 1e-3 * step
    )


# ---- pictures


def texts(made):
    made.canvas.draw()
    return [label.get_text() for axis in made.axes for label in axis.get_yticklabels()]


def test_arms_stand_by_name_the_best_at_the_top_and_the_axis_has_the_unit(study):
    axis = study.plot("estimates").axes[0]
    names = [label.get_text() for label in axis.get_yticklabels()]
    arms = {one["arm"]: one for one in study.rows("arm")}
    assert sorted(names) == sorted(NAMES) and axis.yaxis_inverted()
    assert [arms[name]["mean"] for name in names] == sorted(
        (one["mean"] for one in arms.values()), reverse=True
    )
    bold = [x.get_text() for x in axis.get_yticklabels() if x.get_fontweight() == "bold"]
    assert bold == [name for name in names if arms[name]["leads"]]
    assert study.plot("estimates", unit="mg/l").axes[0].get_xlabel().startswith("mg/l (estimate")
    assert study.plot("estimates").axes[0].get_xlabel().startswith("value (estimate")
    coins = told(COINS, [0.9, 0.5, 0.1], 6, draw=lambda arm: float(arm == 0))
    assert coins.plot("estimates").axes[0].get_xlabel().startswith("share of successes")


def test_numbers_of_arms_mean_nothing_to_a_picture_and_many_are_summarised():
    """The same values under other numbers: the same lines in the same order."""
    values, order = [0.5, 0.3, 0.2, 0.1, 0.0], [3, 1, 4, 0, 2]
    names = []
    for turned in (range(5), order):
        problem = cg.Problem(
            cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.1), names=[NAMES[a] for a in turned]
        )
        study = cg.Study(problem)
        study.observe({k: [values[a]] * 3 for k, a in enumerate(turned)})
        names.append(texts(study.plot("estimates")))
    assert names[0] == names[1]
    problem = cg.Problem(cg.Arms(60), rewards=cg.Gaussian(0.1), names=[f"v{k}" for k in range(60)])
    study = cg.Study(problem)
    study.observe({k: k / 60 for k in range(58)})
    for kind in ("estimates", "pulls", "overview"):
        lines = texts(study.plot(kind))[: MOST + 2]
        assert lines[0] == "v57" and lines[MOST].startswith("38 more arms")
        assert lines[MOST + 1] == "2 arms: no value"


def test_every_kind_of_problem_and_any_values_can_be_drawn(tmp_path):
    grid = cg.grid_network(4)
    extreme = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1e40)))
    extreme.observe({0: [1e45, 2e45], 1: [-1e45, 0.0]})
    same = cg.Study(PROBLEM)
    same.observe({k: [0.5, 0.5] for k in range(5)})  # all equal
    drawn = [
        told(UNKNOWN, [0.5, 0.4, 0.3, 0.2, 0.1, 0.0], 12),
        told(cg.Problem(grid, rewards=cg.Gaussian(0.1)), [0.1 * k for k in range(grid.d)], 12),
        told(cg.Problem(cg.Arms(2), rewards=cg.Bounded(0, 1)), [0.5, 0.4], 12),
    ]
    pairs = [(one, kind) for one in (extreme, same) for kind in experiment.KINDS]
    pairs += [(one, kind) for one in drawn for kind in ("overview", "evidence")]
    for study, kind in pairs:
        study.plot(kind).savefig(tmp_path / "a.png")
        assert (tmp_path / "a.png").stat().st_size > 3000


points = st.lists(
    st.tuples(st.floats(allow_nan=False), st.floats(0.1, 100.0)), min_size=1, max_size=40
)


@settings(max_examples=30, deadline=None)
@given(points)
def test_the_evidence_never_leaves_its_axes(drawn):
    _, axis = experiment.figure()
    rows = [{"rounds": k, "evidence": e, "threshold": t} for k, (e, t) in enumerate(drawn, 1)]
    experiment.evidence(axis, rows)
    low, high = axis.get_ylim()
    needed = axis.lines[1].get_ydata()
    assert all(low <= y <= high for y in needed if not math.isnan(y))
    for line in (axis.lines[0], *axis.lines[2:]):
        assert all(low <= y <= high for y in line.get_ydata())
    assert low < axis.lines[1].get_ydata()[-1] < high


@pytest.fixture(scope="module")
def overtaken():
    """A certified study: what comes later would take the certificate back, if it counted."""
    rng = np.random.default_rng(5)
    other = cg.Study(PROBLEM, name="overtaken", seed=0)
    todos = other.ask(200)
    for todo in todos[:100]:
        if other.done:
            break
        other.tell(todo, {arm: float(rng.normal(MEANS[arm], 0.1)) for arm in todo.remaining})
    assert other.decision.certified
    for todo in other.pending:
        other.tell(todo, {a: MEANS[a] - 0.25 * (a in other.decision.answer) for a in todo.arms})
    assert other.status.n_late > 50
    return other


def test_the_picture_shows_the_moment_of_the_certificate_and_what_came_later_apart(overtaken):
    points, end = overtaken.history(), overtaken.decision
    part = [one for one in points if not one["late"]]
    assert 0 < len(part) < len(points) and points[len(part)]["late"]
    assert part[-1]["evidence"] == end.evidence > end.threshold == part[-1]["threshold"]
    assert points[-1]["evidence"] < points[-1]["threshold"]  # it would be below the line
    axis = overtaken.plot("evidence").axes[0]
    curves = {line.get_label(): line for line in axis.lines}
    assert curves["evidence"].get_xdata()[-1] == end.rounds
    assert curves["evidence"].get_ydata()[-1] == end.evidence
    assert curves[experiment.LATER_EVIDENCE].get_xdata()[-1] == points[-1]["rounds"]
    assert [text.get_text().strip() for text in axis.texts] == [
        f"certified after {end.rounds} rounds"
    ]
    with overtaken.view(history=True) as now:
        points = now.history(most=3)
    part = [one for one in points if not one["late"]]
    assert part[-1]["evidence"] == overtaken.decision.evidence and len(points) <= 4
    assert points[-1]["seq"] == overtaken.history()[-1]["seq"]


def test_estimates_of_an_ended_study_are_those_of_its_end(overtaken):
    status = overtaken.status.to_dict()
    with overtaken.view(history=True) as now:
        arms = arms_of(now, status)
    then = {one.name: one for one in overtaken.decision.estimates}
    for one, current in zip(arms, overtaken.rows("arm"), strict=True):
        assert (one["n"], one["mean"]) == (then[one["arm"]].n, then[one["arm"]].mean)
        assert one["leads"] == then[one["arm"]].leads
        if current["n"] > one["n"]:
            assert one["later"] == {"n": current["n"], "mean": current["mean"]}
    assert sum(one["n"] for one in arms) == overtaken.decision.values
    labels = [text.get_text() for text in overtaken.plot("estimates").legends[0].get_texts()]
    assert experiment.LATER_MEAN in labels and "hardest to rule out" in labels
    words = " ".join(Reader(overtaken.report()).texts)
    assert "came later and are not part of it" in words
    said = [one for one in overtaken.decision.assumptions if one.code == "results-late"]
    assert "would lead" in str(said[0]) or "less than the" in str(said[0])
    assert "the certificate stays as it was given" in str(said[0])


def test_what_the_data_contradict_stands_on_every_picture(study):
    status = {
        **study.status.to_dict(),
        "noise_check": {"verdict": "too small", "sentence": "It lies."},
    }
    from combgame.lab.report.content import warning

    assert warning(status) == "It lies." and warning(study.status.to_dict()) == ""
    status["noise_check"] = {"verdict": "too large", "code": "x", "text": "Less."}
    assert warning(status) == "Less."
    status["noise_check"] = {"verdict": "fits", "sentence": {"text": "All is well."}}
    assert warning(status) == ""
    data = {
        "arms": study.rows("arm"),
        "points": study.history(),
        "unit": "value",
        "interval": "so",
        "title": "t",
        "warning": "It lies.",
        "least_first": False,
    }
    for kind in experiment.KINDS:
        made = experiment.picture(data, kind)
        assert made.axes[0].get_title(loc="left") == "It lies."


def test_a_contradicted_certificate_never_stands_alone(monkeypatch):
    study = told(PROBLEM, MEANS, 400)
    lies = {"verdict": "too small", "text": "0.1 does not fit 1.0."}
    plain = cg.lab.Status.to_dict
    monkeypatch.setattr(
        cg.lab.Status, "to_dict", lambda self, *given: {**plain(self, *given), "noise_check": lies}
    )
    title = study.plot("estimates").get_suptitle()
    words = " ".join(Reader(study.report()).texts)
    assert "certified only if the noise were as stated" in title and "95%" not in title
    assert "95% (proved)" not in words and "which the values contradict" in words
    assert words.count("certified only if the noise were as stated") == 1
    assert "0.1 does not fit 1.0." in words and "0.1 does not fit" in study._repr_html_()


def test_an_inline_picture_touches_nothing_around_it(study):
    text = inline(study.plot(), "a < b")
    read = Reader(text)
    assert "style" not in read.tags and "script" not in read.tags and " style=" not in text
    assert "<title>a &lt; b</title>" in text and "currentColor" in text and "var(--best" in text
    assert all(link.startswith("#") for link in read.links)
    assert set(read.links) <= {f"#{one}" for one in read.ids}


# ---- networks


EDGES = [
    ("s", "a"),
    ("s", "b"),
    ("a", "t"),
    ("b", "t"),
    ("s", "t", "<b>short</b>"),
    ("a", "t", "2nd"),
]


NETWORKS = [
    cg.Paths(EDGES, "s", "t"),
    cg.SpanningTrees(EDGES),
    cg.Matchings(["ann", "bob"], ["<x>", "y"]),
]


def test_a_network_is_drawn_alike_every_time_and_inside_its_picture():
    for structure in NETWORKS:
        problem = cg.Problem(structure, rewards=cg.Gaussian(0.1))
        best = structure.argmax([0.1 * a for a in range(structure.d)])
        rows = [{"arm": problem.label([a]), "n": a, "leads": a in best} for a in range(structure.d)]
        made = network(problem, rows)
        places, tall = networks.placed(made)
        assert networks.placed(made) == (places, tall) and len(set(places)) == len(made.nodes)
        assert all(0 <= x <= networks.WIDE and 0 <= y <= tall for x, y in places)
        text = networks.drawn(made)
        read = Reader(text)
        assert "b" not in read.tags and "x" not in read.tags and " style=" not in text
        assert text.count('stroke="var(--best') == sum(1 for a in best if a > 0)
        assert "stroke-dasharray" in text, "an edge without values"


def test_a_network_that_nobody_could_read_is_not_drawn_and_a_report_draws_the_others():
    edges = [(k, k + 1) for k in range(networks.MOST_NODES + 1)] + [(0, networks.MOST_NODES + 1)]
    problem = cg.Problem(cg.Paths(edges, 0, networks.MOST_NODES + 1), rewards=cg.Gaussian(0.1))
    rows = [{"arm": str(a), "n": 1, "leads": False} for a in range(problem.d)]
    assert networks.drawn(network(problem, rows)) == ""
    assert network(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)), rows[:2]) is None
    study = cg.Study(cg.Problem(cg.Paths(EDGES, "s", "t"), rewards=cg.Gaussian(0.1)))
    assert "The network" in study.report()


# ---- the report


def test_the_report_is_one_file_that_fetches_nothing_and_has_all_that_happened(study, tmp_path):
    text = study.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == text
    read = Reader(text)
    assert "script" not in read.tags and "link" not in read.tags and "img" not in read.tags
    assert all(link.startswith("#") for link in read.links)
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", text)
    assert "@media print" in text and "prefers-color-scheme: dark" in text
    words = " ".join(Reader(study.report(unit="mg/l")).texts)
    for said in ("not certified", "mg/l", "spilt", "bob", "Noise check", "Every round", "Margin"):
        assert said in words
    for row in study.rows("round"):
        if row["mean"] is not None:
            assert f"{row['mean']:.4g}" in words
    assert study.status.next_step.render() in words


def test_the_report_says_who_measured_what():
    study, rng = cg.Study(PROBLEM), np.random.default_rng(0)
    for who in ("ann", "bob", "ann"):
        todo = study.ask(client=who)
        study.tell(todo, measure(todo, rng), client="robot" if who == "bob" else None)
    study.observe({0: (0.5, 7)}, "an old notebook")
    from combgame.lab.report.content import people, rounds

    with study.view(history=True) as now:
        rows, events = now.rows("round"), now.events
    made = rounds(rows, events)
    assert [one["who"] for one in made] == ["ann", "robot", "ann", ""]
    assert made[3]["outside"] and made[3]["values"] == [("ann", 0.5, 7, "observed")]
    assert people(rows) == [("(nobody was named)", 1, 7), ("ann", 2, 4), ("bob", 1, 2)]
    assert "ann 0.5 (mean of 7) (measured outside the study)" in study.report()


def test_names_with_markup_and_every_other_text_are_escaped(tmp_path):
    problem = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(0.1), names=NASTY)
    study = told(problem, [0.5, 0.4, 0.3, 0.2, 0.1, 0.0], 9, name="<b>&</b>", client="<i>ann</i>")
    study.fail(study.ask(), "<u>spilt</u>")
    for text in (study.report(), study._repr_html_()):
        read = Reader(text)
        assert not {"b", "i", "u", "script"} & set(read.tags)
        assert any("<script>alert(1)</script>" in one for one in read.texts)
    save(study.plot(), tmp_path / "a")
    assert "酵素" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    known = {"lead": "<a>", "head": ["<b>"], "rows": [["<c>"]], "left": 1, "notes": ["<d>"]}
    assert html.render("fragment.html", **known, picture=None).count("&lt;") == 4
    pieces = html.environment().get_template("pieces.html").module
    assert "&lt;e&gt;" in pieces.facts([("x", "<e>")]) and "&lt;f&gt;" in pieces.listed(["<f>"])
    assert "<title>&lt;g&gt;</title>" in html.render("sheet.html", title="<g>")


def test_a_certified_study_says_so_first():
    study = told(PROBLEM, MEANS, 400)
    words = Reader(study.report()).texts
    assert study.decision.certified
    said = study.decision.headline.render()
    assert words.index(said) < words.index("The decision")
    assert "95% (proved)" in words


def test_the_report_compares_with_a_plan(study):
    plan = cg.plan(PROBLEM, MEANS, delta=[0.1, 0.05], rules=None)
    words = " ".join(Reader(study.report(plan=plan)).texts)
    limit = next(row["limit"] for row in plan.rows() if row["delta"] == 0.05)
    assert f"planned some {limit:.4g} rounds; used 8 rounds" in words and "supposed ann" in words
    simulated = cg.plan(PROBLEM, MEANS, runs=3, engine="python")
    words = " ".join(Reader(study.report(plan=simulated)).texts)
    assert f"planned {simulated.rows()[0]['mean']:,.0f} rounds" in words
    with refused("must-be", cg.InputError, name="plan"):
        study.report(plan=MEANS)
    with refused("must-be", cg.InputError, name="unit"):
        study.report(unit=3)


def test_of_very_many_rounds_the_first_and_the_last_are_listed_and_of_none_that(monkeypatch, study):
    monkeypatch.setattr(studies, "LONG", 4)
    words = " ".join(Reader(study.report()).texts)
    assert "5 rounds left out" in words
    # a study without values has a report, too
    study = cg.Study(PROBLEM)
    assert "There are no values yet." in study.report()
    assert "still running" in study._repr_html_()


def test_what_a_status_has_besides_is_shown():
    lead = {"value": 0.1, "sentences": [{"text": "b is worse by 0.1."}, {"text": "80%."}]}
    noise = {"verdict": "too small", "sentence": {"text": "0.1 does not fit."}}
    made = dict(studies._margin({"status": {"lead": lead}, "margin": None}, "value"))
    assert made == {"Margin": "B is worse by 0.1.", " ": "80%."}
    assert studies.said(noise) == "0.1 does not fit."
    assert studies.said({"low": 0.5, "at_most": [1, 2.0], "none": None}) == (
        "low: 0.5; at most: 1 to 2"
    )


# ---- notebooks


def test_plans_comparisons_and_simulations_show_themselves():
    compared = cg.compare(PROBLEM, MEANS, rules=["ofw", "uniform"], runs=3, engine="python")
    for one in (compared, compared[0], cg.plan(PROBLEM, MEANS, delta=[0.1, 0.01], rules=None)):
        read = Reader(one._repr_html_())
        assert "svg" in read.tags and "table" in read.tags
    assert "uniform" in compared._repr_html_()


# ---- commands


@pytest.mark.compiled
@pytest.mark.parametrize("sigma", ["sigma = 0.1", "simulation_sigma = 0.1"])
def test_a_report_compares_with_a_plan_where_plays_have_levels(tmp_path, monkeypatch, sigma):
    monkeypatch.chdir(tmp_path)
    plates = TOML.replace("sigma = 0.1", f"{sigma}, batch_effect = true")
    (tmp_path / "p.toml").write_text(plates + "truth = {means = [0.5, 0.3, 0.2, 0.1, 0.0]}\n")
    where = ("--storage", "sqlite:///lab.db")
    made = ("create", "p.toml", "--name", "plate", "--max-rounds", 12, "--epsilon", 0.05, *where)
    assert command(*made).exit_code == 0
    with cg.Study.open("sqlite:///lab.db", "plate") as study:
        for todo in study.ask(4):
            study.tell(todo, {arm: MEANS[arm] for arm in todo.arms})
    assert "wrote r.html." in command("report", "--plan", "p.toml", "-o", "r.html", *where).output
    words = " ".join(Reader((tmp_path / "r.html").read_text(encoding="utf-8")).texts)
    assert "Expect 12 rounds with frank-wolfe at delta = 0.05, epsilon = 0.05" in words
    assert "planned 12 rounds (half of the runs" in words and "used 4 rounds" in words
    assert "supposed ann" in words
    rows = re.findall("(ann|eve) (0.5|0) ", words)
    assert ("ann", "0.5") in rows and ("eve", "0") in rows  # what was supposed of each


def test_a_picture_and_a_report_need_no_name_of_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(TOML + "truth = {means = [0.5, 0.3, 0.2, 0.1, 0.0]}\n")
    where = ("--storage", "sqlite:///lab.db")
    assert command("create", "p.toml", "--name", "plate 7", *where).exit_code == 0
    with cg.Study.open("sqlite:///lab.db", "plate 7") as study:
        todo = study.ask()
        study.tell(todo, dict.fromkeys(todo.arms, 0.5))
    assert "wrote plate-7-overview.png and plate-7-overview.svg." in command("plot", *where).output
    assert "wrote plate-7-report.html." in command("report", "--plan", "p.toml", *where).output
    again = command("report", "--plan", "p.toml", *where).output
    assert "wrote plate-7-report.html, in the place of what was there." in again
    text = (tmp_path / "plate-7-report.html").read_text(encoding="utf-8")
    assert "supposed ann" in text and "combgame study replay --head" in text
    assert command("report", "-o", "mine.html", "--unit", "mg/l", *where).exit_code == 0
    assert "mg/l" in (tmp_path / "mine.html").read_text(encoding="utf-8")
    with refused("file-unwritable", cg.StoreError, path="/nowhere/a.html"):
        command("report", "-o", "/nowhere/a.html", *where)
