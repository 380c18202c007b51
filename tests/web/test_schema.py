"""The API against its own description: whatever is sent, no fault of the server, and no answer but those described."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from shoal.web import api
from shoal.web.api.about import described
from shoal.web.app import create_app, routers
from shoal.web.errors import API
from shoal.web.settings import Settings
from tests.web.conftest import ADDRESS, add_people, program
from tests.web.working import add_job, add_project

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    folder: Path = tmp_path_factory.mktemp("schema")
    app = create_app(Settings(folder=folder / "data"))
    add_people(app)
    add_job(app, add_project(app), "run")
    yield app
    app.state.store.close()


@pytest.mark.parametrize("role", ["custodian", "admin"])
def test_every_answer_is_described(made: FastAPI, role: str) -> None:
    """Asked at random, as one role that may do something there and does not know any identifier."""
    schema = schemathesis.openapi.from_dict(described(made))
    schema.app = made
    headers = {"authorization": program(made, role).headers["authorization"], "host": "localhost"}
    answers: Counter[int] = Counter()
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=3, deadline=None, database=None, phases=[Phase.generate], derandomize=True,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy())
        def ask(case: schemathesis.Case) -> None:
            answer = case.call(headers=headers, base_url=ADDRESS)
            answers[answer.status_code] += 1
            case.validate_response(answer, checks=list(CHECKS))

        ask()
    assert answers[201] > 0, "nothing was ever done"
    assert set(answers) <= {200, 201, 204, 400, 403, 404, 409, 413, 422}


def test_the_description_is_the_whole_api(made: FastAPI) -> None:
    told = described(made)["paths"]
    routes = {(API + one.path, method) for router in routers(api) for one in router.routes for method in one.methods}
    assert {(path, method.upper()) for path, found in told.items() for method in found} == {
        one for one in routes if one[0] != f"{API}/openapi.json"
    }
