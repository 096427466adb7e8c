"""What the package says to people, as the source has it: codes, templates, and what fills them.

python -m tests.docs.test_sentences writes docs/codes.md anew.
"""

import ast
import importlib.util
import json
import pickle
import re
import string
from collections import defaultdict
from itertools import product
from typing import NamedTuple

import numpy as np

import combgame as cg
from combgame import _messages as sentences
from combgame import errors
from combgame._messages import PYTHON, CallHint, Message, OptionHint, PhraseHint
from combgame.errors import CombGameError, InputError, invalid_argument, missing_extra, unknown_name
from combgame.io.parsing import Location
from combgame.io.problem_file import problem_from
from combgame.research.campaign import campaign
from combgame.research.campaign.store import open_store
from tests.paths import ROOT
from tests.said import refused

SOURCE, PAGE = ROOT / "src" / "combgame", ROOT / "docs" / "codes.md"
LEFT = ()  # folders and modules whose sentences have no codes yet
PASS_ON = {  # functions that are given a template, and what else they are in
    ("errors.py", "CombGameError"),
    ("errors.py", "invalid_argument"),
    ("errors.py", "check_text"),
    ("_validation.py", "check_list"),
    ("errors.py", "unknown_name"),
    ("errors.py", "missing_extra"),
    ("_messages.py", "Message"),
    ("lab/client/_wire.py", "sentence_from"),
    ("stopping/base.py", "with_note"),
    ("io/parsing.py", "must_be"),
    ("io/parsing.py", "missing"),
    ("io/parsing.py", "unknown"),
}
METHODS = ("must_be", "unknown", "unknown_key", "missing")  # of a `Location`: no name, but a value
MANY = ("must-be", "unknown", "needs-extra")  # the codes of errors.py, for its functions alone
LIKE = ("must_be", "invalid_argument", "check_list", "check_text")  # are given what a value must be
ALONE = {  # which are given no template, and their codes
    "unknown": "unknown",
    "unknown_name": "unknown",
    "missing_extra": "needs-extra",
    "unknown_key": "unknown-key",
}
HELPERS = (*LIKE, *ALONE, "with_note", "with_context", "missing")
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Site(NamedTuple):
    """Where a sentence is made, with what the source says of it; None: that is not literal."""

    where: str
    verb: str  # the class or function that is called
    code: str | None
    texts: tuple[str, ...] | None  # more than one where a condition chooses
    remedies: tuple[str, ...] | None
    given: dict[str, ast.expr]  # the arguments
    open: bool  # some of the arguments are in a dict


def family(trees):
    """The names of the classes that are errors of this package."""
    names, before = {"CombGameError"}, 0
    while len(names) > before:
        before = len(names)
        for tree in trees:
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                    names |= {node.name} if bases & names else set()
    return names


def literal(node, known):
    """The texts that an expression can be, from literals alone; None if that cannot be told.

    known: what the names around it can be.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value,)
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute):  # what each side advises
        return known.get(ast.unparse(node))
    if isinstance(node, ast.IfExp):
        sides = literal(node.body, known), literal(node.orelse, known)
        return None if None in sides else tuple(dict.fromkeys(sides[0] + sides[1]))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = literal(node.left, known), literal(node.right, known)
        return None if None in sides else tuple(a + b for a, b in product(*sides))
    return None


def either(ways):
    """What names can be after one of several ways through the code."""
    names = {name for way in ways for name in way}
    merged = {name: [way.get(name) for way in ways] for name in names}
    return {
        name: None if None in some else tuple(dict.fromkeys(x for texts in some for x in texts))
        for name, some in merged.items()
    }


class Walk:
    """Goes through a module as it would run, with what the names of texts can be."""

    def __init__(self, path, makers):
        self.path, self.makers, self.made = path, makers, []

    def block(self, statements, known):
        """What names can be at the end of a block; None: it is never reached."""
        for one in statements:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if (self.path, one.name) not in PASS_ON:
                    given = one.args.args + one.args.kwonlyargs if hasattr(one, "args") else []
                    self.block(one.body, {**known, **{x.arg: None for x in given}})
                continue
            self.calls(one, known)
            known = self.after(one, known)
            if known is None:
                return None
        return known

    def after(self, one, known):
        if isinstance(one, ast.Raise | ast.Return | ast.Continue | ast.Break):
            return None
        if isinstance(one, ast.Assign):
            for target in one.targets:
                if isinstance(target, ast.Name):
                    known = {**known, target.id: literal(one.value, known)}
                elif isinstance(target, ast.Tuple):
                    many = isinstance(one.value, ast.Tuple)
                    values = one.value.elts if many else [None] * len(target.elts)
                    known = known | {
                        name.id: literal(value, known)
                        for name, value in zip(target.elts, values, strict=False)
                        if isinstance(name, ast.Name)
                    }
        elif isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
            longer = ast.BinOp(ast.Name(one.target.id), one.op, one.value)
            known = {**known, one.target.id: literal(longer, known)}
        blocks = [getattr(one, field, []) for field in ("body", "orelse", "finalbody")]
        blocks += [x.body for x in (*getattr(one, "handlers", []), *getattr(one, "cases", []))]
        ends = [self.block(some, known) for some in blocks if some]
        if ends and not (isinstance(one, ast.If) and one.orelse):
            ends.append(known)  # none of them, perhaps
        ends = [end for end in ends if end is not None]
        return either(ends) if ends else None if any(blocks) else known

    def calls(self, one, known):
        """The sentences that are made in a statement itself, not in the blocks below it."""
        nodes = [x for x in ast.iter_child_nodes(one) if isinstance(x, ast.expr | ast.withitem)]
        for node in (x for some in nodes for x in ast.walk(some) if isinstance(x, ast.Call)):
            name = getattr(node.func, "id", "")
            verb = getattr(node.func, "attr", name)
            method = not name and (verb in METHODS or verb in self.makers)
            if name in self.makers or method or (verb == "with_context" != name and worded(node)):
                self.made.append(site(node, verb, f"{self.path}:{node.lineno}", known))


def worded(node):
    """Whether a place is given as a text, rather than by its arguments, or for an error."""
    return any(isinstance(one, ast.Constant | ast.JoinedStr | ast.BinOp) for one in node.args)


def advised(trees):
    """The remedies of every `StorageAdvice`, by the name of the field."""
    remedies = defaultdict(tuple)
    for node in (x for tree in trees for x in ast.walk(tree) if isinstance(x, ast.Call)):
        if getattr(node.func, "id", "") == "StorageAdvice":
            for word in node.keywords:
                remedies[f"advice.{word.arg}"] += literal(word.value, {})
    return remedies


def sites(source=SOURCE, left=LEFT):
    """Every sentence that is made in the source, but for the folders that are left."""
    paths = sorted(source.rglob("*.py"))
    trees = {path.relative_to(source).as_posix(): ast.parse(path.read_text()) for path in paths}
    makers = {*family(trees.values()), "Message", *HELPERS}
    makers, made = makers - {"with_context", "missing", "must_be", "unknown"}, []
    advice = advised(trees.values())
    for path, tree in trees.items():
        if path.partition("/")[0] not in left:
            first = Walk(path, ()).block(tree.body, {})  # what is defined below a function
            walk = Walk(path, makers)
            walk.block(tree.body, {**(first or {}), **advice})
            made += walk.made
    return made


def site(call, name, where, known):
    given = {word.arg: word.value for word in call.keywords if word.arg is not None}
    loose = any(word.arg is None for word in call.keywords)
    remedy = given.pop("remedy", ast.Constant(""))
    values = call.args
    if name in LIKE:
        if isinstance(call.func, ast.Attribute):  # a place knows the name
            values = [None, *values]
        code, text = ast.Constant("must-be"), (values + [None] * 3)[2]
        text = given.pop("what", text)
        remedy = values[3] if len(values) > 3 else remedy
        given = {one: x for one, x in given.items() if one not in ("of", "lines")}
        if name.startswith("check_"):
            given.pop("most", None)
    elif name == "missing":
        code, text = ast.Constant("missing-key"), ast.Constant("{key} is missing")
        remedy = values[1] if len(values) > 1 else remedy
    elif name in ALONE:
        code, text = ast.Constant(ALONE[name]), ast.Constant("")
    elif name in ("with_note", "with_context"):
        code, text = ast.Constant("more"), values[-1] if values else None
    else:
        code, text = (values + [None] * 2)[:2]
    codes = None if code is None else literal(code, known)
    return Site(
        where,
        name,
        codes[0] if codes and len(codes) == 1 else None,
        None if text is None else literal(text, known),
        literal(remedy, known),
        given,
        loose,
    )


def places(text):
    """The places of a template, with their formats."""
    marks = [mark for mark in string.Formatter().parse(text) if mark[1] is not None]
    return [(re.split(r"[.\[]", mark[1])[0], mark[2] or "") for mark in marks]


def faults(one):
    """What is wrong with a sentence as the source has it."""
    if one.code is None or not KEBAB.fullmatch(one.code):
        yield f"{one.where}: {one.verb}: its code must be a literal in kebab-case"
    if one.texts is None or one.remedies is None:
        yield f"{one.where}: {one.verb}: its text and its remedy must be literal templates"
    elif one.verb not in ALONE:
        wanted = {name for text in one.texts + one.remedies for name, _ in places(text)}
        wanted -= {"missing": {"key"}}.get(one.verb, set())
        wanted -= {"name", "value"} if one.verb in LIKE else set()
        if not one.given.keys() <= wanted or (one.given.keys() != wanted and not one.open):
            yield f"{one.where}: {one.verb}: places {wanted} but arguments {set(one.given)}"


MADE = sites()


def test_every_sentence_has_a_literal_code_of_its_own_and_a_place_for_every_argument():
    assert len(MADE) > 100
    wrong = [fault for one in MADE for fault in faults(one)]
    assert not wrong, "\n".join(wrong)
    texts = defaultdict(dict)
    for one in MADE:
        if one.verb not in HELPERS:
            texts[one.code].setdefault(one.texts, one.where)
    twice = {code: said for code, said in texts.items() if len(said) > 1 or code in MANY}
    assert not twice, twice


SEEN = [
    ("raise InputError(f'{x} is wrong')", "its code"),
    ("raise InputError('x is wrong')", "literal templates"),
    ("raise InputError('Not_Kebab', 'x is wrong')", "its code"),
    ("raise InputError('wrong', f'{x} is wrong')", "literal templates"),
    ("raise InputError('wrong', '{x} is wrong')", "places"),
    ("raise InputError('wrong', 'it is wrong', x=1)", "places"),
    ("raise InputError('wrong', 'it is wrong', remedy=advice)", "literal templates"),
    ("raise invalid_argument('x', x, f'at least {least}')", "literal templates"),
    ("raise invalid_argument('x', x, 'at least {least}')", "places"),
    ("class Mine(InputError): pass\nraise Mine('it is wrong')", "literal templates"),
    ("text = f'{x} is wrong'\nraise InputError('wrong', text)", "literal templates"),
    ("why.with_context('line {line}', row=1)", "places"),
    ("raise errors.InputError('wrong', f'{x} is wrong')", "literal templates"),
    ("raise at.at('x').must_be(x, f'at least {least}')", "literal templates"),
    ("raise at.must_be(x, 'an arm', 'one of {names}')", "places"),
    ("raise at.must_be(x, 'an arm', names)", "literal templates"),
    ("raise at.missing('kind', f'one of {known}')", "literal templates"),
    ("raise at.missing('kind', 'one of {known}', names=names)", "places"),
]


def test_the_walk_sees_what_is_wrong(tmp_path):
    root = "class InputError(CombGameError): pass\n"
    for source, fault in SEEN:
        (tmp_path / "part.py").write_text(root + source + "\n")
        said = " ".join(text for one in sites(tmp_path) for text in faults(one))
        assert fault in said, source


def test_the_walk_reads_what_is_put_together_and_what_a_name_stands_for(tmp_path):
    source = "raise InputError('late', 'it was ' + ('late' if n else 'early'), remedy='{x}', x=x)"
    (tmp_path / "part.py").write_text("class InputError(CombGameError): pass\n" + source)
    (one,) = sites(tmp_path)
    assert (one.code, one.texts) == ("late", ("it was late", "it was early"))
    assert not list(faults(one))
    (tmp_path / "part.py").write_text(
        """
class InputError(CombGameError): pass
def check(n):
    text = "{n} is small"
    if n < 2:
        raise InputError("small", text, n=n)
    text = "{n} is large"
    if n > 9:
        text += MORE
    raise InputError("large", text, n=n)
MORE = ", very"
def other(text):
    raise InputError("other", text)
"""
    )
    small, large, other = sites(tmp_path)
    assert small.texts == ("{n} is small",)
    assert set(large.texts) == {"{n} is large", "{n} is large, very"}
    assert other.texts is None and not [*faults(small), *faults(large)]


# ---- how they are said


class Elsewhere:
    """A surface that spells everything in its own way."""

    def call(self, verb, given, named):
        return f"<call {verb}>"

    def option(self, name, value):
        return f"<option {name}>"

    def phrase(self, key):
        return f"<{key}>"


def surfaces():
    every = [PYTHON, Elsewhere()]
    if importlib.util.find_spec("combgame.cli._common"):
        every.append(importlib.import_module("combgame.cli._common").SHELL)
    return every


def example(formats):
    """A value for a place that is shown in these formats."""
    for form in formats:
        if form.partition(" ")[0] in ("list", "quoted", "and", "or"):
            return ["a", "b"]
        if form.startswith("count ") or "|" in form or (form and form[-1] in ",defgnx%"):
            return 2
    return "x"


def term(node):
    """A call, an option or a phrase as the source has it, with examples for what is not literal."""
    kinds = {"CallHint": CallHint, "OptionHint": OptionHint, "PhraseHint": PhraseHint}
    name = getattr(getattr(node, "func", None), "id", None)
    if name not in kinds:
        return None

    def value(x):
        try:
            return ast.literal_eval(x)
        except ValueError:
            return "x"

    given = [value(x) for x in node.args]
    return kinds[name](*given, **{word.arg: value(word.value) for word in node.keywords})


def examples(one):
    """The sentences of a site, with examples as arguments."""
    head = "{name} = {value!r} must be " if one.verb in ("must_be", "invalid_argument") else ""
    for text, remedy in product(one.texts, one.remedies):
        formats = defaultdict(list)
        for name, form in places(head + text) + places(remedy):
            formats[name].append(form)
        filled = {
            name: term(one.given.get(name)) or example(forms) for name, forms in formats.items()
        }
        yield Message(one.code, head + text, remedy=remedy, **filled)


def test_every_surface_says_every_sentence():
    number = 0
    for one in MADE:
        for sentence in examples(one):
            number += 1
            for surface in surfaces():
                said = sentence.render(surface)
                assert said or one.verb in ALONE
                left = [name for name in sentence.arguments if f"{{{name}" in said]
                assert not left and not said.endswith(".."), (
                    one.where,
                    said,
                )
                data = json.loads(json.dumps(sentence.to_data(surface)))
                assert data["code"] == one.code and data["text"] == said
            again = pickle.loads(pickle.dumps(sentence))
            assert again == sentence and again.render() == sentence.render()
    assert number > 100


def test_what_is_advised_is_spelt_by_the_surface():
    call, option = CallHint("extend", max_rounds=...), OptionHint("max_rounds", 40)
    sentence = Message(
        "x",
        "{call}, {option}, {phrase}",
        call=call,
        option=option,
        phrase=PhraseHint("missing value"),
    )
    assert sentence.render(Elsewhere()) == "<call extend>, <option max_rounds>, <missing value>."
    assert sentence.render() == (
        "extend(max_rounds=...), max_rounds=40, None says that a value is missing."
    )


ERRORS = [
    invalid_argument("sigma", -1, "positive", remedy="try {x}", x=1),
    invalid_argument("argmax", len, "a function of {d} scores", d=3),
    invalid_argument("means", np.arange(3.0), "{d} numbers", d=4),
    invalid_argument("x", {(0, 1): {2}, "a": None}, "plain"),
    invalid_argument("x", np.float64(0.5), "larger"),
    unknown_name("rule", "loo", ["lloo", "ofw"]),
    unknown_name("arm", 7, range(100)),
    missing_extra("to_frame()", "frames"),
    InputError("braces", "{{}} is no {what}", what="place"),
    InputError("braces-alone", "{} is no place"),
]


def test_an_error_survives_a_trip_and_is_plain_data():
    for error in ERRORS:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
        assert (again.code, again.arguments) == (error.code, error.arguments)
        data = json.loads(json.dumps(error.sentence.to_data()))
        assert data["code"] == error.code and data["text"] == str(error)
        assert isinstance(error, CombGameError) and "\n" not in str(error)


def test_what_an_argument_must_be_is_an_argument_too():
    bare = invalid_argument("sigma", -1, "positive").arguments
    assert bare == {"name": "sigma", "value": -1, "what": "positive"}
    said = invalid_argument("size", 4, "at most {d}", "give {d}", of="Subsets", d=3)
    assert said.arguments == {
        "of": "Subsets",
        "name": "size",
        "value": 4,
        "what": "at most 3",
        "d": 3,
    }
    assert str(said) == "Subsets: size = 4 must be at most 3; give 3."
    with refused("must-be", InputError, of="Gaussian", name="sigma", value=-1) as caught:
        cg.Gaussian(-1)
    assert caught.value.arguments["what"].startswith("positive and finite")
    data = {
        "actions": {"kind": "subsets", "arms": 3, "size": 4},
        "rewards": {"kind": "gaussian", "sigma": 1},
    }
    with refused("must-be", where="a.toml", key="actions", of="Subsets", name="size", value=4):
        problem_from(data, "a.toml")


def test_what_is_known_is_whole_in_the_arguments_and_cut_in_the_sentence():
    error = unknown_name("arm", 700, range(500), of="Paths")
    assert error.arguments["known"] == list(range(500)) and error.arguments["of"] == "Paths"
    assert str(error).startswith("Paths: arm = 700 is not known") and str(error).endswith("29, ...")
    assert len(unknown_name("arm", -1, range(10**6)).arguments["known"]) == sentences.LONGEST
    assert unknown_name("delta", 0.3, []).remedy == "" and unknown_name(
        "x", 1, (2,)
    ).remedy.endswith("of 2")
    error = Location("a.toml").unknown_key("runz", ("runs", "seed"))
    assert error.arguments == {"where": "a.toml", "key": "runz", "keys": ["runs", "seed"]}
    assert error.remedy == "the keys are runs, seed"


def test_lists_are_said_in_several_ways_and_numpys_numbers_as_pythons():
    for form, said in {
        "list": "a, b, c",
        "list 2": "a, b, ...",
        "quoted": "'a', 'b', 'c'",
        "quoted 1": "'a', ...",
        "or": "a or b or c",
        "and": "a, b, and c",
    }.items():
        sentence = Message("x", f"{{names:{form}}}", names=["a", "b", "c"])
        assert sentence.render_inline(PYTHON) == said and sentence.arguments == {
            "names": ["a", "b", "c"]
        }
    long = list(range(sentences.LONGEST + 1))  # too long to be data: it is said as it looks
    assert Message("x", "{names:list}", names=long).render() == f"{long}."
    assert str(invalid_argument("x", np.float64(0.5), "larger")) == "x = 0.5 must be larger."
    assert (
        str(invalid_argument("x", [np.float64(1), np.int64(2)], "larger"))
        == "x = [1.0, 2] must be larger."
    )
    assert unknown_name("rule", np.str_("loo"), []).arguments["name"].__class__ is str


def test_facts_are_arguments_rather_than_words(tmp_path):
    assert campaign.resolve_instance("p", "label").arguments == {"name": "p", "kind": "label"}
    path = tmp_path / "runs.db"
    with refused("no-campaign", path=str(path), exists=False) as caught:
        open_store(path)
    assert "which does not exist" in str(caught.value)
    path.touch()
    with refused("no-campaign", path=str(path), exists=True) as caught:
        open_store(path)
    assert "which is empty" in str(caught.value)


def test_a_plan_says_its_figures_as_arguments():
    problem = cg.Problem(cg.Arms(3), None, cg.Gaussian(0.1))
    plan = cg.plan(problem, [0.3, 0.2, 0.1], delta=[0.1, 0.01], rules=None, gap_scales=1.0)
    rows, said = plan.rows(), plan.sentence.arguments
    assert plan.sentence.code == "expect"
    assert [one.arguments["limit"] for one in said["rounds"]] == [row["limit"] for row in rows]
    assert [one.arguments["delta"] for one in said["rounds"]] == [0.1, 0.01]
    assert [one.arguments["bound"] for one in said["bounds"]] == [row["bound"] for row in rows]
    assert said["rounds"][0].arguments["where"].arguments["threshold"] == rows[0]["threshold"]
    assert json.loads(json.dumps(plan.sentence.to_data()))["text"] == str(plan.sentence)
    assert plan.to_dict()["sentence"] == str(plan.sentence) and "{" not in str(plan.sentence)


# ---- the page


def cell(texts):
    """Templates in a cell of a Markdown table."""
    said = [
        f"`` {text} ``" if "`" in text else f"`{text}`" for text in dict.fromkeys(texts) if text
    ]
    return "<br>".join(said).replace("|", "\\|")


def page():
    rows = {
        "must-be": (["{name} = {value!r} must be ..."], ["what helps, where that is known"]),
        "needs-extra": (
            ["{what} needs the extra {extra!r}"],
            [missing_extra("", "{extra}").remedy],
        ),
        "unknown": (["{kind} = {name!r} is not known"], ["use one of {known:list 30}"]),
    }
    for one in MADE:
        if one.verb not in HELPERS:
            texts, remedies = rows.setdefault(one.code, ([], []))
            texts += one.texts
            remedies += one.remedies
    lines = [
        f"| `{code}` | {cell(said)} | {cell(more)} |\n"
        for code, (said, more) in sorted(rows.items())
    ]
    return HEAD + "".join(lines)


HEAD = """# Codes

Errors, doubts, assumptions, next steps and the reasons for a validity are sentences with a code.
Programs go by the code and the arguments (`error.code`, `error.arguments`), which are named by the
places of the templates below; people read the text and the remedy, joined as `str(error)` has them.
`sentence.to_data()` gives all of it as plain data. `{n:count round}` reads "2 rounds", and
`{n:is|are}` chooses by the number. A sentence about a place (a file, a line, an arm) has the place
in front, and its arguments beside its own.

`python -m tests.docs.test_sentences` writes this page from the source.

| code | sentence | remedy |
| --- | --- | --- |
"""


def test_the_page_of_codes_is_that_of_the_source_and_has_the_recurring_sentences():
    assert PAGE.read_text() == page(), "run python -m tests.docs.test_sentences"
    assert errors.invalid_argument("x", 1, "2").sentence.text.startswith(
        "{name} = {value!r} must be "
    )
    assert errors.unknown_name("x", 1, "2").sentence.text == "{kind} = {name!r} is not known"
    assert errors.missing_extra("x", "y").sentence.text == "{what} needs the extra {extra!r}"
    assert set(sentences.PythonRenderer.PHRASES) >= {
        ast.literal_eval(node.args[0])
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "PhraseHint"
        and isinstance(node.args[0], ast.Constant)  # and not one that has travelled
    }


if __name__ == "__main__":
    PAGE.write_text(page())
