"""What users reach has a docstring in numpydoc's form, with all parameters and what is returned."""

import inspect

import pytest
from numpydoc.validate import validate

import combgame as cg

CODES = {
    "GL06",  # unknown section
    "GL07",  # sections in the wrong order
    "SS01",  # no summary
    "SS02",  # the summary starts with a capital letter
    "SS05",  # the summary starts with an infinitive verb
    "PR01",  # a parameter is not documented
    "PR02",  # a documented parameter does not exist
    "PR10",  # a space is missing before the colon
    "RT01",  # nothing says what is returned
}


def reached():
    """Every name of the package that has a docstring of its own to write, and its methods.

    A method that overrides one of a base class of ours says only what is particular to it.
    """
    for name in sorted(set(cg.__all__) - {"__version__"}):
        thing = getattr(cg, name)
        if inspect.isclass(thing) and issubclass(thing, Exception):
            continue  # all take what `CombGameError` takes
        yield f"combgame.{name}"
        if not inspect.isclass(thing):
            continue
        for method, made in vars(thing).items():
            inherited = any(hasattr(base, method) for base in thing.__mro__[1:])
            if inspect.isfunction(made) and not method.startswith("_") and not inherited:
                yield f"combgame.{name}.{method}"


def arguments_of(name):
    """How many arguments a method has."""
    _, kind, method = name.split(".")
    return len(inspect.signature(getattr(getattr(cg, kind), method)).parameters) - 1


@pytest.mark.parametrize("name", sorted(set(reached())))
def test_docstrings_have_the_sections_of_numpydoc(name):
    found = validate(name)
    text, skipped = found["docstring"] or "", set()
    if "Attributes\n" in text:  # a result, which nobody makes by hand
        skipped |= {"PR01", "PR02", "PR03"}
    if text.startswith("Return "):  # the summary says what
        skipped.add("RT01")
    if name.count(".") == 2 and found["type"] == "function" and arguments_of(name) < 2:
        skipped.add("PR01")  # a method with one argument: its summary says what that is
    wrong = [f"{code}: {what}" for code, what in found["errors"] if code in CODES - skipped]
    assert not wrong, "\n".join(wrong)
