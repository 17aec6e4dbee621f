"""Roles as templates: each is good as it stands, offered by the API, and what is given beside it counts more."""

from __future__ import annotations

from orchestrator.agents.looks import COLORS, SIGNS
from orchestrator.capabilities.roles import ROLES, tasks_of
from orchestrator.capabilities.table import TOOLSETS
from orchestrator.llm.first_tasks import FIRST_TASKS, list_tasks
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api


def test_each_is_its_own() -> None:
    """No two share an id, a name, a role or a look; all that they name is there."""
    assert len(ROLES) == 8
    for of in ("id", "title", "name", "role", "personality", "avatar", "color"):
        assert len({getattr(role, of) for role in ROLES}) == len(ROLES), of
    known = {task.id for task in FIRST_TASKS}
    for role in ROLES:
        assert role.avatar in ("", *SIGNS)
        assert role.color in COLORS
        assert set(role.toolsets) <= set(TOOLSETS)
        assert set(role.tasks) <= known
        assert list_tasks(role.toolsets, role.tasks)[0].id == role.tasks[0], "its first task is one that it can do"
        assert tasks_of(role.role) == role.tasks


def test_an_agent_is_made_from_a_template(webapp: AppFixture, operator: Api) -> None:
    """As the template says, but for what was given."""
    offered = operator.get("/roles")["roles"]
    assert [role["id"] for role in offered] == [role.id for role in ROLES]
    made = operator.post("/agents", {"name": "owl", "template": "tutor", "color": "slate", "display_name": "Prof. Owl"})
    tutor = next(role for role in ROLES if role.id == "tutor")
    assert made["personality"] == tutor.personality
    assert (made["avatar"], made["color"], made["display_name"]) == ("owl", "slate", "Prof. Owl")
    assert made["limits"]["memory_mb"] == tutor.memory_mb
    assert webapp.services.agents.get("owl").toolsets == tutor.toolsets


def test_a_template_that_is_none_is_refused(operator: Api) -> None:
    """The error names the field and what there is; nothing was made."""
    for wrong in ("pirate", None, 3, ["tutor"]):
        status, said = operator.refused("POST", "/agents", {"name": "owl", "template": wrong})
        assert status == 400
        assert said.startswith("template: choose one of generalist, coder")
    assert "owl" not in [agent["name"] for agent in operator.get("/agents")["agents"]]
