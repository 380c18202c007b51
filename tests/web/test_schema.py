"""The API against its own description: whatever is sent, no fault of the server, and no answer but those described."""

from __future__ import annotations

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
from shoal.web.api.accounts import described
from shoal.web.app import create_app, routers
from shoal.web.errors import API
from shoal.web.settings import Settings
from tests.web.conftest import ADDRESS, add_people, program
from tests.web.test_trust import add_release, cut
from tests.web.test_trust import made as coded  # noqa: F401
from tests.web.working import add_job, add_project

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


EXPECTED = {200, 201, 204, 400, 403, 404, 409, 413, 422}


@pytest.fixture
def known(app: FastAPI, coded: tuple) -> tuple[FastAPI, dict[str, str]]:  # noqa: F811
    """A release that was granted and signed, a question about it, and a job, with their identifiers."""
    release, (at, ill, _) = add_release(app, coded), cut(coded)
    assert program(app, "custodian").post(f"{API}/releases/{release}/sign").status_code == 200
    text = {"text": f"IF age < {at} THEN disease = {ill}"}
    question = program(app, "researcher").post(f"{API}/releases/{release}/questions", json=text).json()["id"]
    job = add_job(app, add_project(app), "run")
    return app, {"release": release, "question": question, "job": job.id, "project": job.project}


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
    answers = asked(made, role, 3, {})
    assert {status for _, status in answers} <= EXPECTED
    assert 201 in {status for _, status in answers}, "nothing was ever done"


@pytest.mark.parametrize(
    "role, reached",
    [
        ("researcher", {"", "/manifest", "/signature", "/files", "/questions"}),
        ("auditor", {"", "/manifest", "/signature", "/leaks"}),
    ],
)
def test_what_is_there_is_described_too(known: tuple[FastAPI, dict[str, str]], role: str, reached: set[str]) -> None:
    """The same about things that are there, by those who may see them."""
    app, names = known
    answers = asked(app, role, 2, names)
    assert {status for _, status in answers} <= EXPECTED
    done = {call for call, status in answers if status < 300}
    assert {f"GET {API}/releases/{{release}}{one}" for one in reached} <= done
    assert (f"GET {API}/questions/{{question}}" in done) == (role == "researcher")


def asked(app: FastAPI, role: str, examples: int, names: dict[str, str]) -> set[tuple[str, int]]:
    """What every call answered: its method and path, and the status; ``names`` are identifiers that are there."""
    schema = schemathesis.openapi.from_dict(described(app))
    schema.app = app
    headers = {"authorization": program(app, role).headers["authorization"], "host": "localhost"}
    answers = set()
    for found in schema.get_all_operations():
        operation = found.ok()
        if names and not any(f"{{{name}}}" in operation.path for name in names):
            continue

        @settings(
            max_examples=examples, deadline=None, database=None, phases=[Phase.generate], derandomize=True,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy())
        def ask(case: schemathesis.Case) -> None:
            case.path_parameters.update({name: key for name, key in names.items() if name in case.path_parameters})
            answer = case.call(headers=headers, base_url=ADDRESS)
            answers.add((f"{case.method} {case.path}", answer.status_code))
            case.validate_response(answer, checks=list(CHECKS))

        ask()
    return answers


def test_other_methods_are_answered_as_described(made: FastAPI) -> None:
    answer = program(made, "custodian").patch(f"{API}/releases")
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method-not-allowed")
    for path, one in described(made)["paths"].items():
        for method, told in one.items():
            assert {"405", "501"} <= set(told["responses"]), (method, path)


def test_the_description_is_the_whole_api(made: FastAPI) -> None:
    told = described(made)["paths"]
    routes = {(API + one.path, method) for router in routers(api) for one in router.routes for method in one.methods}
    assert {(path, method.upper()) for path, found in told.items() for method in found} == {
        one for one in routes if one[0] != f"{API}/openapi.json"
    }
