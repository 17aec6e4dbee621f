"""The calendar over HTTP: entries of one's own, runs by hand, and the feed for calendar apps."""

from __future__ import annotations

import time
from typing import Any

import pytest
from flask import Flask

from orchestrator.capabilities.calendar.feeds import MOST_GUESSES, MOST_READS
from orchestrator.core.models import CALENDAR, CubicleKey
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api

CALENDAR_PATH = "/agents/crab/calendar"


def _new(api: Api, **fields: Any) -> Any:
    given = {"title": "Tea", "prompt": "Make tea.", "start": "2190-03-01T09:00", **fields}
    return api.post(CALENDAR_PATH, given)


def test_entries_are_made_changed_and_deleted(operator: Api) -> None:
    """What was left out is as it would be, and what is taken away is null."""
    made = _new(operator, repeat="FREQ=WEEKLY;BYDAY=MO", color="red", time_zone="Europe/Vienna")
    assert (made["words"], made["missed"], made["status"], made["by"], made["end"]) == (
        "every Monday at 09:00 (Europe/Vienna)",
        "run",
        "active",
        operator.user.name,
        None,
    )
    assert made["next_at"] == "2190-03-01T08:00:00.000Z"
    path = f"{CALENDAR_PATH}/{made['id']}"
    changed = operator.call("PATCH", path, {"repeat": None, "title": "Coffee", "status": "paused"}).get_json()
    assert (changed["repeat"], changed["title"], changed["status"], changed["next_at"]) == (
        None,
        "Coffee",
        "paused",
        None,
    )
    assert operator.get(path)["runs"] == []
    assert [entry["title"] for entry in operator.get(CALENDAR_PATH)["entries"]] == ["Coffee"]
    assert operator.call("DELETE", path).status_code == 204
    assert operator.refused("GET", path) == (404, f"There is no entry {made['id']} in the calendar.")


def test_a_series_leaves_out_days(operator: Api) -> None:
    """They are a list, in order, and changed as a whole."""
    made = _new(operator, repeat="FREQ=DAILY", without=["2190-03-02", "2190-03-01"])
    assert (made["without"], made["words"]) == (
        ["2190-03-01", "2190-03-02"],
        "every day at 09:00, with 2 exceptions",
    )
    assert made["next_at"][:10] == "2190-03-03"
    path = f"{CALENDAR_PATH}/{made['id']}"
    assert operator.call("PATCH", path, {"title": "Coffee"}).get_json()["without"] == made["without"]
    assert operator.call("PATCH", path, {"without": None}).get_json()["next_at"][:10] == "2190-03-01"


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [
        ("2190-03-01T09:00:00Z", "2190-03-01T10:00:00Z", ("2190-03-01T09:00:00Z", "2190-03-01T10:00:00Z")),
        ("2190-03-01T09:00:00+00:00", None, ("2190-03-01T09:00:00Z", None)),
        ("2190-03-01T09:00:00+02:00", None, ("2190-03-01T09:00:00+02:00", None)),
        ("2190-03-01", "2190-03-02", ("2190-03-01", "2190-03-02")),
    ],
)
def test_times_come_back_as_they_were_given(
    operator: Api, start: str, end: str | None, shown: tuple[str, str | None]
) -> None:
    """A moment of UTC has its Z again, as all times of the API; sent back, nothing is moved."""
    made = _new(operator, start=start, end=end)
    assert (made["start"], made["end"]) == shown
    again = operator.call("PATCH", f"{CALENDAR_PATH}/{made['id']}", {"start": made["start"]}).get_json()
    assert again["changed_at"] == made["changed_at"]


def test_an_entry_may_begin_paused(operator: Api) -> None:
    """Its status is one of the fields that a new one may have; it is due once it is resumed."""
    paused, active = _new(operator, status="paused"), _new(operator, status="active")
    assert (paused["status"], paused["next_at"]) == ("paused", None)
    assert active["status"] == "active"
    resumed = operator.call("PATCH", f"{CALENDAR_PATH}/{paused['id']}", {"status": "active"}).get_json()
    assert (resumed["status"], resumed["next_at"]) == ("active", active["next_at"])
    body = {"title": "Tea", "prompt": "Make tea.", "start": "2190-03-01T09:00", "status": "ended"}
    assert operator.refused("POST", CALENDAR_PATH, body) == (400, 'status must be "active" or "paused".')


def test_a_time_shows_what_comes_due_in_it(operator: Api) -> None:
    """By days of the person's own clock, both ends among them."""
    _new(operator, repeat="FREQ=DAILY", title="Daily")
    _new(operator, start="2190-05-01", title="May")
    found = operator.get(f"{CALENDAR_PATH}?from=2190-03-02&to=2190-03-04")
    assert [entry["title"] for entry in found["entries"]] == ["Daily"]
    assert [time["at"][:10] for time in found["times"]] == ["2190-03-02", "2190-03-03", "2190-03-04"]
    assert operator.refused("GET", f"{CALENDAR_PATH}?from=soon")[0] == 400


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"start": 7}, "start must be"),
        ({"prompt": ""}, "prompt can't be empty"),
        ({"repeat": "often"}, "repeat: a cron line has five fields"),
        ({"id": 4}, "id: there is no such field"),
        ({"without": ["2190-01-02"]}, "without: this happens once"),
        ({"repeat": "FREQ=DAILY", "without": ["soon"]}, "without must be a date"),
        ({"repeat": "FREQ=DAILY", "without": "2190-01-02"}, "without must be a list"),
        ({"repeat": "FREQ=DAILY", "without": ["2190-01-02"] * 101}, "without: 100 days"),
        ({"repeat": "FREQ=DAILY;COUNT=1", "without": ["2190-01-01"]}, "nothing is left to come"),
    ],
)
def test_a_wrong_field_is_named(operator: Api, fields: dict[str, Any], said: str) -> None:
    """And nothing is made."""
    status, message = operator.refused(
        "POST", CALENDAR_PATH, {"title": "T", "prompt": "P", "start": "2190-01-01", **fields}
    )
    assert (status, said in message) == (400, True), message
    assert operator.get(CALENDAR_PATH)["entries"] == []


def test_a_calendar_is_its_persons_own(operator: Api, member: Api) -> None:
    """Another's entries are not there; an operator looks into them by saying whose."""
    theirs = _new(member)
    path = f"{CALENDAR_PATH}/{theirs['id']}"
    for method, what in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/run")):
        assert operator.refused(method, f"{path}{what}", {"title": "Mine"})[0] == 404
    assert operator.get(f"{path}?user={member.user.id}")["title"] == "Tea"
    assert member.get(path)["title"] == "Tea"


def test_an_entry_runs_by_hand(webapp: AppFixture, operator: Api) -> None:
    """Its turn is one of the calendar's, and what came of it is shown."""
    made = _new(operator)
    path = f"{CALENDAR_PATH}/{made['id']}"
    turn = operator.post(f"{path}/run")["turn"]
    ended = webapp.services.turns.wait_for_end(turn, 10.0)
    assert (ended.source, ended.prompt, ended.reply) == (CALENDAR, "Make tea.", "You said: Make tea.")
    shown = operator.get(path)
    assert (shown["runs"][0]["turn"], shown["runs"][0]["by_hand"]) == (turn, True)


def test_runs_go_to_the_conversation_of_their_entry(webapp: AppFixture, operator: Api) -> None:
    """The API says which, of the entry and of each run; where it was deleted, the next run goes to the first."""
    services, key = webapp.services, CubicleKey("crab", operator.user.id)
    first, boat = services.conversations.get(key), services.conversations.create(key, "Boat")
    turn = services.turns.submit(key, "go", source="api", conversation=boat.id)
    fields = {"title": "Tea", "prompt": "Make tea.", "start": "2190-03-01T09:00"}
    path = f"{CALENDAR_PATH}/{services.calendar.create_entry(key, fields, by=None, turn=turn.id).id}"
    assert operator.get(path)["conversation"] == boat.id
    run = services.turns.wait_for_end(operator.post(f"{path}/run")["turn"], 10.0)
    assert run.conversation == boat.id
    assert [one["conversation"] for one in operator.get(path)["runs"]] == [boat.id]
    assert operator.get("/agents/crab/notices")["notices"][-1]["conversation"] == boat.id
    services.conversations.delete(key, boat.id)
    shown = operator.get(path)
    assert (shown["conversation"], [one["conversation"] for one in shown["runs"]]) == (first.id, [None])
    assert services.calendar.get_entry(shown["id"]).conversation == boat.id
    again = services.turns.wait_for_end(_run_again(operator, path), 10.0)
    assert again.conversation == first.id


def _run_again(api: Api, path: str) -> int:
    """As soon as the run before it is booked."""
    deadline = time.monotonic() + 10
    while api.get(path)["runs"][0]["ended_at"] is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return int(api.post(f"{path}/run")["turn"])


def test_the_feed_needs_no_login_and_is_its_own_key(app: Flask, operator: Api, member: Api) -> None:
    """Each person has their own; another address ends the one before."""
    _new(operator, title="Tea, at nine")
    url = operator.get("/agents/crab")["ics_url"]
    assert url != member.get("/agents/crab")["ics_url"]
    path = url.removeprefix("http://127.0.0.1").partition("/")[2]
    stranger = app.test_client()
    answer = stranger.get(f"/{path}")
    assert (answer.status_code, answer.mimetype, answer.headers["Cache-Control"]) == (200, "text/calendar", "private")
    assert r"SUMMARY:Tea\, at nine" in answer.text
    assert "Tea" not in stranger.get(f"/{_path(member.get('/agents/crab')['ics_url'])}").text
    renewed = operator.post(f"{CALENDAR_PATH}/feed")["ics_url"]
    assert stranger.get(f"/{path}").status_code == 404
    assert stranger.get(f"/{_path(renewed)}").status_code == 200
    assert stranger.post(f"/{_path(renewed)}").status_code == 405


def test_feeds_are_not_read_or_guessed_without_end(app: Flask, operator: Api) -> None:
    """Too often is 429, for one feed and for all wrong addresses together; the right ones answer all the same."""
    client, path = app.test_client(), _path(operator.get("/agents/crab")["ics_url"])
    guesses = [client.get(f"/ics/{number}.ics").status_code for number in range(MOST_GUESSES + 1)]
    assert guesses == [404] * MOST_GUESSES + [429]
    reads = [client.get(f"/{path}").status_code for _ in range(MOST_READS + 1)]
    assert reads == [200] * MOST_READS + [429]


def test_nothing_of_a_calendar_outlives_its_agent(webapp: AppFixture, operator: Api) -> None:
    """Entries, runs and the feed go with it."""
    operator.post("/agents", {"name": "gone"})
    url = operator.get("/agents/gone")["ics_url"]
    operator.post("/agents/gone/calendar", {"title": "T", "prompt": "P", "start": "2190-01-01"})
    operator.call("DELETE", "/agents/gone")
    assert webapp.services.calendar.list_entries("gone") == []
    assert operator.client.get(f"/{_path(url)}").status_code == 404
    assert webapp.services.calendar.list_upcoming(agent="gone", user=CubicleKey("gone", 1).user) == []


def _path(url: str) -> str:
    return url.split("/", 3)[3]
