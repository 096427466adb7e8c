"""schemathesis over the OpenAPI document: whatever fits it is answered without a failure of the
server, and nobody gets in without the role.
"""

import pytest

import combgame as cg
from combgame.lab.server.registry import StudyRegistry, make_token
from tests.services import serving

schemathesis = pytest.importorskip("schemathesis")
from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    response_schema_conformance,
    status_code_conformance,
)

pytestmark = pytest.mark.slow
ROUNDS = settings(
    max_examples=6,
    derandomize=True,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    storage = f"sqlite:///{tmp_path_factory.mktemp('lab')}/lab.db"
    shelf = StudyRegistry(storage)
    tokens = {role: make_token(shelf, role, role) for role in ("read", "measure", "admin")}
    shelf.close()
    cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1.0)), storage=storage, name="x").close()
    with serving(storage) as service:
        yield service, tokens


def operations(service):
    schema = schemathesis.openapi.from_url(f"{service.url}/api/v1/openapi.json")
    for one in schema.get_all_operations():
        operation = one.ok()
        if not operation.path.endswith("/changes"):  # a stream does not end
            yield operation


def ask(service, operation, headers):
    """Some requests to an operation; what they were answered."""
    answers = []

    @ROUNDS
    @given(case=operation.as_strategy())
    def run(case):
        case.headers = {**(case.headers or {}), **headers}
        if case.path_parameters and "name" in case.path_parameters and len(answers) % 2:
            case.path_parameters["name"] = "x"
        response = case.call(base_url=service.url, timeout=60)
        answers.append(response.status_code)
        assert response.status_code < 500, (operation.label, response.text[:500])
        checks = [response_schema_conformance, status_code_conformance]
        case.validate_response(response, checks=checks)

    run()
    return answers


def test_whatever_fits_the_description_is_answered_without_a_failure(served):
    service, tokens = served
    labels = []
    for operation in operations(service):
        ask(service, operation, {"Authorization": f"Bearer {tokens['admin']}"})
        labels.append(operation.label)
    assert len(labels) >= 20


def test_nobody_gets_in_without_a_token_nor_without_the_role(served):
    service, tokens = served
    reading = {"Authorization": f"Bearer {tokens['read']}"}
    before = service.get("studies/x/events", token=tokens["read"]).data
    for operation in operations(service):
        assert set(ask(service, operation, {})) <= {401, 422, 400}, operation.label
        if operation.method.upper() == "POST":
            assert set(ask(service, operation, reading)) <= {403, 422, 400}, operation.label
    assert service.get("studies/x/events", token=tokens["read"]).data == before
