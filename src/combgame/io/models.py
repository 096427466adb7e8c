"""Pydantic models of the tables of a problem file.

The reader, the service and the JSON Schema for editors share them. The module is imported late,
because pydantic is needed only to read a problem.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Strict,
    StrictBool,
    Tag,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from ..errors import MOST
from ..rewards import Bernoulli, Bounded, Gaussian
from ..structures import (
    AlmostAllSets,
    Arms,
    IntegerProgram,
    Listed,
    Matchings,
    Partition,
    Paths,
    SpanningTrees,
    Subsets,
    grid_network,
    line_network,
)

T = TypeVar("T")
TAGS = ("value", "list", "table")  # of values that may have several forms


def _form(value: Any) -> str:
    return "list" if isinstance(value, list | tuple) else "value"


def _form_or_table(value: Any) -> str:
    return "table" if isinstance(value, Mapping) else _form(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise PydanticCustomError("must_be", "a text that is not empty: the name of an arm")
    return value


def _bound(value: Any) -> Any:
    """Read an infinite bound, which JSON can only write as a text."""
    return float(value) if isinstance(value, str) and value in ("inf", "-inf") else value


def _arm(value: Any, info: ValidationInfo) -> int:
    """Read an arm by its name or its index; the context has the names."""
    names: list[str] = info.context["names"] if info.context else []
    if isinstance(value, str) and value in names:
        return names.index(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise PydanticCustomError("arm", "an arm")
    return value


def _is_node(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_node(one) for one in value)
    return isinstance(value, str | int) and not isinstance(value, bool)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(one) for one in value) if isinstance(value, list | tuple) else value


def _node(value: Any) -> Any:
    """Read a node: a text, a whole number, or a list of them."""
    with suppress(RecursionError):
        if _is_node(value):
            return _frozen(value)
    raise PydanticCustomError("must_be", "a text or a whole number")


def _edge(value: Any) -> Any:
    nodes = value[:2] if isinstance(value, list | tuple) else ()
    if len(nodes) < 2 or len(value) > 3 or not all(isinstance(name, str) for name in value[2:]):
        what = "an edge [tail, head] or [tail, head, name], such as ['s', 'a']"
        raise PydanticCustomError("must_be", what)
    return (*_node(nodes), *value[2:])


def _pair(value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise PydanticCustomError("must_be", "a pair [row, column]")
    return _node(value)


Whole = Annotated[int, Strict(), Field(ge=0, le=MOST)]
Count = Annotated[int, Strict(), Field(ge=1, le=MOST)]
Number = Annotated[float, Strict()]
BOUND = {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}]}
Bound = Annotated[Number, BeforeValidator(_bound), WithJsonSchema(BOUND)]
Name = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string", "minLength": 1})]
Arm = Annotated[int, PlainValidator(_arm), WithJsonSchema({"type": ["integer", "string"]})]
NODE = {"type": ["string", "integer", "array"]}
Node = Annotated[Any, PlainValidator(_node), WithJsonSchema(NODE)]
EDGE = {"type": "array", "items": NODE, "minItems": 2, "maxItems": 3}
Edge = Annotated[Any, PlainValidator(_edge), WithJsonSchema(EDGE)]
Pair = Annotated[Any, PlainValidator(_pair), WithJsonSchema({**EDGE, "maxItems": 2})]
OneOrList = Annotated[
    Annotated[T, Tag("value")] | Annotated[list[T], Tag("list")], Discriminator(_form)
]
Side = Annotated[
    Annotated[Count, Tag("value")] | Annotated[list[Node], Tag("list")], Discriminator(_form)
]
Sigma = Annotated[
    Annotated[Number, Tag("value")]
    | Annotated[list[Number], Tag("list")]
    | Annotated[dict[Any, Number], Tag("table")],
    Discriminator(_form_or_table),
]
Shared = Annotated[
    Annotated[StrictBool, Tag("value")]
    | Annotated[list[list[Arm]], Tag("list")]
    | Annotated[dict[Any, list[Arm]], Tag("table")],
    Discriminator(_form_or_table),
]
Means = Annotated[
    Annotated[list[Number], Tag("list")] | Annotated[dict[Any, Number], Tag("table")],
    Discriminator(lambda value: "table" if isinstance(value, Mapping) else "list"),
]
Limits = OneOrList[Bound]
Box = Annotated[
    Annotated[Bound, Tag("value")] | Annotated[list[Limits], Tag("list")], Discriminator(_form)
]


class Table(BaseModel):
    """A table of a problem file; a key that is not known is refused."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Kind(Table):
    """A table with a kind; `makes` is called with the values of its other keys, in their order."""

    makes: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls, makes: Callable[..., Any] | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if makes is not None:
            cls.makes = staticmethod(makes)

    def make(self, arms: int | None = None) -> Any:
        """Return what the table describes; `arms` is their number if the table does not say."""
        values = {key: value for key, value in self if key != "kind"}
        if values.get("arms", 0) is None:
            values["arms"] = arms
        return type(self).makes(*values.values())


# ---- structures

ARMS = Field(None, description="The number of arms; it may be left out where names say it.")


class ArmsTable(Kind, makes=Arms):
    """Single arms."""

    kind: Literal["arms"]
    arms: Count | None = ARMS


class SubsetsTable(Kind, makes=Subsets):
    """All sets of a given size."""

    kind: Literal["subsets"]
    arms: Count | None = ARMS
    size: Count


class PartitionTable(Kind, makes=Partition):
    """So many arms of each group."""

    kind: Literal["partition"]
    groups: list[list[Arm]]
    sizes: OneOrList[Whole]


class PathsTable(Kind, makes=Paths):
    """The paths of a network from its source to its sink."""

    kind: Literal["paths"]
    edges: list[Edge]
    source: Node
    sink: Node


class SpanningTreesTable(Kind, makes=SpanningTrees):
    """The spanning trees of a graph."""

    kind: Literal["spanning-trees"]
    edges: list[Edge]


class MatchingsTable(Kind, makes=Matchings):
    """The matchings of rows and columns."""

    kind: Literal["matchings"]
    rows: Side
    columns: Side
    size: Count | None = None
    forbidden: list[Pair] = []


class AlmostAllTable(Kind, makes=AlmostAllSets):
    """The set of all arms but the needle, and each set of the needle and one more."""

    kind: Literal["almost-all"]
    arms: Count | None = ARMS
    needle: OneOrList[Arm] = 0


class ListedTable(Kind, makes=Listed):
    """The sets of a list."""

    kind: Literal["listed"]
    sets: list[list[Arm]]
    arms: Count | None = ARMS


def _integer_program(
    arms: int, matrix: list[list[float]], low: Any, high: Any, exact: bool, seconds: float
) -> IntegerProgram:
    return IntegerProgram((matrix, low, high) if matrix else [], arms, exact, seconds)


class IntegerProgramTable(Kind, makes=_integer_program):
    """The sets with low <= A x <= high."""

    kind: Literal["integer-program"]
    arms: Count | None = ARMS
    A: list[list[Number]]
    low: Limits = Field("-inf", validate_default=True)  # as JSON can write it
    high: Limits = Field("inf", validate_default=True)
    exact: StrictBool = False
    time_limit: Annotated[Number, Field(gt=0)] = 60.0


class GridNetworkTable(Kind, makes=grid_network):
    """The paths of a grid network."""

    kind: Literal["grid-network"]
    stages: Count


class LineNetworkTable(Kind, makes=line_network):
    """The paths of a line network."""

    kind: Literal["line-network"]
    width: Count
    layers: Count


Structure = Annotated[
    ArmsTable
    | SubsetsTable
    | PartitionTable
    | PathsTable
    | SpanningTreesTable
    | MatchingsTable
    | AlmostAllTable
    | ListedTable
    | IntegerProgramTable
    | GridNetworkTable
    | LineNetworkTable,
    Field(discriminator="kind"),
]


# ---- rewards


class GaussianTable(Kind, makes=Gaussian):
    """Numbers; sigma is the standard deviation of one, and may be unknown."""

    kind: Literal["gaussian"]
    sigma: Sigma | None = None
    shared_sigma: Shared = True
    simulation_sigma: Sigma | None = None
    batch_effect: StrictBool = False


class BernoulliTable(Kind, makes=Bernoulli):
    """Successes (1) and failures (0)."""

    kind: Literal["bernoulli"]


class BoundedTable(Kind, makes=Bounded):
    """Numbers between low and high, of any distribution."""

    kind: Literal["bounded"]
    low: Number
    high: Number


Rewards = Annotated[GaussianTable | BernoulliTable | BoundedTable, Field(discriminator="kind")]
STRUCTURES, REWARDS = (
    {get_args(one.model_fields["kind"].annotation)[0]: one for one in get_args(get_args(union)[0])}
    for union in (Structure, Rewards)
)
KINDS: dict[str, type[Kind]] = STRUCTURES | REWARDS


# ---- the file


class Truth(Table):
    """What is supposed, for planning and simulating only."""

    means: Means = Field(description="One number per arm, in order or by name.")


class ProblemFile(Table):
    """A problem of combgame: what is measured at once, what is asked, and what values return."""

    actions: Structure = Field(description="What one play measures at once.")
    rewards: Rewards = Field(description="What a measurement returns.")
    answers: Structure | None = Field(None, description="What is asked; as the actions if absent.")
    names: list[Name] | None = Field(None, description="One name per arm.")
    bounds: Box | None = Field(None, description="The range in which the means are known to lie.")
    goal: Literal["maximise", "minimise", "maximize", "minimize"] = "maximise"
    truth: Truth | None = None


def problem_schema() -> dict[str, Any]:
    """Return the JSON Schema of problem files, by which editors check and complete them."""
    schema = ProblemFile.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
