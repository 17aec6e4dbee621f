"""What a cubicle that is wholly its enemy's may try with the calls of its door, and what a member may try with other
people's numbers: ids of others, floods, huge fields, races, deaths. Decisions have ``test_decisions``."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.approvals.grant_rows import GrantKind, GrantScope
from orchestrator.capabilities.calls import HOURLY_UNITS
from orchestrator.capabilities.capability import Caller
from orchestrator.channels.push.devices import BrowserSubscription
from orchestrator.core.models import Approval
from orchestrator.door.api_calls import CALL_BYTES
from tests.support.core_fixture import at_once
from tests.support.push_service import SubscribedBrowser
from tests.support.two_tenants import ENTRY, TwoTenants, two_tenants
from tests.support.unix_http import UnixHttp

ROOT = Path(__file__).resolve().parents[2]
CANARY = "canary7f3a9c"


# --- whose it is -------------------------------------------------------------------------------------------------


def test_what_is_anothers_is_not_there(tenants: TwoTenants) -> None:
    """Every capability that takes a number, and every route that takes an id, with those of another cubicle: it is as
    if there were none, and nothing of theirs is told or changed."""
    entry = tenants.do("CALENDAR_CREATE", key=tenants.theirs, **{**ENTRY, "title": CANARY})[1]["id"]
    fact = tenants.do("MEMORY_ADD", key=tenants.theirs, text=CANARY)[1]["id"]
    turn = tenants.install.services.turns.submit(tenants.theirs, CANARY, source="test").id
    tenants.install.services.turns.take_next(tenants.theirs, "boot", 20)
    tenants.calls.run_command(Caller(tenants.theirs, turn), "shared", "ASK", {"question": CANARY})
    told = [
        tenants.do("CALENDAR_UPDATE", id=entry, title="mine"),
        tenants.do("CALENDAR_DELETE", id=entry),
        tenants.do("MEMORY_DELETE", id=fact),
    ]
    assert {code for code, _ in told} == {"not_found"}
    told += [
        tenants.do("CALENDAR_LIST"),
        tenants.do("MEMORY_SEARCH", query=CANARY),
        tenants.do("MEMORY_SEARCH"),
        tenants.do("STATUS"),
    ]
    step = {"phase": "actions", "n": 1, "actions": [f"MEMORY_ADD:{CANARY}"]}
    routes: list[tuple[str, str, object]] = [
        ("GET", "calls/shared", None),
        ("POST", f"turns/{turn}/steps", step),
        ("POST", f"turns/{turn}/steps", {"phase": "start", "n": 1, "command": "id"}),
        ("POST", f"turns/{turn}/finish", {"status": "done", "message": "mine"}),
        ("POST", "approvals", {"turn": turn, "n": 1}),
    ]
    answers = [tenants.ask(method, path, body) for method, path, body in routes]
    assert {status for status, _ in answers} <= {404, 409}, answers
    assert tenants.ask("GET", f"turns/{turn}/waited") == (200, {"waited_s": 0.0, "is_waiting": False})
    told += [("", body) for _, body in (*answers, tenants.ask("GET", f"memories?q={CANARY}"))]
    assert CANARY not in json.dumps([what for _, what in told]), told
    assert tenants.install.services.calendar.get_entry(entry).title == CANARY
    assert tenants.install.services.memories.list_facts(tenants.theirs)[0].text == CANARY
    assert tenants.install.services.memories.list_facts(tenants.mine) == []
    assert tenants.calls.get_call(tenants.theirs, "shared").status == "waiting"


def test_another_cubicles_points_are_never_reached(tenants: TwoTenants) -> None:
    """Whatever number, path or name is given: nothing of theirs is told, named or put back, and nobody is asked."""
    top = tenants.home / "workspaces" / "crab"
    work = {key: top / str(key.user) / "work" for key in (tenants.mine, tenants.theirs)}
    restores = tenants.install.services.restores
    (work[tenants.theirs] / CANARY).write_text(CANARY)
    theirs = [restores.create_point(tenants.theirs, f"{CANARY} {n}").id for n in range(5)]
    (work[tenants.theirs] / CANARY).unlink()
    (work[tenants.mine] / "own").write_text("own")
    own = restores.create_point(tenants.mine, "own").id
    turn = tenants.install.services.turns.submit(tenants.mine, "go", source="test").id
    assert tenants.install.services.turns.take_next(tenants.mine, "boot", 20) is not None
    tried = [number for number in (*theirs, 10**9) if number > own]
    assert tried
    told = [_ended(tenants, turn, "RESTORE", id=number) for number in tried]
    told += [_ended(tenants, turn, "DIFF", id=number) for number in tried]
    assert {status for status, _ in told} == {"failed"}
    member = tenants.theirs.user
    for path in (f"../../../{member}/work", f"../../{member}/x", "/etc", "../in", "a/../../../x", "\udcff", "a\0b"):
        code, _ = tenants.do("CHECKPOINT_RESTORE", turn=turn, id=own, paths=[path])
        assert code in ("bad_input", "unsafe_path"), path
    for number in (0, -1, 2**70, "1 or 1", True, [own], None):
        assert tenants.do("CHECKPOINT_RESTORE", turn=turn, id=number)[0] == "bad_input", number
    names: tuple[object, ...] = ("\x1b[2J", "a\nb", ["a"], {})
    for name in names:
        assert tenants.do("CHECKPOINT_CREATE", turn=turn, name=name)[0] == "bad_input", name
    told += [_ended(tenants, turn, "LIST", limit=9_000), _ended(tenants, turn, "DIFF", id=own)]
    assert CANARY not in json.dumps(told)
    assert tenants.install.services.approvals.list_approvals() == []
    assert not (work[tenants.theirs] / CANARY).exists()
    assert len(tenants.install.services.checkpoints.list_checkpoints(tenants.theirs)) == len(theirs)


def test_nobody_goes_back_before_a_turn_alone(tenants: TwoTenants) -> None:
    """Without a turn, in a turn, by panel action: a person is asked, once, about exactly that; no other yes counts, and
    nothing in the call makes it one."""
    work = tenants.home / "workspaces" / "crab" / str(tenants.mine.user) / "work"
    services = tenants.install.services
    numbers = []
    for text in ("one", "two", "now"):
        (work / "notes").write_text(text)
        numbers.append(services.restores.create_point(tenants.mine, text).id)
    before = services.turns.submit(tenants.mine, "go", source="test").id
    assert services.turns.take_next(tenants.mine, "boot", 20) is not None
    tenants.install.steps.start_step(tenants.mine, before, 1, thought="", command="true", approval=None)
    calls = [_begin(tenants, before, number) for number in numbers[:2]] + [_begin(tenants, None, numbers[0])]
    asked = _await_questions(tenants, 2)
    assert [one.text.split(" (")[0] for one in asked] == [
        f"Put back all files as at point {number}" for number in numbers[1::-1]
    ]
    for extra in ({"approved": True}, {"by": "ada"}, {"approval": asked[0].id}):
        assert tenants.do("CHECKPOINT_RESTORE", turn=before, id=numbers[0], **extra)[0] == "bad_input"
    panel = {"phase": "actions", "n": 1, "actions": [f"CHECKPOINT_RESTORE:{numbers[0]}"]}
    assert [one["ok"] for one in tenants.ask("POST", f"turns/{before}/steps", panel)[1]["results"]] == [False]
    with tenants.store.writing() as db:  # a job that somebody managed to turn around
        db.execute(
            "UPDATE jobs SET payload = json_set(payload, '$.id', ?) WHERE waits_for = ?",
            (numbers[0], f"approval:{asked[0].id}"),
        )
    services.approvals.decide(asked[0].id, approve=True, by=tenants.owner, surface="test")
    ended = tenants.calls.wait_call(tenants.mine, calls[1], 20)
    assert (ended.status, ended.result["code"], (work / "notes").read_text()) == ("failed", "forbidden", "now")
    services.approvals.decide(asked[1].id, approve=False, by=tenants.owner, surface="test")
    assert tenants.calls.wait_call(tenants.mine, calls[0], 20).status == "failed"
    assert tenants.calls.wait_call(tenants.mine, calls[2], 20).status == "failed"
    assert (work / "notes").read_text() == "now"


def _begin(tenants: TwoTenants, turn: int | None, point: int) -> str:
    name = f"r{next(tenants.numbers)}"
    tenants.calls.run_command(Caller(tenants.mine, turn), name, "CHECKPOINT_RESTORE", {"id": point})
    return name


def _ended(tenants: TwoTenants, turn: int, deed: str, /, **fields: Any) -> tuple[str, Any]:
    name = f"p{next(tenants.numbers)}"
    tenants.calls.run_command(Caller(tenants.mine, turn), name, f"CHECKPOINT_{deed}", fields)
    call = tenants.calls.wait_call(tenants.mine, name, 20)
    return call.status, [call.text, call.result]


def _await_questions(tenants: TwoTenants, count: int) -> list[Approval]:
    deadline = time.monotonic() + 20
    while len(asked := tenants.install.services.approvals.list_approvals()) < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return asked


def test_nothing_in_a_call_names_another_cubicle(tenants: TwoTenants) -> None:
    """Fields that would say whose it is are refused, in the body they are no matter: the door knows."""
    for extra in ("agent", "user", "key", "cubicle", "by", "turn"):
        fields = {"text": "x", extra: tenants.theirs.user}
        assert tenants.ask("POST", "calls", {"call": "c", "name": "MEMORY_ADD", "fields": fields})[0] == 400
    body = {"call": "c", "name": "MEMORY_ADD", "fields": {"text": "x"}, "user": tenants.theirs.user, "agent": "other"}
    assert tenants.ask("POST", "calls", body)[0] == 200
    (fact,) = tenants.install.services.memories.list_facts(tenants.mine)
    assert (fact.by, tenants.install.services.memories.list_facts(tenants.theirs)) == ("agent", [])


def test_a_member_walks_every_route_with_the_operators_ids(tenants: TwoTenants) -> None:
    """Reads tell nothing of another person's conversation, and writes change nothing, whatever the route."""
    services = tenants.install.services
    entry = tenants.do("CALENDAR_CREATE", **{**ENTRY, "title": CANARY})[1]["id"]
    fact = tenants.do("MEMORY_ADD", text=CANARY)[1]["id"]
    tenants.do("ASK", question=CANARY)
    tenants.do("ASSET_REQUEST", description=CANARY, url=f"https://example.com/{CANARY}")
    (tenants.home / "workspaces" / "crab" / str(tenants.mine.user) / "out" / "secret.txt").write_text(CANARY)
    tenants.calls.run_command(Caller(tenants.mine, None), "send", "SEND", {"file": "secret.txt", "caption": CANARY})
    assert tenants.calls.wait_call(tenants.mine, "send", 20).status == "done"
    delivery = services.deliveries.list_deliveries(tenants.mine, limit=1)[0].id
    turn = services.turns.submit(tenants.mine, CANARY, source="test").id
    (question,) = services.questions.list_questions()
    (approval,) = services.approvals.list_approvals()
    (notice,) = services.notifications.list_recent(tenants.mine)
    kind, scope = GrantKind.COMMAND, GrantScope.HOUR
    grant = services.grants.add_grant("crab", kind, "stop processes", scope, by=tenants.owner, surface="test").id
    rows = {"approval": approval.id, "asset": approval.id, "question": question.id, "notice": notice.id}
    ids = {**rows, "entry": entry, "memory": fact, "turn": turn, "name": "crab", "user": tenants.owner.id}
    ids |= {"grant": grant, "path": "out/secret.txt", "delivery": delivery, "app": "x", "host": "example.com"}
    ids["point"] = services.restores.create_point(tenants.mine, CANARY).id
    login = services.users.login_of(services.users.new_session(tenants.owner.id, "password"))
    ids["device"] = services.push.devices.add_device(tenants.owner, login, _browser()).id
    ids["conversation"] = services.conversations.create(tenants.mine, CANARY).id
    ids["site"] = services.kept_logins.keep(tenants.mine, "canary-shop.example", by=CANARY).site
    fields = {"pip": "mcp-server-time==1.0"}
    ids |= {"server": services.mcp_servers.add("canary", fields, {}, by=CANARY).name, "tool": "t"}
    ids["lesson"] = services.lessons.add_lesson(tenants.mine, CANARY, CANARY, by="ada").id
    ids |= {
        "provider": "custom",
        "model": "m",
        "backup": "b.tar",
        "person": 1,
        "session": 1,
        "terminal": "t",
        "token": "t",
        "passkey": 1,
        "secret": 1,
        "engine": "brave",
        "number": 1,
    }
    bodies: tuple[object, ...] = (
        {"decision": "approve"},
        {"decision": "approve", "always": True},
        {"answer": "yes"},
        {"do": notice.offers[0].do},
        {"title": "mine"},
        {"name": "mine"},
        {"kind": "command", "subject": "stop processes", "scope": "always"},
        {},
    )
    call, before = tenants.api(tenants.member), _state(tenants)
    document = json.loads(call("GET", "/openapi.json")[1])
    walked = 0
    for path, methods in document["paths"].items():
        at = path.removeprefix("/api")
        for name, value in ids.items():
            at = at.replace(f"{{{name}}}", str(value))
        assert "{" not in at, f"{at}: give this test an example"
        if not path.startswith("/api") or at == "/events":
            continue
        for method in set(methods) & {"get", "post", "put", "patch", "delete"}:
            if (method, at) == ("post", "/agents/crab/messages") or at.startswith("/me"):
                continue  # a member's own
            for look in ("", f"?user={tenants.owner.id}"):
                for body in (None,) if method in ("get", "delete") else bodies:
                    status, text = call(method.upper(), at + look, body)
                    walked += 1
                    assert status < 500, (method, at, body, text)
                    assert CANARY not in text, (method, at, body)
    assert walked > 150
    assert _state(tenants) == before


def _browser() -> BrowserSubscription:
    said = SubscribedBrowser("https://fcm.googleapis.com/fcm/send/owner").subscription
    return BrowserSubscription(said["endpoint"], **said["keys"])


def _state(tenants: TwoTenants) -> object:
    services = tenants.install.services
    return (
        services.calendar.list_entries("crab", tenants.owner.id),
        services.memories.list_facts(tenants.mine),
        services.questions.list_questions(user=tenants.owner.id),
        services.approvals.list_approvals(user=tenants.owner.id),
        services.downloads.list_downloads(user=tenants.owner.id),
        services.notifications.list_recent(tenants.mine),
        services.conversations.list_conversations(tenants.mine),
        services.turns.list_history(tenants.mine),
        services.grants.of_agent("crab", viewer=tenants.owner),
        services.agents.get("crab"),
        services.deliveries.list_deliveries(tenants.mine, limit=10),
        services.checkpoints.list_checkpoints(tenants.mine),
        services.push.devices.list_devices(tenants.owner.id),
        services.kept_logins.list_logins(tenants.mine),
        sorted(
            path.name for path in (tenants.home / "workspaces" / "crab" / str(tenants.mine.user) / "out").rglob("*")
        ),
    )


# --- floods ------------------------------------------------------------------------------------------------------


def test_a_flood_of_calls_leaves_little_behind(tenants: TwoTenants) -> None:
    """Thousands of calls of every kind with the largest fields there are, of which most are refused: rows, audit lines
    and notices stay few, what is open is little, and other cubicles go on."""
    dice = random.Random(7)  # noqa: S311 - a test's own dice
    long = "\U0001f980" * 4000
    storm: tuple[Callable[[int], tuple[str, dict[str, Any]]], ...] = (
        lambda n: ("CALENDAR_UPDATE", {"id": 4711, "title": f"t{n}", "prompt": long}),
        lambda n: ("CALENDAR_CREATE", {**ENTRY, "prompt": long, "title": f"t{n}"}),
        lambda n: ("CALENDAR_DELETE", {"id": n % 60 + 1}),
        lambda n: ("MEMORY_ADD", {"text": f"{n}{long[:1990]}"}),
        lambda n: ("MEMORY_DELETE", {"id": 10**9 + n}),
        lambda n: ("ASK", {"question": f"{n}{long[:990]}", "timeout": 604_800}),
        lambda n: ("ASSET_REQUEST", {"description": f"{n}", "url": f"https://example.com/{n}/{'a' * 1900}"}),
        lambda n: ("SEND", {"file": f"none{n}", "caption": long[:900]}),
        lambda _: ("STATUS", {}),
    )
    began = time.monotonic()
    ended: dict[str, int] = {}
    for n in range(4_000):
        name, fields = dice.choice(storm)(n)
        status, _ = tenants.do(name, **fields)
        ended[status] = ended.get(status, 0) + 1
    assert ended["too_many"] > 2_500, ended
    assert tenants.count("calls") <= HOURLY_UNITS
    assert tenants.count("audit") < 3 * HOURLY_UNITS
    assert tenants.count("notices") <= 110
    assert len(tenants.install.services.questions.list_questions(status="pending")) <= 5
    assert len(tenants.install.services.approvals.list_approvals()) <= 5
    assert tenants.size() < 3_000_000
    assert tenants.do("MEMORY_ADD", key=tenants.theirs, text="I go on")[0] == "done"
    assert time.monotonic() - began < 120


def test_thousands_at_once_are_one_hour_together(tenants: TwoTenants) -> None:
    """The allowance holds when its calls come at the same moment, too."""
    deeds = [partial(tenants.do, "STATUS") for _ in range(16)]
    ended = [status for _ in range(80) for status, _ in at_once(*deeds)]
    assert ended.count("done") == HOURLY_UNITS
    assert set(ended) == {"done", "too_many"}


def test_everybody_who_may_wait_at_a_door_holds_up_nobody_else(tenants: TwoTenants) -> None:
    """All connections of a cubicle look after a call that never ends, and more queue up: the install has few threads
    more, other cubicles are answered at once, and when they leave the door answers again."""
    tenants.calls.run_command(Caller(tenants.mine, None), "never", "ASK", {"question": "?", "timeout": 604_800})
    before = threading.active_count()
    path = tenants.home / "run" / "crab" / str(tenants.mine.user) / "door.sock"
    lines = [UnixHttp(path) for _ in range(16)]
    for line in lines:
        line.request("GET", "/api/internal/calls/never?wait=30")
    queued = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(20)]
    for waiting in queued:
        waiting.settimeout(5)
        waiting.connect(str(path))
    time.sleep(0.1)
    assert threading.active_count() - before <= 16
    began = time.monotonic()
    assert tenants.ask("GET", "calls", key=tenants.theirs)[0] == 200
    assert time.monotonic() - began < 15
    (question,) = tenants.install.services.questions.list_questions()
    tenants.install.services.questions.answer_question(question.id, "now", by=tenants.owner, surface="test")
    for line in lines:
        assert json.loads(line.getresponse().read())["text"] == "now"
    for line in lines:
        line.close()
    for waiting in queued:
        waiting.close()
    assert tenants.ask("GET", "calls/never?wait=30")[1]["status"] == "done"


ABSURD: list[tuple[str, dict[str, Any]]] = [
    ("ASK", {"question": "x" * 1_000_000}),
    ("ASK", {"question": "?", "choices": "," * 1_000_000}),
    ("ASK", {"question": "?", "choices": ["a" * 1_000_000]}),
    ("ASK", {"question": "?", "choices": ["a"] * 300_000}),
    ("ASK", {"question": "?", "timeout": "9" * 1_000_000}),
    ("ASK", {"question": "?", "timeout": 10**29}),
    ("MEMORY_ADD", {"text": "\u202e" * 300_000}),
    ("MEMORY_ADD", {"x" * 1_000_000: 1}),
    ("MEMORY_ADD", {str(n): n for n in range(50_000)}),
    ("MEMORY_SEARCH", {"query": '" OR 1 ' * 100_000}),
    ("MEMORY_DELETE", {"id": "1" * 1_000_000}),
    ("CALENDAR_CREATE", {**ENTRY, "repeat": "FREQ=SECONDLY;" * 70_000}),
    ("CALENDAR_CREATE", {**ENTRY, "start": "2" * 1_000_000}),
    ("ASSET_REQUEST", {"description": "x", "url": "https://" + "a." * 500_000}),
    ("INSTALL", {"system": "pip", "packages": "a," * 500_000}),
    ("SEND", {"file": "a/" * 500_000}),
    ("CHECKPOINT_CREATE", {"name": "x" * 1_000_000}),
    ("CHECKPOINT_RESTORE", {"id": "1" * 1_000_000}),
    ("CHECKPOINT_RESTORE", {"id": 1, "paths": ["a/" * 500_000]}),
    ("CHECKPOINT_RESTORE", {"id": 1, "paths": [f"a{n}" for n in range(25_000)]}),
    ("X" * 1_000_000, {}),
    ("MEMORY_ADD", {"text": [[[[["x"]]]]]}),
    ("MEMORY_ADD", {"text": {"text": "x"}}),
]
"""Fields that are far too long, or nothing that the action knows."""


def _shorter(value: Any) -> Any:
    """The same, so that the door takes its body: what is wrong with it is for the action to say."""
    if isinstance(value, dict):
        return {_shorter(name): _shorter(held) for name, held in list(value.items())[:9_000]}
    if isinstance(value, list):
        return [_shorter(held) for held in value[:30_000]]
    return value[:30_000] if isinstance(value, str) else value


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "shorter"])
@pytest.mark.parametrize(("name", "fields"), ABSURD, ids=lambda value: str(value)[:40])
def test_a_field_of_a_megabyte(tenants: TwoTenants, name: str, fields: dict[str, Any], *, is_whole: bool) -> None:
    """Is refused in one sentence and quickly, by the door itself; nothing is written."""
    rows, began = tenants.count("audit"), time.monotonic()
    call = {"call": "c1", "name": name, "fields": fields}
    call = call if is_whole else {"call": "c1", "name": name[:30_000], "fields": _shorter(fields)}
    status, body = tenants.ask("POST", "calls", call)
    is_too_large = len(json.dumps(call)) > CALL_BYTES
    assert (status, body["error"]["code"]) == ((413, "too_large") if is_too_large else (400, "bad_input"))
    assert is_whole or not is_too_large
    assert len(body["error"]["message"]) < 600
    assert time.monotonic() - began < 10
    assert (tenants.count("audit"), tenants.count("calls")) == (rows, 0)


# --- batches -----------------------------------------------------------------------------------------------------


def test_a_hundred_actions_in_one_answer(tenants: TwoTenants) -> None:
    """Good ones, bad ones, and ones that are nothing at all: each has its own outcome in its own place, one touches no
    other, delimiters within texts stay in them, and the same again does nothing again."""
    turn = tenants.install.services.turns.submit(tenants.mine, "go", source="test").id
    assert tenants.install.services.turns.take_next(tenants.mine, "boot", 20) is not None
    good: tuple[tuple[object, str], ...] = (
        (r"MEMORY_ADD:a \| b \\ c|", r"a | b \ c"),
        ({"name": "MEMORY_ADD", "text": "an object | with a bar"}, "an object | with a bar"),
        ({"name": "memory-add", "fields": {"text": "in a box"}}, "in a box"),
    )
    bad: tuple[object, ...] = (
        "MEMORY_ADD:",
        "MEMORY_ADD:a|b|c",
        {"name": "MEMORY_ADD", "text": "x", "user": tenants.theirs.user},
        {"name": "ASK", "question": "only a command"},
        {"name": "APPROVE", "id": "k3j9"},
        {"text": "no name"},
        {"name": ["MEMORY_ADD"]},
        "CALENDAR_DELETE:4711",
        "CLAWMOTION:|5|b.mp4",
        None,
        7,
        [["MEMORY_ADD:x"]],
        "x" * 50_000,
        "\x00|\x00",
    )
    entries = [(good[n % 3][0], True) if n % 5 == 0 else (bad[n % len(bad)], False) for n in range(100)]
    body = {"phase": "actions", "n": 3, "actions": [entry for entry, _ in entries]}
    status, first = tenants.ask("POST", f"turns/{turn}/steps", body)
    assert status == 200
    assert [result["ok"] for result in first["results"]] == [is_good for _, is_good in entries]
    assert all(0 < len(str(result.get("error", result.get("result")))) < 700 for result in first["results"])
    assert {fact.text for fact in tenants.install.services.memories.list_facts(tenants.mine)} == {
        text for _, text in good
    }
    audited = tenants.count("audit")
    assert tenants.ask("POST", f"turns/{turn}/steps", body) == (status, first)
    assert tenants.count("audit") == audited
    assert tenants.count("facts") == 3
    assert tenants.ask("POST", f"turns/{turn}/steps", {**body, "n": 4, "actions": ["x"] * 101})[0] == 400


def test_a_call_whose_answer_was_lost(tenants: TwoTenants) -> None:
    """Sent again by many at once over the door it is done once, and each hears the same; the id is used up."""
    body = {"call": "lost", "name": "CALENDAR_CREATE", "fields": ENTRY}
    answers = at_once(*[partial(tenants.ask, "POST", "calls", body)] * 12)
    assert all(answer == answers[0] for answer in answers)
    assert (answers[0][0], tenants.count("agenda_entries"), tenants.count("notices")) == (200, 1, 1)
    changed = {**body, "fields": {**ENTRY, "title": "another"}}
    assert tenants.ask("POST", "calls", changed)[0] == 409
    assert tenants.ask("POST", "calls", {**body, "name": "MEMORY_ADD", "fields": {"text": "x"}})[0] == 409
    assert tenants.ask("POST", "calls", body, key=tenants.theirs)[1]["result"]["id"] != answers[0][1]["result"]["id"]


# --- deaths ------------------------------------------------------------------------------------------------------

_VICTIM = """
    import os, signal, sys
    from pathlib import Path
    sys.path.insert(0, {root!r})
    from orchestrator.capabilities.capability import Caller
    from orchestrator.core.models import CubicleKey
    from tests.support.app_fixture import run_app

    CALLS = {calls!r}
    with run_app(Path({home!r}), crabs=False) as install:
        calls = install.app._capabilities.calls
        key = CubicleKey("crab", install.services.users.get_operator().id)
        install.services.cubicles.ensure_running(key)
        (Path({home!r}) / "workspaces" / "crab" / str(key.user) / "out" / "a.txt").write_bytes(b"hello")
        install.app._store.after_commit = lambda deed: None  # nothing follows the commit
        for number, (name, fields) in enumerate(CALLS):
            calls.run_command(Caller(key, None), f"c{{number}}", name, fields)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_death_right_after_each_commit(tmp_path: Path) -> None:
    """A call was written down, and the install died before anything followed: after the next start it is there
    once, what waits is asked or sent, and the caller that asks again is told the same and does nothing twice.
    """
    calls: list[tuple[str, dict[str, Any]]] = [
        ("CALENDAR_CREATE", ENTRY),
        ("MEMORY_ADD", {"text": "the cat is called Mia"}),
        ("ASK", {"question": "Which?", "timeout": 3600}),
        ("ASSET_REQUEST", {"description": "x", "url": "https://nobody.invalid/a"}),
        ("SEND", {"file": "a.txt", "caption": "look"}),
        ("CALENDAR_UPDATE", {"id": 1, "title": "Look again"}),
    ]
    script = textwrap.dedent(_VICTIM).format(root=str(ROOT), home=str(tmp_path), calls=calls)
    died = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    with two_tenants(tmp_path) as tenants:
        services, me = tenants.install.services, Caller(tenants.mine, None)
        for number, (name, fields) in enumerate(calls):
            again = tenants.calls.run_command(me, f"c{number}", name, fields)
            assert again.status == ("waiting" if name in ("ASK", "ASSET_REQUEST", "SEND") else "done") or name == "SEND"
        assert tenants.calls.wait_call(tenants.mine, "c4", 20).status == "done"
        assert [made.caption for made in services.deliveries.list_deliveries(tenants.mine, limit=10)] == ["“look”"]
        assert [entry.title for entry in services.calendar.list_entries("crab")] == ["Look again"]
        assert [len(services.memories.list_facts(tenants.mine)), tenants.count("facts")] == [1, 1]
        assert [notice.kind for notice in services.notifications.list_recent(tenants.mine)] == ["calendar", "calendar"]
        (question,) = services.questions.list_questions(status="pending")
        services.questions.answer_question(question.id, "this", by=tenants.owner, surface="test")
        assert tenants.calls.get_call(tenants.mine, "c2").text == "this"
        (approval,) = services.approvals.list_approvals()
        services.approvals.decide(approval.id, approve=False, by=tenants.owner, surface="test")
        assert tenants.calls.get_call(tenants.mine, "c3").result["code"] == "denied"
        assert os.listdir(tmp_path / "outbox") != []  # noqa: PTH208 - names alone
