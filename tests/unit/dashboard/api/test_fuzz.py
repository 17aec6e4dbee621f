"""The API against its own description, by machine (schemathesis): every operation gets what the description allows and
what it does not, from the operator and from a member, and each answer must be one that is described.

``--cases N`` tries more: N cases of each kind for every operation and person, other ones each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi import checks

from dashboard.api.openapi import ROUTES
from dashboard.app import create_app
from tests.support.all_pages import samples
from tests.support.app_fixture import run_app
from tests.support.sample_data import ALL_ON, fill_with_samples

FEW = 3
"""Cases of each kind for every operation and person, when nobody asks for more."""
NOT_DRIVEN = {("get", "/api/events")}
"""It does not end by itself; ``test_api_events`` reads it."""
LAST = ("/api/agents/{name}", "/api/users/{user}")
"""What these delete the others need."""
OPERATIONS = sorted(
    {(route.method, route.path) for route in ROUTES} - NOT_DRIVEN,
    key=lambda one: (one[0] == "delete" and one[1] in LAST, one[1], one[0]),
)
CONFORMS = [checks.status_code_conformance, checks.content_type_conformance, checks.response_schema_conformance]


@dataclass(frozen=True)
class Driven:
    """An install with much in it, its description and who asks."""

    schema: schemathesis.BaseSchema
    real: Mapping[str, str | int]
    """What stands for each argument of a path, so that not all of it is not found."""
    tokens: Mapping[str, str]

    def real_one(self, name: str) -> str | int:
        """What stands for this argument."""
        assert name in self.real, f"say in `driven` what stands for {{{name}}} in a path"
        return self.real[name]

    def operation(self, method: str, path: str) -> APIOperation[Any, Any, Any, Any]:
        """One row of the description, as it is driven."""
        found: APIOperation[Any, Any, Any, Any] = self.schema[path][method]
        return found


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[Driven]:
    """One install for all: nothing that is asked of it may break it."""
    with run_app(tmp_path, environment=ALL_ON) as install:
        lived = fill_with_samples(install)
        users = install.services.users
        anna = next(user for user in users.list_users() if user.name == "anna")
        names: dict[str, str | int] = {
            **samples(install, lived),
            "user": anna.id,
            "provider": "custom",
            "model": "claude-sonnet",
        }
        numbers = {name: int(str(names[name])) for name in ("entry", "turn", "notice")}
        numbers["conversation"] = numbers["point"] = 1
        question = install.services.questions.list_questions(status="pending")[0].id
        others: dict[str, str | int] = {
            "asset": "none",
            "number": "none",
            "passkey": "none",
            "secret": "none",
            "backup": "none.tar",
            "person": 1001,
            "host": "ex.org",
            "session": "none",
            "device": "none",
            "engine": "none",
            "tool": "search",
            "memory": 1,
            "lesson": 1,
            "site": "shop.example",
            "delivery": 1,
        }
        tokens = {who.name: users.make_token(f"drives as {who.name}", who.id) for who in (users.get(1), lived.member)}
        schema = schemathesis.openapi.from_wsgi("/api/openapi.json", create_app(install.services))
        yield Driven(schema, {**names, **numbers, **others, "question": question}, tokens)


@pytest.fixture
def cases(request: pytest.FixtureRequest) -> int:
    """How many of each kind."""
    return int(request.config.getoption("--cases") or FEW)


@pytest.mark.parametrize("who", ["ada", "ben"])
def test_every_answer_is_one_that_is_described(driven: Driven, cases: int, who: str) -> None:
    """Whatever is sent, and none is a 500; all operations that answer otherwise are told at once."""
    wrong: dict[str, str] = {}
    for method, path in OPERATIONS:
        operation = driven.operation(method, path)
        has_wrong = bool(operation.body or operation.path_parameters or operation.query)
        try:
            _drive(driven, operation, who, cases, GenerationMode.POSITIVE)
            if has_wrong:
                _drive(driven, operation, who, cases, GenerationMode.NEGATIVE)
        except (AssertionError, FailureGroup) as error:
            wrong[f"{method} {path}"] = str(error)
    assert wrong == {}, "\n\n".join(f"{name}: {text}" for name, text in wrong.items())


def _drive(
    driven: Driven, operation: APIOperation[Any, Any, Any, Any], who: str, most: int, mode: GenerationMode
) -> None:
    @settings(
        max_examples=most,
        derandomize=most == FEW,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), is_real=st.integers(0, 3))
    def ask(case: Case[Any], is_real: int) -> None:
        if is_real:
            case.path_parameters = {name: driven.real_one(name) for name in case.path_parameters}
        if isinstance(case.body, dict):
            case.body.pop("wait", None)  # a crab that is busy would keep it waiting
        answer = case.call(headers={"Authorization": f"Bearer {driven.tokens[who]}"})
        assert answer.status_code != 500, case.as_curl_command()
        if answer.status_code == 405 and not is_real:
            return  # a wrong number can be another operation's name, such as calendar/feed
        case.validate_response(answer, checks=CONFORMS)

    ask()
