"""What users type: names and signatures. A change here is a change that users notice; write it in
the changelog.

python -m tests.docs.test_public writes the list anew.
"""

import inspect

import combgame as cg
from tests.paths import ASSETS

FILE = ASSETS / "public.txt"
HIDDEN = ("__init__", "__new__")


def signature(thing):
    """With the names, the kinds and the defaults of the parameters, and without their types."""
    parameters = [
        p.replace(annotation=p.empty)
        for p in inspect.signature(thing).parameters.values()
        if p.name not in ("self", "cls")
    ]
    return str(inspect.Signature(parameters))


def public():
    lines = []
    for name in sorted(cg.__all__, key=str.lower):
        thing = getattr(cg, name)
        if not callable(thing):
            lines.append(name)
            continue
        if inspect.isclass(thing) and (issubclass(thing, Exception) or issubclass(thing, str)):
            lines.append(f"{name}: {thing.__mro__[1].__name__}")
            continue
        lines.append(name + signature(thing))
        if inspect.isclass(thing):
            for verb, method in sorted(inspect.getmembers(thing)):
                if verb.startswith("_") or verb in ("count", "index"):
                    continue
                if isinstance(inspect.getattr_static(thing, verb), property) or not callable(
                    method
                ):
                    lines.append(f"    {verb}")
                elif inspect.isfunction(method) or inspect.ismethod(method):
                    lines.append(f"    {verb}{signature(method)}")
    return "\n".join(lines) + "\n"


def test_names_and_signatures_are_as_they_were_and_all_are_there():
    assert public() == FILE.read_text()
    assert set(cg.__all__) <= set(dir(cg))
    assert all(hasattr(cg, name) for name in cg.__all__)


def test_problem_and_means_come_first_the_rest_by_name_and_defaults_are_the_same_everywhere():
    for verb, first in (
        (cg.simulate, ["problem", "means"]),
        (cg.compare, ["problem", "means"]),
        (cg.plan, ["problem", "means"]),
        (cg.regret, ["problem", "means"]),
        (cg.complexity, ["problem", "means"]),
        (cg.evidence, ["problem", "estimates", "counts"]),
        (cg.Study, ["problem"]),
    ):
        kinds = inspect.signature(verb).parameters
        by_place = [name for name, p in kinds.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert by_place == first, verb
    for verb in (cg.simulate, cg.plan, cg.Study, cg.Campaign.cross):
        found = inspect.signature(verb).parameters
        rule = found.get("rule") or found.get("rules")
        threshold = found.get("threshold") or found.get("thresholds")
        assert found["delta"].default == 0.05
        assert threshold.default in ("mixture", ("mixture",))
        assert rule.default in ("frank-wolfe", ("frank-wolfe",), inspect.Parameter.empty)


if __name__ == "__main__":
    FILE.write_text(public())
