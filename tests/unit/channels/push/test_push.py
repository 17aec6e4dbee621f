"""Notifications end to end, on an install with a push service of its own: who is told of what, when, what it says, and
what a press on it does. The messages are opened as the browser would."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from dashboard.app import create_app
from orchestrator.capabilities.ask.capability import Ask
from orchestrator.capabilities.capability import Caller
from orchestrator.channels.push import push_rows
from orchestrator.channels.push.devices import MOST_DEVICES
from orchestrator.channels.push.push_rows import NoteState
from orchestrator.channels.push.watch import JOB
from orchestrator.core.models import ApprovalStatus, CubicleKey
from orchestrator.jobs import rows as job_rows
from orchestrator.jobs.rows import Job
from tests.support.app_fixture import AppFixture, Scene, run_app
from tests.support.push_service import Posted, PushService, SubscribedBrowser, check_vapid, run_push_service
from tests.unit.conftest import Browser, logged_in

KEY = CubicleKey("crab", 1)


@dataclass
class Phone:
    """A browser that is logged in and gets notifications."""

    browser: Browser
    push: SubscribedBrowser
    device: str
    service: PushService

    def hear(self) -> tuple[dict[str, Any], Posted]:
        """The next notification, opened, and as it came."""
        posted = self.service.take()
        return self.push.open_message(posted.body), posted

    def press(self, said: dict[str, Any], button: str, **other: str) -> tuple[int, str]:
        """What its service worker sends for a press: no page's token."""
        sent = {**said["ask"], "button": button}
        answer = self.browser.post("/api/push/answer", sent, **{"X-CSRF-Token": "", **other})
        body = answer.get_json(silent=True) or {}
        return answer.status_code, body.get("error", {}).get("message", "")


@pytest.fixture
def service() -> Iterator[PushService]:
    """Where notifications are posted."""
    with run_push_service() as running:
        yield running


@pytest.fixture
def install(tmp_path: Path, service: PushService) -> Iterator[AppFixture]:
    """An install whose operator allows that service; nothing waits to be read first."""
    with run_app(tmp_path, environment={"HERMIT_PUSH_HOSTS": service.origin}) as running:
        running.services.push.watch._read_first_s = 0.0
        running.plays["ask"] = lambda scene: scene.say(f"ran: {scene.run(1, 'rm -r build')}")
        yield running


@pytest.fixture
def app(install: AppFixture) -> Flask:
    """Its dashboard."""
    return create_app(install.services)


@pytest.fixture
def phone(install: AppFixture, app: Flask, service: PushService) -> Phone:
    """The operator's phone."""
    return turned_on(install, app, service, "phone")


def turned_on(install: AppFixture, app: Flask, service: PushService, name: str) -> Phone:
    """Another browser of the operator's, with notifications."""
    browser = logged_in(install, app, install.services.users.get_operator())
    push = service.subscribe(name)
    answer = put(browser, push.subscription)
    assert answer[0] == 200, answer
    return Phone(browser, push, answer[1]["id"], service)


def put(browser: Browser, subscription: dict[str, Any]) -> tuple[int, Any]:
    """Turn notifications on."""
    headers = {"Origin": "http://localhost", "X-CSRF-Token": browser.csrf}
    answer = browser.client.put("/api/push/device", json=subscription, headers=headers)
    return answer.status_code, answer.get_json()


def say(install: AppFixture, text: str, source: str = "dashboard") -> int:
    """A message of the operator's; the turn."""
    return install.services.turns.submit(KEY, text, source=source).id


def test_an_approval_is_told_and_approved_on_the_notification(install: AppFixture, phone: Phone) -> None:
    """Signed, urgent, no longer than it waits; the press needs the login and the ticket, and counts once."""
    turn = say(install, "ask")
    said, posted = phone.hear()
    asked = install.services.approvals.list_approvals(status=ApprovalStatus.PENDING)[0]
    assert (said["title"], said["body"]) == ("crab: may this run?", "rm -r build")
    assert (said["tag"], said["path"], said["waiting"]) == (f"approval:{asked.id}", "/approvals", 1)
    assert said["buttons"] == [["approve", "Approve"], ["deny", "Deny"]]
    assert (posted.headers["Urgency"], posted.headers["Content-Encoding"]) == ("high", "aes128gcm")
    assert 3000 < int(posted.headers["TTL"]) <= 3600
    assert len(posted.headers["Topic"]) == 32
    check_vapid(
        posted.headers["Authorization"], audience=phone.service.origin, key=install.services.push.sender.public_key()
    )
    assert phone.press(said, "approve") == (204, "")
    assert install.services.turns.wait_for_end(turn, 10).reply == "ran: True"
    assert install.services.approvals.get(asked.id).decided_by == "ada (notification)"
    assert phone.press(said, "deny")[0] == 409


def test_a_notification_says_what_the_agent_is_called(install: AppFixture, phone: Phone) -> None:
    """And leads where it led before."""
    install.services.agents.update_agent("crab", {"display_name": "Łucja"})
    say(install, "ask")
    said, _ = phone.hear()
    assert said["title"] == "Łucja: may this run?"


def test_a_press_needs_the_login_the_ticket_and_our_own_origin(install: AppFixture, app: Flask, phone: Phone) -> None:
    """Each without the others decides nothing: a stolen notification, another login of the same person, another site's
    page, a ticket for something else, an API token."""
    say(install, "ask")
    said, _ = phone.hear()
    nobody = app.test_client()
    other = logged_in(install, app, install.services.users.get_operator())
    body, own = {**said["ask"], "button": "approve"}, {"Origin": "http://localhost"}
    assert nobody.post("/api/push/answer", json=body, headers=own).status_code == 401
    assert other.post("/api/push/answer", body).status_code == 403
    assert phone.press(said, "approve", Origin="http://evil.test")[0] == 403
    assert phone.press(said, "approve", Origin="")[0] == 403
    for field, value in (("ticket", "0" * 40), ("device", "abcdefgh"), ("ref", "approval:zzzzzzzz")):
        assert phone.press({"ask": {**said["ask"], field: value}}, "approve")[0] == 403
    token = {"Authorization": f"Bearer {install.services.users.make_token('t', 1)}"}
    assert app.test_client().post("/api/push/answer", json=body, headers=token).status_code == 403
    assert phone.press(said, "choice:0")[0] == 400
    # ... and a page's token is still asked for everywhere else
    assert phone.browser.post("/api/me/login-link", {}, **{"X-CSRF-Token": ""}).status_code == 403
    assert len(install.services.approvals.list_approvals(status=ApprovalStatus.PENDING)) == 1
    assert phone.press(said, "deny") == (204, "")


def test_what_is_decided_elsewhere_is_taken_back(install: AppFixture, app: Flask, phone: Phone) -> None:
    """On every device that shows it but the one that decided, under the same tag and topic, quietly."""
    laptop = turned_on(install, app, phone.service, "laptop")
    say(install, "ask")
    by_path = {posted.path: posted for posted in (phone.service.take(), phone.service.take())}
    asked = {
        name: device.push.open_message(by_path[f"/wpush/{name}"].body)
        for name, device in (("phone", phone), ("laptop", laptop))
    }
    assert laptop.press(asked["laptop"], "approve") == (204, "")
    over, posted = phone.hear()
    assert (posted.path, posted.headers["Topic"]) == ("/wpush/phone", by_path["/wpush/phone"].headers["Topic"])
    assert (over["is_over"], over["tag"]) == (True, asked["phone"]["tag"])
    assert (over["body"], over["buttons"], over["waiting"]) == ("Approved by ada (notification).", [], 0)
    assert phone.press(asked["phone"], "deny") == (409, phone.press(asked["phone"], "deny")[1])


def test_an_answer_is_told_unless_it_was_read(install: AppFixture, phone: Phone) -> None:
    """Also how one failed. What was asked on another surface is answered there, and what its person saw is no news."""
    install.plays["break"] = lambda scene: scene.fail("The budget is spent.")
    first = say(install, "hello")
    said, posted = phone.hear()
    assert (said["title"], said["body"]) == ("crab answered", "You said: hello")
    conversation = install.services.turns.get(first).conversation
    assert said["path"] == f"/agents/crab?conversation={conversation}#turn-{first}"
    assert (said["buttons"], "ask" in said, posted.headers["Urgency"]) == ([], False, "normal")
    say(install, "break")
    said, _ = phone.hear()
    assert (said["title"], said["body"]) == ("crab couldn’t finish", "The budget is spent.")
    install.services.push.watch._read_first_s = 3600.0
    install.services.turns.wait_for_end(say(install, "from a terminal", "terminal"), 10)
    seen = say(install, "seen")
    install.services.turns.wait_for_end(seen, 10)
    install.services.push.watch.look()
    install.services.read_marks.mark_read(KEY, seen)
    assert note(install, phone, f"turn:{seen}").state is NoteState.LATER
    make_due(install, phone, f"turn:{seen}")
    install.services.push.watch.look()
    settle(install, lambda: note(install, phone, f"turn:{seen}").state is NoteState.GONE)
    assert phone.service.is_quiet


def note(install: AppFixture, phone: Phone, ref: str) -> push_rows.PushNote:
    """What is known of it."""
    with install.app._store.reading() as db:
        found = push_rows.get_note(db, phone.device, ref)
    assert found is not None
    return found


def make_due(install: AppFixture, phone: Phone, ref: str) -> None:
    """Its time has come."""
    found = note(install, phone, ref)
    with install.app._store.writing() as db:
        push_rows.save_note(db, found, NoteState.LATER, is_over=found.is_over, tries=found.tries, due_at=0.0)


def settle(install: AppFixture, holds: Any) -> None:
    """Waits until it holds."""
    for _ in range(1000):
        if holds():
            return
        threading.Event().wait(0.01)
    raise AssertionError(install)


def test_a_question_has_its_choices_for_buttons(install: AppFixture, phone: Phone) -> None:
    """The answer is the choice itself."""

    def ask(scene: Scene) -> None:
        with install.app._store.writing() as db:
            questions = install.services.questions
            questions._ask_person(db, Caller(scene.key, scene.turn.id), Ask("Ship it?", ("Yes", "No"), False, None))
        settle(install, lambda: not install.services.questions.list_questions(status="pending"))
        scene.say("asked")

    install.plays["question"] = ask
    say(install, "question")
    said, _ = phone.hear()
    assert (said["title"], said["body"]) == ("crab asks you", "Ship it?")
    assert said["buttons"] == [["choice:0", "Yes"], ["choice:1", "No"]]
    assert phone.press(said, "choice:7")[0] == 400
    assert phone.press(said, "choice:1") == (204, "")
    answered = install.services.questions.list_questions()[0]
    assert (answered.answer, answered.answered_by) == ("No", "ada (notification)")


def test_a_device_chooses_what_it_is_told_and_how_much(install: AppFixture, phone: Phone) -> None:
    """Without words there is no Approve: nobody agrees to what they can't see."""
    change = {"tells": ["approvals"], "shows_text": False}
    headers = {"Origin": "http://localhost", "X-CSRF-Token": phone.browser.csrf}
    path = f"/api/push/devices/{phone.device}"
    assert phone.browser.client.patch(path, json=change, headers=headers).get_json()["tells"] == ["approvals"]
    assert phone.browser.client.patch(path, json={"tells": ["gossip"]}, headers=headers).status_code == 400
    install.services.turns.wait_for_end(say(install, "hello"), 10)
    say(install, "ask")
    said, _ = phone.hear()
    assert (said["title"], "rm -r" in str(said)) == ("crab needs your approval", False)
    assert said["buttons"] == [["open", "Review"], ["deny", "Deny"]]
    assert phone.press(said, "deny") == (204, "")


def test_a_device_goes_with_its_login(install: AppFixture, app: Flask, phone: Phone) -> None:
    """Logged out, password changed, given up by its browser (410), turned off: nothing is posted any more."""
    devices, users = install.services.push.devices, install.services.users
    users.log_out(phone.browser.session)
    assert devices.list_devices(1) == []
    second = turned_on(install, app, phone.service, "second")
    phone.service.statuses = [410]
    answer = second.browser.post(f"/api/push/devices/{second.device}/test", {})
    assert (answer.status_code, "Turn them on again" in answer.get_json()["error"]["message"]) == (503, True)
    phone.service.take()
    assert devices.list_devices(1) == []
    third = turned_on(install, app, phone.service, "third")
    users.set_password(1, "correct horse battery")
    assert devices.list_devices(1) == []
    install.services.turns.wait_for_end(say(install, "hello"), 10)
    install.services.push.watch.look()
    assert phone.service.is_quiet
    assert put(third.browser, third.push.subscription)[0] == 401


def test_a_service_that_is_away_is_asked_again(install: AppFixture, phone: Phone) -> None:
    """Later, a few times; what it refuses for good is said beside the device."""
    phone.service.statuses = [503, 201]
    turn = say(install, "hello")
    first, _ = phone.hear()
    settle(install, lambda: note(install, phone, f"turn:{turn}").state is NoteState.LATER)
    assert "503" in install.services.push.devices.list_devices(1)[0].trouble
    make_due(install, phone, f"turn:{turn}")
    install.services.push.watch.look()
    again, _ = phone.hear()
    assert (again["body"], again["tag"]) == (first["body"], first["tag"])
    settle(install, lambda: note(install, phone, f"turn:{turn}").state is NoteState.SENT)
    assert install.services.push.devices.list_devices(1)[0].trouble == ""
    phone.service.statuses = [403]
    refused = say(install, "once more")
    phone.hear()
    settle(install, lambda: note(install, phone, f"turn:{refused}").state is NoteState.GONE)
    settle(install, lambda: "403" in install.services.push.devices.list_devices(1)[0].trouble)


def test_only_a_browsers_own_address_is_taken(install: AppFixture, app: Flask, phone: Phone) -> None:
    """No other host, no odd keys, nobody else's address, not more than a few, and no API token."""
    browser = logged_in(install, app, install.services.users.get_operator())
    fine = phone.service.subscribe("another").subscription
    assert put(browser, {**fine, "endpoint": "https://evil.test/x"})[0] == 400
    assert put(browser, {**fine, "endpoint": "http://127.0.0.1:1/x"})[0] == 400
    assert put(browser, {**fine, "keys": {"p256dh": "AAAA", "auth": "AAAA"}})[0] == 400
    assert put(browser, {**fine, "keys": "none"})[0] == 400
    assert put(browser, {**fine, "endpoint": phone.push.endpoint})[0] == 409
    assert put(browser, phone.push.subscription)[0] == 200  # the same browser, logged in anew
    assert [device.session for device in install.services.push.devices.list_devices(1)] == [
        install.services.users.login_of(browser.session)
    ]
    for n in range(MOST_DEVICES - 1):
        turned_on(install, app, phone.service, f"n{n}")
    last = logged_in(install, app, install.services.users.get_operator())
    assert put(last, phone.service.subscribe("last").subscription)[0] == 429


def test_another_person_is_told_nothing(install: AppFixture, app: Flask, phone: Phone) -> None:
    """Devices are one's own: neither told of, nor changed or removed by others."""
    ben = install.services.users.add({"name": "ben"})
    theirs = logged_in(install, app, ben)
    assert put(theirs, phone.service.subscribe("ben").subscription)[0] == 200
    headers = {"Origin": "http://localhost", "X-CSRF-Token": theirs.csrf}
    assert theirs.client.delete(f"/api/push/devices/{phone.device}", headers=headers).status_code == 404
    assert [device["is_this"] for device in theirs.client.get("/api/push").get_json()["devices"]] == [True]
    say(install, "hello")
    assert phone.hear()[1].path == "/wpush/phone"
    install.services.push.watch.look()
    assert phone.service.is_quiet


def test_a_death_before_or_after_sending_loses_nothing(tmp_path: Path, service: PushService) -> None:
    """What was written down and not sent is sent at the next start; what was sent and not written down is sent again,
    in the place of the first. Devices stay turned on."""
    environment = {"HERMIT_PUSH_HOSTS": service.origin}
    with run_app(tmp_path, environment=environment) as install:
        phone = turned_on(install, create_app(install.services), service, "phone")
        install.services.push.watch._read_first_s = 0.0
        install.services.push.close()
        install.app._capabilities.jobs.close()
        turn = say(install, "hello")
        install.services.turns.wait_for_end(turn, 10)
        install.services.push.watch.look()  # due at once ...
        install.services.push.watch.look()  # ... and taken up
        assert note(install, phone, f"turn:{turn}").state is NoteState.QUEUED
        assert service.is_quiet
    with run_app(tmp_path, environment=environment) as install:
        said, first = phone.hear()
        settle(install, lambda: note(install, phone, f"turn:{turn}").state is NoteState.SENT)
        install.app._capabilities.jobs.close()
        with install.app._store.writing() as db:
            found = note(install, phone, f"turn:{turn}")
            push_rows.save_note(db, found, NoteState.QUEUED, is_over=False, tries=0)
            job = job_rows.insert_job(db, JOB, KEY, None, {"device": phone.device, "ref": found.ref}, now=0.0)
            assert job_rows.begin_job(db, job.id, 0.0)
    with run_app(tmp_path, environment=environment) as install:
        again, second = phone.hear()
        assert (again["tag"], second.headers["Topic"]) == (said["tag"], first.headers["Topic"])
        settle(install, lambda: note(install, phone, f"turn:{turn}").state is NoteState.SENT)
        settle(install, lambda: _list_push_jobs(install) == [])
    assert service.is_quiet


def _list_push_jobs(install: AppFixture) -> list[Job]:
    with install.app._store.reading() as db:
        return job_rows.list_jobs(db, JOB)
