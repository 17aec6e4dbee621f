"""Long-term memory over the API and in the terminal: one's own alone, page by page, noted and forgotten by a person."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.__main__ import parser
from orchestrator.cli.context import Context
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api

PATH = "/agents/crab/memories"
ROOT = Path(__file__).resolve().parents[4]


def test_a_person_notes_looks_searches_and_forgets(operator: Api) -> None:
    """Each fact with who noted it and when."""
    fact = operator.post(PATH, {"text": " Anna is allergic to nuts "})
    assert (fact["text"], fact["by"], fact["turn"]) == ("Anna is allergic to nuts", "ada", None)
    other = operator.post(PATH, {"text": "The cat is called Mia"})
    assert operator.get(PATH) == {"memories": [other, fact], "next": None}
    assert operator.get(f"{PATH}?q=who+may+not+eat+nuts") == {"memories": [fact], "next": None}
    assert operator.get(f"{PATH}?q=zebra") == {"memories": [], "next": None}
    assert operator.get(f"{PATH}/{fact['id']}") == fact
    assert operator.call("DELETE", f"{PATH}/{fact['id']}").status_code == 204
    assert operator.get(PATH)["memories"] == [other]
    assert operator.refused("GET", f"{PATH}/{fact['id']}")[0] == 404
    assert operator.refused("DELETE", f"{PATH}/{fact['id']}")[0] == 404


def test_the_same_again_is_the_same(operator: Api) -> None:
    """One fact, the older."""
    assert operator.post(PATH, {"text": "tea"}) == operator.post(PATH, {"text": "tea "})


def test_they_come_page_by_page(operator: Api) -> None:
    """The newest first, and each page says where the next begins."""
    made = [operator.post(PATH, {"text": f"fact {n}"}) for n in range(5)]
    page = operator.get(f"{PATH}?limit=2")
    assert page == {"memories": [made[4], made[3]], "next": made[3]["id"]}
    page = operator.get(f"{PATH}?limit=3&before={page['next']}")
    assert page == {"memories": [made[2], made[1], made[0]], "next": None}


def test_everybody_has_their_own(operator: Api, member: Api) -> None:
    """A member sees and deletes none of the operator's; the operator may look into theirs."""
    mine = operator.post(PATH, {"text": "the operator's secret"})
    theirs = member.post(PATH, {"text": "ben's secret"})
    assert member.get(PATH)["memories"] == [theirs]
    assert member.get(f"{PATH}?q=secret")["memories"] == [theirs]
    assert member.refused("GET", f"{PATH}/{mine['id']}")[0] == 404
    assert member.refused("DELETE", f"{PATH}/{mine['id']}")[0] == 404
    assert member.refused("GET", f"{PATH}?user={operator.user.id}")[0] == 403
    assert member.refused("DELETE", f"{PATH}/{mine['id']}?user={operator.user.id}")[0] == 403
    assert operator.get(f"{PATH}?user={member.user.id}")["memories"] == [theirs]
    assert operator.get(PATH)["memories"] == [mine]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", PATH, {"text": ""}, 400),
        ("POST", PATH, {"text": 7}, 400),
        ("POST", PATH, {}, 400),
        ("POST", PATH, {"text": "x", "by": "somebody else"}, 400),
        ("POST", PATH, {"text": "x" * 2_001}, 413),
        ("POST", PATH, {"text": "a\u0007b"}, 400),
        ("POST", "/agents/nobody/memories", {"text": "x"}, 404),
        ("GET", "/agents/nobody/memories", None, 404),
        ("GET", f"{PATH}?limit=0", None, 400),
        ("GET", f"{PATH}?q={'x' * 2_001}", None, 400),
        ("DELETE", f"{PATH}/999", None, 404),
    ],
)
def test_what_makes_no_sense_is_refused(refused_one: Api, method: str, path: str, body: object, status: int) -> None:
    """With a sentence, and nothing changed."""
    assert refused_one.refused(method, path, body)[0] == status


def test_the_door_tells_a_cubicle_what_it_remembers(webapp: AppFixture, operator: Api) -> None:
    """Its own, with who and when; nothing without the toolset."""
    fact = operator.post(PATH, {"text": "Anna is allergic to nuts"})
    key = CubicleKey("crab", operator.user.id)
    (told,) = webapp.services.memories.for_the_door(key, "nuts")
    assert {name: told[name] for name in ("id", "text", "by")} == {name: fact[name] for name in ("id", "text", "by")}
    assert set(told) == {"id", "text", "by", "at"}
    assert webapp.services.memories.for_the_door(CubicleKey("crab", 99), "nuts") == []
    webapp.services.agents.update_agent("crab", {"toolsets": []})
    assert webapp.services.memories.for_the_door(key, "nuts") == []


def test_an_agent_that_goes_takes_its_memory_along(webapp: AppFixture, operator: Api) -> None:
    """One of the same name begins with nothing."""
    operator.post("/agents", {"name": "newt"})
    operator.post("/agents/newt/memories", {"text": "old"})
    assert operator.call("DELETE", "/agents/newt").status_code == 204
    operator.post("/agents", {"name": "newt"})
    assert operator.get("/agents/newt/memories")["memories"] == []
    assert operator.get("/agents/newt/memories?q=old")["memories"] == []


def test_in_the_terminal(webapp: AppFixture, operator: Api, capsys: pytest.CaptureFixture[str]) -> None:
    """The same by ``./hermit memory``: what it prints is safe to look at, and JSON for programs."""

    def hermit(*arguments: str) -> str:
        options = parser("memory").parse_args(["memory", "crab", *arguments])
        assert options.run(Context(ROOT, {}, webapp.services.settings), options) == 0
        return capsys.readouterr().out

    assert hermit("list") == "crab remembers nothing about you yet.\n"
    assert hermit("add", "Anna is\nallergic \x1b[2Jto nuts".replace("\x1b", "\u202e")).startswith(
        "Remembered as memory "
    )
    (fact,) = operator.get(PATH)["memories"]
    shown = hermit("search", "nuts")
    assert shown.splitlines()[0].startswith(f"{fact['id']}  ")
    assert shown.splitlines()[0].endswith("  ada")
    assert "\u202e" not in shown
    assert json.loads(hermit("list", "--json")) == {"memories": [fact]}
    assert hermit("search", "zebra") == "No memory matches.\n"
    assert hermit("rm", str(fact["id"]), "--yes") == f"Memory {fact['id']} is forgotten.\n"
    with pytest.raises(OrchestratorError, match="There is no memory"):
        hermit("rm", str(fact["id"]), "--yes")
