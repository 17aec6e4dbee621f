"""Sending one note to one device, as a job: what it says is read in that moment, encrypted for the device, and posted
to its push service. A death in between sends it again, under the same topic and tag: the device shows it once.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.agents.users import Users
from orchestrator.channels.push import lazy_crypto, push_rows
from orchestrator.channels.push.devices import decode_key
from orchestrator.channels.push.hosts import PushHosts
from orchestrator.channels.push.push_rows import NoteState, PushDevice, PushNote
from orchestrator.channels.push.subjects import PushSubjects
from orchestrator.channels.push.texts import PushText
from orchestrator.channels.push.tickets import PushTickets
from orchestrator.channels.push.watch import JOB
from orchestrator.core.db.database import Store
from orchestrator.core.errors import OrchestratorError, Unavailable
from orchestrator.core.home import Home
from orchestrator.jobs.kinds import JobKind, Running
from orchestrator.web.exchange import ServiceAnswer, send_request
from orchestrator.web.limits import Internet

logger = logging.getLogger(__name__)

PAUSES_S = (5.0, 20.0, 60.0, 300.0, 900.0)
"""Between one try and the next; then it is given up."""
_GONE = (404, 410)
_AWAY = (408, 425, 429)
_NOBODY = "mailto:operator@hermitshell.invalid"


class PushSender:
    """Posts notes to push services."""

    def __init__(
        self,
        store: Store,
        home: Home,
        users: Users,
        subjects: PushSubjects,
        *,
        hosts: PushHosts,
        internet: Internet,
        contact: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        """``contact`` is the https address that push services are given; without one, nobody."""
        self._store, self._home, self._users, self._subjects = store, home, users, subjects
        self._hosts, self._internet, self._now = hosts, internet, now
        self._contact = contact if contact.startswith("https://") else _NOBODY
        self._tickets = PushTickets(home.link_key)

    @property
    def kind(self) -> JobKind:
        """The job."""
        return JobKind(JOB, self._send_note, time_s=60.0, at_once=4, per_cubicle=4)

    def send_test(self, device: PushDevice) -> None:
        """Send something now. Raises Unavailable with a sentence where the push service did not take it."""
        answer = self._post(device, self._subjects.write_test(device), {"kind": "test"})
        if problem := _problem(device, answer):
            self._note_trouble(device, answer.status, problem)
            raise Unavailable(problem)
        with self._store.writing() as db:
            push_rows.mark_reached(db, device.id, self._now())

    def public_key(self) -> str:
        """What browsers subscribe with."""
        return lazy_crypto.load_vapid_key(self._home).public

    def _send_note(self, running: Running) -> Mapping[str, Any] | None:
        job, ref = running.job, str(running.job.payload["ref"])
        with self._store.reading() as db:
            device = push_rows.get_device(db, str(job.payload["device"]), self._now())
            note = None if device is None else push_rows.get_note(db, device.id, ref)
        if device is None or note is None or note.state is not NoteState.QUEUED:
            return {}
        text = None if note.is_over else self._subjects.write_text(ref, device)
        if text is None and (note.is_over or (job.tries and _is_asked(ref))):
            text = self._subjects.write_end(ref, device)  # a death may have come right after it was sent
        if text is None:
            self._save(note, NoteState.GONE)
            return {}
        self._settle(device, note, text, self._try_post(device, ref, text))
        return {}

    def _try_post(self, device: PushDevice, ref: str, text: PushText) -> ServiceAnswer | str:
        """The answer, or why there is none."""
        more: dict[str, Any] = {"kind": ref.partition(":")[0]}
        if text.buttons:
            more["ask"] = {"device": device.id, "ref": ref, "ticket": self._tickets.make_ticket(device.id, ref)}
        try:
            return self._post(device, text, more)
        except OrchestratorError as error:
            return error.message

    def _post(self, device: PushDevice, text: PushText, more: Mapping[str, Any]) -> ServiceAnswer:
        link, rules = self._hosts.read_endpoint(device.endpoint)
        said = {
            "tag": text.tag,
            "title": text.title,
            "body": text.body,
            "path": text.path,
            "buttons": [list(button) for button in text.buttons],
            "is_over": text.is_over,
            "waiting": self._subjects.count_waiting(self._users.get(device.user)),
            **more,
        }
        if words := self._subjects.list_worker_texts(device):
            said["texts"] = words
        body = lazy_crypto.encrypt_message(
            json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode(),
            p256dh=decode_key(device.p256dh),
            auth=decode_key(device.auth),
        )
        key = lazy_crypto.load_vapid_key(self._home)
        origin = f"{link.scheme}://{link.authority}"
        headers = {
            "Authorization": key.build_header(origin, subject=self._contact, now=self._now()),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(text.ttl_s),
            "Urgency": text.urgency,
            "Topic": text.topic,
        }
        return send_request("POST", link, headers, body, rules=rules, internet=self._internet)

    def _settle(self, device: PushDevice, note: PushNote, text: PushText, answer: ServiceAnswer | str) -> None:
        """Write down what became of it."""
        if isinstance(answer, ServiceAnswer) and 200 <= answer.status < 300:
            with self._store.writing() as db:
                push_rows.mark_reached(db, device.id, self._now())
                latest = push_rows.get_note(db, device.id, note.ref)
                if latest is None or latest.state is not NoteState.QUEUED:
                    return
                if latest.is_over and not text.is_over:  # it was decided while this was on its way
                    push_rows.save_note(db, note, NoteState.LATER, is_over=True, tries=0, due_at=self._now())
                else:
                    push_rows.save_note(db, note, NoteState.SENT, is_over=latest.is_over, tries=note.tries)
            return
        problem = answer if isinstance(answer, str) else _problem(device, answer)
        status = 0 if isinstance(answer, str) else answer.status
        is_away = status == 0 or status in _AWAY or status >= 500
        if is_away and note.tries < len(PAUSES_S):
            asked_s = 0.0 if isinstance(answer, str) else answer.retry_after_s
            self._save(note, NoteState.LATER, after_s=max(PAUSES_S[note.tries], asked_s))
        else:
            self._save(note, NoteState.GONE)
        self._note_trouble(device, status, problem)

    def _save(self, note: PushNote, state: NoteState, *, after_s: float = 0.0) -> None:
        due_at = self._now() + after_s if state is NoteState.LATER else None
        with self._store.writing() as db:
            latest = push_rows.get_note(db, note.device, note.ref)
            if latest is not None and latest.state is NoteState.QUEUED:
                push_rows.save_note(db, note, state, is_over=latest.is_over, tries=note.tries + 1, due_at=due_at)

    def _note_trouble(self, device: PushDevice, status: int, problem: str) -> None:
        logger.info("a notification was not taken: %s", problem)
        with self._store.writing() as db:
            if status in _GONE:
                push_rows.delete_device(db, device.id)
            else:
                push_rows.set_trouble(db, device.id, problem)


def _is_asked(ref: str) -> bool:
    return ref.startswith(("approval:", "question:"))


def _problem(device: PushDevice, answer: ServiceAnswer) -> str:
    """Why it did not get there; empty where it did."""
    host, status = device.endpoint.partition("://")[2].partition("/")[0], answer.status
    if 200 <= status < 300:
        return ""
    if status in _GONE:
        return "The browser gave its address for notifications up. Turn them on again on that device."
    if status in _AWAY or status >= 500:
        return f"{host} takes no notifications now (status {status}). HermitShell tries again by itself."
    return f"{host} refused a notification (status {status}). Turn them off and on again on that device."
