"""What people do in a run of the chaos suite: they say things, put entries into the calendar, answer questions and stop
turns. Each is tried as a good client would: what had no clear answer is sent again later, under the same key."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Any

import requests

from tests.chaos.cases import APPROVE, LEAVE, Case, Cases
from tests.chaos.install import MISER_USD, Install
from tests.chaos.plan import Deed
from tests.chaos.record import Record

PATIENCE_S = 4.0
"""So long a client waits for an answer."""
_ASKED = re.compile(r"ran-(case-\w+)")


class People:
    """Everybody who talks to the install. May be called from several threads."""

    def __init__(self, install: Install, cases: Cases, record: Record) -> None:
        self._install = install
        self._cases = cases
        self._record = record
        self._unclear: dict[str, Case] = {}
        self._unclear_entries: dict[str, float] = {}

    def do(self, deed: Deed) -> None:
        """One deed of the plan that is not a fault."""
        if deed.kind == "say":
            self.say(self._cases.by_name[deed.what])
        elif deed.kind == "enter":
            self._enter(self._cases.by_name[deed.what], deed.for_s)
        elif deed.kind == "stop":
            self._stop(deed.pick)
        else:
            self._call("PATCH", "/agents/miser", {"daily_budget_usd": MISER_USD * 2})

    def say(self, case: Case) -> None:
        """A message, by phone or by API."""
        self._record.note(lambda: self._record.said.setdefault(case.name, None))
        if case.surface == "telegram":
            message = self._install.people[case.person].says(self._install.bot_of[case.agent], case.prompt)
            self._record.note(lambda: self._record.phoned.setdefault(case.name, int(message["message_id"])))
            return
        path, body = f"/agents/{case.agent}/messages", {"text": case.prompt, "wait": False}
        answer = self._call("POST", path, body, key=case.name)
        if answer is None or answer.status_code >= 500:
            self._unclear[case.name] = case
            return
        assert answer.status_code == 202, answer.text
        turn = int(answer.json()["turn"])
        self._unclear.pop(case.name, None)
        self._record.note(lambda: self._record.said.update({case.name: turn}))

    def say_again(self) -> bool:
        """What had no clear answer is sent again; True when nothing is left of it."""
        for case in list(self._unclear.values()):
            self.say(case)
        for name, after_s in list(self._unclear_entries.items()):
            self._enter(self._cases.by_name[name], after_s)
        return not self._unclear and not self._unclear_entries

    def repeat_all(self) -> list[str]:
        """Every message of the API once more, under its old key: complaints about those that made another turn."""
        found = []
        for name, turn in sorted(self._record.said.items()):
            if turn is not None:
                self.say(self._cases.by_name[name])
                if self._record.said[name] != turn:
                    found.append(f"{name} was turn {turn}, and {self._record.said[name]} when it was sent again")
        return found

    def decide(self) -> None:
        """Answer every open question as its case says, here by a button, there by the API, sometimes by both."""
        answer = self._call("GET", "/approvals?status=pending")
        for asked in answer.json()["approvals"] if answer is not None and answer.ok else ():
            found = _ASKED.search(asked["text"])
            case = self._cases.by_name.get(found[1]) if found else None
            if case is None or case.decision == LEAVE:
                continue
            number = sum(map(ord, case.name))
            is_pressed = case.surface == "telegram" and number % 3 != 0 and self._press(case)
            if is_pressed and number % 3 == 1:
                continue
            for _ in range(1 + number % 2):
                done = self._call("POST", f"/approvals/{asked['id']}", {"decision": case.decision})
                self._decided(case, f"API {case.decision}: {'no answer' if done is None else done.status_code}")

    # --- beneath -----------------------------------------------------------------------------------------------

    def _press(self, case: Case) -> bool:
        """The button under the question, if it is there yet."""
        person, bots = self._install.people[case.person], self._install.bots
        for message in reversed(bots.messages(person, bot=self._install.bot_of[case.agent])):
            if f"ran-{case.name};" in str(message.get("text", "")) and message.get("reply_markup", {}).get(
                "inline_keyboard"
            ):
                person.presses(message, "Approve" if case.decision == APPROVE else "Deny")
                self._decided(case, f"pressed {case.decision}")
                return True
        return False

    def _decided(self, case: Case, how: str) -> None:
        self._record.note(lambda: self._record.decided.setdefault(case.name, []).append(how))

    def _enter(self, case: Case, after_s: float) -> None:
        path = f"/agents/{case.agent}/calendar"
        self._record.note(lambda: self._record.entered.add(case.name))
        if case.name in self._unclear_entries:
            there = self._call("GET", path)
            if there is None or not there.ok:
                return
            if any(entry["title"] == case.title for entry in there.json()["entries"]):
                del self._unclear_entries[case.name]
                return
        start = datetime.fromtimestamp(time.time() + after_s, UTC).isoformat(timespec="seconds")
        answer = self._call("POST", path, {"title": case.title, "prompt": case.prompt, "start": start})
        if answer is None or answer.status_code >= 500:
            self._unclear_entries[case.name] = after_s
            return
        assert answer.status_code == 201, answer.text
        self._unclear_entries.pop(case.name, None)

    def _stop(self, pick: float) -> None:
        turns = sorted(turn for turn in self._record.said.values() if turn is not None)
        if pick < 0.5 or not turns:
            self._install.people["ada"].says(self._install.bot_of["crab"], "/stop")
            return
        self._call("POST", f"/turns/{turns[-1]}/stop")

    def _call(
        self, method: str, path: str, body: dict[str, Any] | None = None, *, key: str = ""
    ) -> requests.Response | None:
        """The answer; None when there was none."""
        headers = {"Authorization": f"Bearer {self._install.token}", **({"Idempotency-Key": key} if key else {})}
        url = f"http://127.0.0.1:{self._install.port}/api{path}"
        with requests.Session() as session:
            session.trust_env = False
            try:
                return session.request(method, url, json=body, headers=headers, timeout=PATIENCE_S)
            except requests.RequestException:
                return None
