"""Models of the request bodies, as OpenAPI describes them.

The study checks the values themselves, with its own errors.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler

from ...io.models import ProblemFile

Who = Annotated[
    str | None,
    Field(description="Who asks and tells; by default the name of the token.", max_length=200),
]
Reason = Annotated[str, Field(description="Why; it is kept with the event.")]
Values = Annotated[
    dict[str, Any],
    Field(
        description="By arm (its name, or its number where there are no names): a number, a list "
        'of replicates, {"mean": 0.5, "n": 4}, or null where it is missing.',
        examples=[{"ann": 0.3, "bob": [0.1, 0.2]}],
    ),
]
Number = Annotated[int, Field(description="The number of a round.", strict=True)]
Mark = Annotated[
    str | None,
    Field(
        description="The round's mark, as `ask` gave it: another round that has the number by now, "
        "because an older copy was put back, is refused. Without it the number alone counts."
    ),
]


class _ProblemFile:
    """OpenAPI schema of a problem: the schema of a problem file, or any table written by `to_data`.

    The data are read only after the limits of the service were checked.
    """

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: Any, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [handler(ProblemFile.__pydantic_core_schema__), handler(core)]}


class ApiModel(BaseModel):
    """A request body; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Create(ApiModel):
    """Settings of a new study."""

    name: str
    problem: Annotated[dict[str, Any], _ProblemFile] = Field(
        description="As `to_data` writes it, or as a problem file has it.",
        examples=[
            {
                "names": ["ann", "bob", "cid"],
                "actions": {"kind": "arms"},
                "rewards": {"kind": "gaussian", "sigma": 0.1},
            }
        ],
    )
    delta: float = 0.05
    rule: str | dict[str, Any] = "frank-wolfe"
    threshold: str = "mixture"
    seed: int = Field(0, strict=True)
    epsilon: float = 0.0
    min_replicates: int = Field(2, strict=True)
    replicates: int = Field(1, strict=True, description="Values of every arm in a round.")
    max_rounds: int | None = Field(None, strict=True)
    deadline: float | str | None = None
    planned_rounds: float | None = Field(
        None, description="Rounds that were planned; it is shown beside."
    )
    if_exists: str = Field("error", description="error, resume or replace.")
    client: Who = None


class Ask(ApiModel):
    """Request for rounds."""

    n: int | None = Field(
        None,
        strict=True,
        description="Up to so many; without it one, or an error if there is none.",
    )
    lease: float | None = Field(
        None, description="Seconds after which a round may be given to somebody else."
    )
    replicates: int | None = Field(
        None,
        strict=True,
        description="Values of every arm in a new round; without it, as the study has it.",
    )
    client: Who = None


class RoundResult(ApiModel):
    """Results of one round."""

    round: Number
    values: Values
    mark: Mark = None


class Tell(ApiModel):
    """Results of several rounds."""

    rounds: list[RoundResult] = Field(description="All of it is stored, or nothing.")
    final: bool = Field(True, description="Arms that are not told are missing.", strict=True)
    client: Who = None


class Fail(ApiModel):
    """Report of a round that failed."""

    round: Number
    reason: Reason
    retry: bool = Field(True, description="It is asked again; otherwise given up.", strict=True)
    mark: Mark = None
    client: Who = None


class Retract(ApiModel):
    """Retraction of a round or of an arm."""

    reason: Reason
    round: Number | None = None
    arm: str | int | None = Field(None, description="An arm, instead of a round.")
    mark: Mark = None
    client: Who = None


class Observe(ApiModel):
    """Data that were measured outside the study."""

    values: Values
    reason: str | None = None
    allow_duplicates: bool = Field(
        False, description="The very same values were measured twice.", strict=True
    )
    planned: bool = Field(
        False,
        strict=True,
        description="Which arms were measured, and how often, was decided before any of the values "
        "was seen.",
    )
    client: Who = None


class Extend(ApiModel):
    """New limits of a study."""

    reason: Reason
    max_rounds: int | str | None = Field(None, description='So many in all, or "none": no limit.')
    deadline: float | str | None = Field(
        None, description='Seconds since 1970, a time such as 2030-01-31T18:00, or "none".'
    )
    client: Who = None


class Stop(ApiModel):
    """End of a study by hand."""

    reason: Reason
    client: Who = None


class Problem(BaseModel):
    """An error: a code for programs and a text for people."""

    kind: str = Field(description="The class of the error.")
    code: str
    arguments: dict[str, Any]
    text: str
    remedy: str
    parts: dict[str, Any] = Field(description="From which the sentence is made again.")


class ErrorResponse(BaseModel):
    """Body of every response with an error."""

    error: Problem
