"""The page in a browser: Debian's Chromium, driven by Playwright. Skipped, with a word, where one
of them is missing.
"""

import io
import shutil
import socket
import threading
import time

import openpyxl
import pytest

import combgame as cg

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None, reason="there is no Chromium: apt-get install chromium runs these"
    ),
]

NAMES = ["wt", "A12G", "K7R"]
PROBLEM = cg.Problem(cg.Subsets(3, 2), cg.Arms(3), cg.Gaussian(0.1), names=NAMES)
EVIL = "<img src=x onerror=window.harm=1>"
PASTE = """text => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const how = { clipboardData, bubbles: true, cancelable: true };
  document.activeElement.dispatchEvent(new ClipboardEvent("paste", how));
}"""
PATIENCE = 30_000  # ms: it catches what hangs


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield made
        made.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Its address and its storage, of a server in a thread."""
    import uvicorn

    from combgame.lab.server.app import create_app

    storage = f"sqlite:///{tmp_path_factory.mktemp('served')}/lab.db"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = create_app(storage, tokens=False, engine="python")
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60.0
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.05)
    assert server.started
    yield f"http://127.0.0.1:{port}", storage
    server.should_exit = True
    thread.join(30.0)


@pytest.fixture
def window(browser, service):
    """Opens windows that must not complain; they share a profile."""
    context = browser.new_context(base_url=service[0], accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    said = []

    def opened(path="/"):
        page = context.new_page()
        page.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path)
        return page

    yield opened
    context.close()
    assert said == []


def stored(page):
    """From a preview to the study."""
    page.wait_for_selector("h1:has-text('Is this right?')")
    page.click("button:has-text('Store')")
    page.wait_for_selector("p[role=status]:has-text('stored')")


def take(page):
    page.goto(page.url.split("/studies/")[0] + "/studies/" + study_of(page))
    page.click("button:has-text('round')")
    page.wait_for_selector("h1:has-text('Enter results')")


def study_of(page):
    return page.url.split("/studies/")[1].split("/")[0].split("?")[0]


VALUES = {"wt": "0,21", "A12G": "0,93", "K7R": "0,26"}


def type_round(page):
    take(page)
    for field in page.query_selector_all("input[data-cell]"):
        field.fill(VALUES[field.get_attribute("data-name")])
    page.keyboard.press("Enter")
    stored(page)


def test_from_the_form_to_a_certificate_seen_live(window, service):
    page = window("/")
    page.click("text=New study")
    page.fill("#name", "by form")
    page.fill("#names", "variant\n" + "\n".join(NAMES))
    page.fill("#play", "2")
    page.check("#noise-gaussian")
    page.fill("#sigma", "0,3")
    page.fill("#gap", "0,5")
    page.click("button:has-text('Show the plan')")
    page.wait_for_selector("text=Expect some")
    assert page.input_value("#sigma") == "0,3"
    page.click("button:has-text('Create the study')")
    page.wait_for_selector("h1:has-text('by form')")

    other = window("/studies/by%20form")  # it is never loaded again
    assert "Nothing has been measured yet" in other.inner_text("#headline")
    zone = other.inner_text("[data-zone]")
    assert "your zone" in zone

    type_round(page)
    other.wait_for_selector("#headline:has-text('leads')")

    take(page)  # pasted into the table: names and values, in another order
    names = [one.get_attribute("data-name") for one in page.query_selector_all("input[data-cell]")]
    text = "\n".join(f"{name}\t{VALUES[name]}" for name in reversed(names))
    page.focus("input[data-cell]")
    page.evaluate(PASTE, text)
    typed = [one.input_value() for one in page.query_selector_all("input[data-cell]")]
    assert typed == [VALUES[name] for name in names]
    page.click("button:has-text('Look at it first') >> nth=0")
    stored(page)

    take(page)  # a column of values, pasted as a text
    names = [one.get_attribute("data-name") for one in page.query_selector_all("input[data-cell]")]
    page.fill("#paste", "\n".join(VALUES[name] for name in names))
    page.click("form:has(#paste) button:has-text('Look')")
    stored(page)

    take(page)  # a CSV file out and in
    with page.expect_download() as caught:
        page.click("text=Table as CSV")
    head, *lines = caught.value.path().read_text().strip().split("\n")
    filled = [f"{line}{VALUES[line.split(',')[2]].replace(',', '.')}" for line in lines]
    raw = ("\n".join([head, *filled]) + "\n").encode()
    page.set_input_files("#file", {"name": "back.csv", "mimeType": "text/csv", "buffer": raw})
    page.click("form:has(#file) button:has-text('Look')")
    stored(page)

    take(page)  # a workbook out and in
    with page.expect_download() as caught:
        page.click("text=Table as Excel")
    book = openpyxl.load_workbook(io.BytesIO(caught.value.path().read_bytes()))
    for row in list(book.active.rows)[1:]:
        row[3].value = float(VALUES[row[2].value].replace(",", "."))
    out = io.BytesIO()
    book.save(out)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    page.set_input_files("#file", {"name": "b.xlsx", "mimeType": kind, "buffer": out.getvalue()})
    page.click("form:has(#file) button:has-text('Look')")
    stored(page)

    page.click("text=Take something back")
    page.click("a:has-text('Take back') >> nth=0")
    page.fill("#reason", EVIL)
    page.click("button:has-text('Take it back')")
    page.wait_for_selector("p[role=status]:has-text('Taken back')")
    other.wait_for_selector("#log :text('took back')")
    assert other.query_selector("#log img") is None and EVIL in other.inner_text("#log")

    study = cg.Study.open(service[1], "by form", engine="python")
    for _ in range(60):  # the rest by a program, until one round is missing
        if study.status.evidence > study.status.threshold - 1.5 or study.done:
            break
        todo = study.ask(client="robot")
        study.tell(todo, {one: float(VALUES[one].replace(",", ".")) for one in todo.names})
    while "Certified" not in page.inner_text("#now"):
        type_round(page)
    other.wait_for_selector("#now .badge.certified")
    assert "A12G is the best, with 95% confidence" in other.inner_text("#headline")
    assert "A12G is the best" in other.inner_text("#news"), "it is read out"
    study.close()


def test_levels_are_asked_of_numbers_and_the_plan_counts_them(window, service):
    page = window("/new")
    assert page.is_visible("#level")  # with how much they vary unknown, as the form begins
    page.check("#noise-bernoulli")
    assert not page.is_visible("#level")
    page.check("#noise-gaussian")
    page.check("#kind-path")
    assert not page.is_visible("#level")
    page.check("#kind-items")
    page.fill("#name", "levelled")
    page.fill("#names", "\n".join(NAMES))
    page.fill("#play", "2")
    page.fill("#sigma", "0.3")
    page.fill("#gap", "0.5")
    page.check("#level")
    page.click("summary:has-text('More settings')")
    page.fill("#max_rounds", "2")
    page.click("button:has-text('Show the plan')")
    page.wait_for_selector("text=At most 2 rounds will most likely not be enough")
    assert "arms are compared within rounds only" in page.inner_text("#plan")
    page.click("button:has-text('Create the study')")
    page.wait_for_selector("h1:has-text('levelled')")
    assert "arms are compared within rounds only" in page.inner_text("#about")


def test_a_live_change_keeps_what_is_typed_and_where_one_is(window, service):
    study = cg.Study(PROBLEM, storage=service[1], name="kept", engine="python")
    study.ask(client="ada")
    page = window("/studies/kept")
    page.wait_for_selector("text=Round 1")
    page.focus("#open a:has-text('It failed')")
    later = study.ask(client="ben")
    study.tell(later, dict.fromkeys(later.names, 0.3))
    page.wait_for_selector("#headline:has-text('lead')")
    assert "It failed" in page.evaluate("document.activeElement.textContent")
    page.fill("#n", "3")
    study.ask(client="cleo")
    page.wait_for_selector("#open :text('cleo')")
    assert page.input_value("#n") == "3"
    study.close()


def test_it_works_without_script(browser, service):
    cg.Study(PROBLEM, storage=service[1], name="plain", engine="python").close()
    context = browser.new_context(base_url=service[0], java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto("/studies/plain")
    type_round(page)
    assert "2 values" in page.inner_text("#lead")
    assert "UTC" in page.inner_text("#log")
    page.click("text=Show it")
    assert page.query_selector("#pictures svg") is not None
    context.close()


def test_the_keyboard_reaches_what_matters(window, service):
    cg.Study(PROBLEM, storage=service[1], name="keys", engine="python").close()
    page = window("/studies/keys")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert "Take the next round" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('Enter results')")
    page.keyboard.type("0,3")
    page.keyboard.press("Tab")
    page.keyboard.type("0,4")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('Is this right?')")


def test_no_page_has_a_serious_fault_of_accessibility(browser, service):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is missing")
    edges = [("s", "a"), ("a", "t"), ("s", "t")]
    graph = cg.Problem(cg.Paths(edges, "s", "t"), rewards=cg.Gaussian(0.1))
    for name, problem, rounds in (("axe", PROBLEM, 5), ("graph", graph, 3), ("done", PROBLEM, 60)):
        with cg.Study(problem, storage=service[1], name=name, engine="python") as study:
            for k in range(rounds):
                if not study.done:
                    todo = study.ask(client="local")
                    told = {one: 0.3 + 0.1 * (one == "A12G") + 0.01 * (k % 2) for one in todo.names}
                    study.tell(todo, told)
            if name == "axe":
                todo = study.ask(client="local")
                study.tell(todo, {todo.names[0]: 9.0, todo.names[1]: 0.3})
                if not study.done:
                    study.ask(client="local")
    paths = ["/", "/new", "/studies/axe", "/studies/graph", "/studies/done", "/studies/nowhere"]
    paths += [f"/studies/axe/{one}" for one in ("enter", "log", "retract", "outside", "stop")]
    paths += ["/studies/done/decision", "/studies/axe/fail?round=1", "/studies/axe/pictures"]
    found = []
    for scheme, width, some in (("light", 1100, paths), ("dark", 390, paths[:5])):
        context = browser.new_context(
            base_url=service[0],
            color_scheme=scheme,
            viewport={"width": width, "height": 800},
            bypass_csp=True,  # for the checker itself
        )
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        for path in some:
            page.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            result = axe.Axe().run(page).response
            found += [
                (scheme, path, one["id"], [node["html"][:120] for node in one["nodes"][:3]])
                for one in result["violations"]
                if one["impact"] in ("serious", "critical")
            ]
        context.close()
    assert not found, "\n".join(map(str, found))
