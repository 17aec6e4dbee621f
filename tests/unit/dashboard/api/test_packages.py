"""Packages over the API: who sees which requests, and what of them."""

from __future__ import annotations

from orchestrator.capabilities.capability import Caller
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api

PATIENCE_S = 10.0


def wished(webapp: AppFixture, api: Api, name: str) -> str:
    """A command in this person's cubicle requests what may be looked up, and no resolver can be sent; how that ends."""
    allowed = {"kind": "command", "subject": "look up packages of pip"}
    assert api.call("POST", "/agents/crab/grants", allowed).status_code == 201
    calls = webapp.app._capabilities.calls
    caller = Caller(CubicleKey("crab", api.user.id), None)
    call = calls.run_command(caller, f"c-{name}", "INSTALL", {"system": "pip", "packages": [name]})
    return calls.wait_call(caller.key, call.id, PATIENCE_S).text


def test_a_wish_is_listed_with_what_became_of_it(webapp: AppFixture, operator: Api) -> None:
    """Newest first, of one status where given."""
    assert "The Docker engine does not answer" in wished(webapp, operator, "six")
    (found,) = operator.get("/packages?status=failed")["packages"]
    assert (found["agent"], found["system"], found["asked"], found["packages"]) == ("crab", "pip", ["six"], [])
    assert "The Docker engine does not answer" in found["error"]
    assert operator.get("/packages?status=done")["packages"] == []
    assert operator.refused("GET", "/packages?status=open")[0] == 400


def test_people_see_their_own(webapp: AppFixture, operator: Api, member: Api) -> None:
    """The operator sees all."""
    wished(webapp, operator, "six")
    wished(webapp, member, "idna")
    assert [one["asked"] for one in member.get("/packages")["packages"]] == [["idna"]]
    assert [one["asked"] for one in operator.get("/packages")["packages"]] == [["idna"], ["six"]]
