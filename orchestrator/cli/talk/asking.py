"""What waits for the person: approvals and questions become cards in their tabs, and what is decided goes to the API.
A card that was decided elsewhere goes by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from orchestrator.cli.client import ApiClient
from orchestrator.cli.questions import pick_choice
from orchestrator.cli.talk import pieces
from orchestrator.cli.talk.cards import Card, approval_card, question_card
from orchestrator.cli.talk.changes import read_changes
from orchestrator.cli.talk.desk import Desk
from orchestrator.cli.talk.tabs import Tab
from orchestrator.cli.talk.watch import Watch
from orchestrator.core.errors import OrchestratorError, Unavailable

WHY = "d "
"""What stands before the words of a no."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An approval or a question that is open."""

    body: Mapping[str, Any]
    is_approval: bool


class Asking:
    """For all tabs."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.watch: Watch | None = None
        """Tells what led to a question, before it is asked."""
        self._is_looking = self._is_to_look_again = False
        self._decided: set[str] = set()
        """Cards that were answered here."""

    def look(self) -> None:
        """Soon: is something asked, or decided?"""
        if self._is_looking:
            self._is_to_look_again = True
        else:
            self._is_looking = True
            self._desk.begin(self._look_until_still())

    async def _look_until_still(self) -> None:
        try:
            while True:
                self._is_to_look_again = False
                try:
                    await self._look_once()
                except Unavailable:
                    return
                if not self._is_to_look_again:
                    return
        finally:
            self._is_looking = False

    async def _look_once(self) -> None:
        waiting = await self._read_waiting()
        elsewhere = {}
        for one in waiting.values():
            found = self._desk.tabs.find_turn(int(one.body["turn"] or 0))
            if any(card.id == one.body["id"] for tab in self._desk.tabs.all for card in tab.cards):
                continue
            if found is None or one.body["id"] in self._desk.parked:
                elsewhere[one.body["id"]] = str(one.body["agent"])
            elif one.body["id"] not in self._decided:
                await self._add_card(found[0], one)
        self._desk.elsewhere = elsewhere
        for tab in self._desk.tabs.all:
            for card in [card for card in tab.cards if card.id not in waiting and not card.id.startswith("/")]:
                tab.cards.remove(card)
                if card.is_printed and card.id not in self._decided:
                    self._desk.tell(tab, pieces.note("It was decided elsewhere."))
        self._desk.changed.set()

    async def _read_waiting(self) -> dict[str, _Waiting]:
        """All that waits for this person."""

        def read(client: ApiClient) -> list[_Waiting]:
            approvals = client.get("/approvals", status="pending")["approvals"]
            questions = client.get("/questions", status="pending")["questions"]
            return [*(_Waiting(one, True) for one in approvals), *(_Waiting(one, False) for one in questions)]

        found = await self._desk.call(read)
        return {str(one.body["id"]): one for one in found if one.body["user"] == self._desk.me}

    async def _add_card(self, tab: Tab, one: _Waiting) -> None:
        if any(card.id == one.body["id"] for card in tab.cards):
            return
        if self.watch is not None:  # what led to it, and what was printed before, stands above it
            await self.watch.look_at(int(one.body["turn"]))
        if not any(card.id == one.body["id"] for card in tab.cards):
            self._add_now(tab, one)

    def _add_now(self, tab: Tab, one: _Waiting) -> None:
        async def act(said: str) -> None:
            await (self._decide if one.is_approval else self._answer)(tab, card, one.body, said)

        card = (
            approval_card(one.body, act) if one.is_approval else question_card({**one.body, "agent": tab.called}, act)
        )
        tab.cards.append(card)
        self._desk.changed.set()

    async def show_all(self, tab: Tab) -> int:
        """Whatever waits, also elsewhere and what was put off, is asked here now; how much that is."""
        waiting = await self._read_waiting()
        self._desk.parked.clear()
        shown = {card.id for each in self._desk.tabs.all for card in each.cards}
        for one in waiting.values():
            if one.body["id"] not in shown | self._decided:
                self._add_now(tab, one)
        return len(waiting)

    def park(self, tab: Tab, card: Card) -> None:
        """Later, then."""
        tab.cards.remove(card)
        if not card.id.startswith("/"):
            self._desk.parked.add(card.id)
            verb = "answer" if card.line else "approve"
            self._desk.tell(tab, pieces.note(f"Later, then: /asked, or ./hermit {verb} {card.id}"))
            self.look()

    # --- answers ---------------------------------------------------------------------------------------------------

    async def _decide(self, tab: Tab, card: Card, approval: Mapping[str, Any], said: str) -> None:
        if said == "c":
            turn = int(approval["turn"])
            lines = await self._desk.call(lambda client: read_changes(client, str(approval["agent"]), turn))
            self._desk.tell(tab, pieces.diff_lines(lines) if lines else pieces.note("Nothing has changed so far."))
            return
        decision: dict[str, Any] = {"decision": "approve" if said in ("y", "a") else "deny"}
        decision |= {"scope": "conversation"} if said == "a" else {}
        why = said.removeprefix(WHY).strip() if said.startswith(WHY) else ""
        decision |= {"note": why} if why else {}
        await self._send_answer(tab, card, f"/approvals/{card.id}", decision)
        words = {"y": "Yes.", "a": "Yes, and its kind for this conversation."}
        no = f"No: {why}" if why else "No."
        self._desk.tell(tab, pieces.note(words.get(said, no), "green" if said in words else "yellow"))

    async def _answer(self, tab: Tab, card: Card, question: Mapping[str, Any], said: str) -> None:
        answer = pick_choice(question, said.strip())
        try:
            await self._send_answer(tab, card, f"/questions/{quote(card.id, safe='')}", {"answer": answer})
        except Unavailable:
            raise
        except OrchestratorError as error:
            self._desk.tell(tab, pieces.note(error.message, "yellow"))
            waiting = await self._read_waiting()
            if card.id in waiting:  # it can be answered yet
                card.guard = None
                tab.cards.insert(0, card)
                self._desk.changed.set()
            return
        self._desk.tell(tab, pieces.note(f"You answered: {answer}", "green"))

    async def _send_answer(self, tab: Tab, card: Card, path: str, body: dict[str, Any]) -> None:
        """The card goes first, so that nothing is answered twice."""
        self._decided.add(card.id)
        if card in tab.cards:
            tab.cards.remove(card)
        self._desk.changed.set()
        try:
            await self._desk.call(lambda client: client.post(path, body))
        except OrchestratorError:  # it may be open yet: then it is asked again
            self._decided.discard(card.id)
            self.look()
            raise
