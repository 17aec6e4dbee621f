"""Agents, people, cubicles, tokens, models, status: the API's smaller nouns. Shapes are checked by every call."""

from __future__ import annotations

import logging

import pytest
from flask import Flask

from tests.support.app_fixture import API_TOKEN, AppFixture
from tests.unit.conftest import Api, someone

BOT = "123456789:" + "A" * 35


def test_an_agent_is_made_changed_and_deleted(operator: Api) -> None:
    """With defaults for what was not said, and only what is said changes."""
    made = operator.post("/agents", {"name": "helper-2", "role": "Sorts papers", "limits": {"cpus": 0.5}})
    assert (made["status"], made["approval"], made["limits"]["cpus"]) == ("stopped", "dangerous", 0.5)
    changed = operator.call("PATCH", "/agents/helper-2", {"daily_budget_usd": 0.25, "limits": {"pids": 64}}).get_json()
    budget = {**made["budget"], "budget_usd": 0.25, "left_usd": 0.25}
    assert changed == {**made, "daily_budget_usd": 0.25, "budget": budget, "limits": {**made["limits"], "pids": 64}}
    assert [agent["name"] for agent in operator.get("/agents")["agents"]] == ["crab", "helper-2"]
    assert operator.call("DELETE", "/agents/helper-2").status_code == 204
    assert operator.refused("GET", "/agents/helper-2")[0] == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "word"),
    [
        ("POST", "/agents", {"name": "No"}, 400, "name"),
        ("POST", "/agents", {"name": "../x"}, 400, "name"),
        ("POST", "/agents", {}, 400, "name"),
        ("POST", "/agents", {"name": "crab"}, 409, "crab"),
        ("POST", "/agents", {"name": "a", "colour": "red"}, 400, "colour"),
        ("POST", "/agents", {"name": "a", "status": "idle"}, 400, "status"),
        ("PATCH", "/agents/crab", {"step_limit": "many"}, 400, "step_limit"),
        ("PATCH", "/agents/crab", {"provider": "nobody"}, 400, "provider"),
        ("PATCH", "/agents/crab", {"limits": {"memory_mb": -1}}, 400, "memory_mb"),
        ("PATCH", "/agents/nobody", {}, 404, "hermit agent list"),
        ("GET", "/agents/nobody", None, 404, "hermit agent list"),
        ("GET", "/agents/nobody/log", None, 404, "hermit agent list"),
        ("GET", "/agents/nobody/cubicle", None, 404, "hermit agent list"),
        ("POST", "/agents/nobody/cubicle/start", None, 404, "hermit agent list"),
        ("POST", "/users", {"name": ""}, 400, "name"),
        ("POST", "/users", {"name": "eve", "time_zone": "Mars/Base"}, 400, "time_zone"),
        ("POST", "/users", {"name": "ada"}, 409, "ada"),
        ("PATCH", "/users/99", {"name": "x"}, 404, "99"),
        ("DELETE", "/users/1", None, 409, "operator"),
        ("PATCH", "/users/1", {"role": "member"}, 409, "operator"),
        ("POST", "/tokens", {"name": " "}, 400, "name"),
        ("POST", "/tokens", {"name": "x", "user": 99}, 404, "99"),
        ("GET", "/agents/crab/cubicle?user=99", None, 404, "99"),
        ("GET", "/agents/crab/cubicle?user=x", None, 404, "user"),
        ("GET", "/audit?before=x", None, 400, "before"),
        ("GET", "/audit?limit=0", None, 400, "limit"),
    ],
)
def test_what_does_not_work_says_why(
    refused_one: Api, *, method: str, path: str, body: object, status: int, word: str
) -> None:
    """A fitting status, and a sentence that names what is wrong."""
    refused = refused_one.refused(method, path, body)
    assert refused[0] == status, refused
    assert word in refused[1]


def test_a_bot_token_is_never_shown(webapp: AppFixture, operator: Api) -> None:
    """It is taken, and then only that there is one can be seen, in agents and in the audit log."""
    assert operator.call("PATCH", "/agents/crab", {"telegram_token": BOT}).get_json()["has_telegram"] is True
    shown = [operator.call("GET", path).get_data(as_text=True) for path in ("/agents", "/agents/crab", "/audit")]
    assert BOT not in "".join(shown)
    assert operator.call("PATCH", "/agents/crab", {"telegram_token": None}).get_json()["has_telegram"] is False
    assert webapp.services.agents.get("crab")


def test_an_agent_works_rests_or_sleeps(webapp: AppFixture, operator: Api, member: Api) -> None:
    """Active in a turn, idle while a cubicle runs, else stopped; a member is told of their own part."""
    assert operator.get("/agents/crab")["status"] == "stopped"
    operator.post("/agents/crab/messages", {"text": "hello", "wait": True})
    assert operator.get("/agents/crab")["status"] == "idle"
    assert member.get("/agents/crab")["status"] == "stopped"
    webapp.plays["long"] = lambda scene: scene.wait_for_stop()
    turn = operator.post("/agents/crab/messages", {"text": "long", "wait": True, "timeout": 0.3})["turn"]
    assert operator.get("/agents/crab")["status"] == "active"
    operator.post(f"/turns/{turn}/stop")


def test_a_cubicle_starts_stops_and_is_reset(webapp: AppFixture, operator: Api, member: Api) -> None:
    """Each person has their own, and the operator may look at all."""
    assert operator.get("/agents/crab/cubicle")["state"] == "stopped"
    started = operator.post("/agents/crab/cubicle/start")
    assert (started["state"], started["memory_bytes"], started["user"]) == ("running", 7_000_000, 1)
    assert member.get("/agents/crab/cubicle")["state"] == "stopped"
    assert operator.post("/agents/crab/cubicle/reset")["state"] == "running"
    assert operator.post("/agents/crab/cubicle/stop")["state"] == "stopped"
    assert operator.post("/agents/crab/cubicle/stop")["uptime_s"] is None
    assert operator.get(f"/agents/crab/cubicle?user={member.user.id}")["user"] == member.user.id
    assert member.refused("GET", "/agents/crab/cubicle?user=1")[0] == 403


def test_a_cubicle_shows_its_disk(webapp: AppFixture, operator: Api, member: Api) -> None:
    """Measured, although it never ran; each person has their own."""
    work = webapp.services.settings.home / "workspaces" / "crab" / "1" / "work"
    work.mkdir(parents=True)
    (work / "file").write_bytes(b"x" * 50_000)
    disk = operator.get("/agents/crab/cubicle")["disk"]
    assert 50_000 <= disk["used_bytes"] < 100_000
    assert (disk["limit_bytes"], disk["inodes"], disk["level"]) == (2048 * 2**20, 2, "ok")
    assert disk["inode_limit"] == 231_072
    assert member.get("/agents/crab/cubicle")["disk"]["used_bytes"] == 0


def test_people_are_added_changed_and_removed(operator: Api) -> None:
    """A member with a time zone, who goes again."""
    made = operator.post("/users", {"name": "cleo", "time_zone": "Europe/Vienna", "telegram_id": 77})
    assert made["role"] == "member"
    changed = operator.call("PATCH", f"/users/{made['id']}", {"name": "cleo b"}).get_json()
    assert changed == {**made, "name": "cleo b"}
    assert operator.get("/users")["users"][-1] == changed
    assert operator.call("DELETE", f"/users/{made['id']}").status_code == 204
    assert operator.refused("DELETE", f"/users/{made['id']}")[0] == 404


def test_tokens_and_links_let_people_in(app: Flask, operator: Api, member: Api) -> None:
    """For whom they were made, and a link is one of our own pages."""
    token = operator.post("/tokens", {"name": "phone", "user": member.user.id})["token"]
    assert Api(app.test_client(), member.user, token).refused("GET", "/users")[0] == 403
    assert operator.refused("POST", "/tokens", {"name": "phone"})[0] == 409
    url = operator.post("/login-links", {"user": member.user.id})["url"]
    assert operator.post("/login-links")["url"] != url
    path = url.partition("/login/")[2]
    answer = app.test_client().post(f"/login/{path}", headers={"Origin": "http://localhost"})
    assert answer.status_code == 303


def test_the_fixed_token_is_the_operators(app: Flask, operator: Api) -> None:
    """HERMIT_API_TOKEN works as it is."""
    assert Api(app.test_client(), operator.user, API_TOKEN).get("/users")["users"][0]["name"] == "ada"


def test_models_and_status(webapp: AppFixture, operator: Api) -> None:
    """Which models there are, and how each part is."""
    assert operator.get("/models")["default"] == "rehearsal"
    fine = operator.get("/status")
    assert (fine["status"], fine["engine"], fine["cubicles_running"]) == ("ok", "ok", 0)
    webapp.engine.is_broken = True
    broken = operator.get("/status")
    assert (broken["status"], broken["cubicles_running"]) == ("unavailable", None)
    assert "Docker" in broken["engine"]


def test_health_tells_strangers_nothing_but_yes_or_no(webapp: AppFixture, app: Flask) -> None:
    """200 or 503, without a login and without a reason."""
    assert (app.test_client().get("/api/health").get_json(), 200) == ({"status": "ok"}, 200)
    webapp.engine.is_broken = True
    answer = app.test_client().get("/api/health")
    assert (answer.status_code, answer.get_json()) == (503, {"status": "unavailable"})


def test_without_an_engine_agents_can_still_be_seen(webapp: AppFixture, operator: Api) -> None:
    """They count as stopped; only what needs the engine says 503, with the fix."""
    webapp.engine.is_broken = True
    assert operator.get("/agents")["agents"][0]["status"] == "stopped"
    status, message = operator.refused("GET", "/agents/crab/cubicle")
    assert (status, "Docker" in message) == (503, True)


def test_the_log_is_the_end_of_the_agents_own(webapp: AppFixture, operator: Api, member: Api) -> None:
    """Empty before the first turn, then what the agent wrote, each person's own."""
    assert operator.get("/agents/crab/log") == {"log": ""}
    operator.post("/agents/crab/cubicle/start")
    (webapp.services.settings.home / "workspaces/crab/1/work/.hermit.log").write_text("ran ls\n", encoding="utf-8")
    assert operator.get("/agents/crab/log") == {"log": "ran ls\n"}
    assert member.get("/agents/crab/log") == {"log": ""}


def test_the_audit_log_is_searched_and_paged(webapp: AppFixture, app: Flask, operator: Api) -> None:
    """Newest first, by words, agent and kind, page by page; no secret is in it."""
    for n in range(5):
        operator.post("/agents/crab/messages", {"text": f"walrus {n}", "wait": True})
    first = operator.get("/audit?q=walrus&kind=turn.asked&limit=3")
    assert [row["text"] for row in first["rows"]] == ["walrus 4", "walrus 3", "walrus 2"]
    second = operator.get(f"/audit?q=walrus&kind=turn.asked&limit=3&before={first['next']}")
    assert ([row["text"] for row in second["rows"]], second["next"]) == (["walrus 1", "walrus 0"], None)
    assert operator.get("/audit?agent=nobody")["rows"] == []
    token = someone(webapp, app, operator.user).token
    assert token not in operator.call("GET", "/audit?limit=499").get_data(as_text=True)


@pytest.mark.parametrize("words", ['"', "a OR", "NEAR(", "*", "kind:x", "a\x00b", "ü -"])
def test_any_words_can_be_searched_for(refused_one: Api, words: str) -> None:
    """Nothing in them is an operator of the search engine's."""
    assert isinstance(refused_one.call("GET", f"/audit?q={words}").get_json()["rows"], list)


def test_a_fault_of_ours_is_logged_and_not_told(
    webapp: AppFixture, app: Flask, operator: Api, caplog: pytest.LogCaptureFixture
) -> None:
    """A plain sentence and 500 for the asker, the story for the log."""

    @app.get("/api/broken")
    def broken() -> str:
        raise RuntimeError("the secret is 42")

    token = {"Authorization": f"Bearer {operator.token}"}
    with caplog.at_level(logging.ERROR):
        answer = app.test_client().get("/api/broken", headers=token)
    assert answer.status_code == 500
    assert "42" not in answer.get_data(as_text=True)
    assert "the secret is 42" in caplog.text
