"""What goes on in the install, followed for all tabs at once: one stream of news, and a look now and then, for news may
be lost. Tells turns in their tabs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.cli.changed_files import count_files
from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.cli.event_stream import EventStream
from orchestrator.cli.follow import ENDED
from orchestrator.cli.talk import pieces
from orchestrator.cli.talk.desk import Desk
from orchestrator.cli.talk.story import Story
from orchestrator.cli.talk.tabs import Tab
from orchestrator.core.errors import OrchestratorError, Unavailable
from orchestrator.core.text import one_line

_AGAIN_S = 2.0
"""How soon a broken line of news is opened anew."""
_LOOK_S = 1.0
"""How often one looks nevertheless while an agent works."""
_PATIENCE_S = 4.0
"""How long a file may take to be delivered after its turn."""
_PAGE = 200
_LAST = 20
"""Turns of a conversation that is opened: they come with all that their commands printed."""


class Watch:
    """One for the whole chat."""

    def __init__(self, desk: Desk, *, when_asked: Callable[[], None]) -> None:
        self._desk = desk
        self._when_asked = when_asked
        self._news: EventStream | None = None
        self._looking: set[int] = set()
        self._look_again: set[int] = set()
        self._begun_at: dict[int, float] = {}

    # --- news ------------------------------------------------------------------------------------------------------

    async def follow_news(self) -> None:
        """For as long as the chat is open."""
        while True:
            news = await self._desk.call(lambda client: client.open_events().__enter__())
            self._news = news
            await self._read_news(news)
            self._desk.is_live = False
            self._desk.changed.set()
            await self._desk.call(lambda _: news.__exit__())  # noqa: B023  # it is called before there is another
            await asyncio.sleep(_AGAIN_S)

    async def look_now_and_then(self) -> None:
        """While an agent works; a clock ticks on the screen meanwhile."""
        while True:
            await asyncio.sleep(_LOOK_S)
            open_turns = [story.turn for tab in self._desk.tabs.all for story in tab.open_stories]
            for turn in open_turns:
                self.look(turn)
            if open_turns:
                self._when_asked()
                self._desk.changed.set()

    def close(self) -> None:
        """The line is hung up."""
        if self._news is not None:
            self._news.__exit__()

    async def _read_news(self, news: EventStream) -> None:
        while True:
            event = await self._desk.call(lambda _: news.next_event(1.0))
            if event is not None:
                self._take_event(*event)
            elif not news.is_live:
                return
            if news.is_live and not self._desk.is_live:
                self._desk.is_live = True
                self._desk.changed.set()
                self._when_asked()

    def _take_event(self, kind: str, body: dict[str, Any]) -> None:
        found = self._desk.tabs.find_turn(int(body.get("turn") or 0))
        if kind == "delta" and found:
            self._desk.tell(found[0], *found[1].grow(str(body.get("text", ""))))
        elif kind == "output" and found:
            found[1].print_output(int(body.get("n", 0)), str(body.get("output", "")))
            self._desk.changed.set()
        elif kind in ("turn", "step") and found:
            self.look(found[1].turn)
        elif kind == "turn":
            self._meet_turn(body)
        elif kind in ("approval", "question", "asset", "notice"):
            self._when_asked()
        elif kind in ("conversation", "agent", "files") and (tab := self._desk.tabs.find(str(body.get("agent")))):
            self._desk.begin(self.refresh_facts(tab))

    def _meet_turn(self, body: Mapping[str, Any]) -> None:
        """A turn that nobody here knows: perhaps it was begun elsewhere, in a conversation that stands here."""
        tab = self._desk.tabs.find(str(body.get("agent")))
        if tab is None or body.get("user") != self._desk.me or "prompt" not in body:
            return
        if tab.sending:
            tab.unclaimed.append(body)
        elif body.get("conversation") == tab.conversation and body["status"] not in ENDED:
            self.adopt(tab, body)

    def adopt(self, tab: Tab, turn: Mapping[str, Any]) -> None:
        """Tell a turn that was begun elsewhere."""
        story = self.begin_story(tab, turn)
        where = {"calendar": "from the calendar", "dashboard": "from the dashboard", "telegram": "from Telegram"}
        self._desk.tell(tab, pieces.message_said(story.prompt, how=where.get(str(turn["source"]), "from elsewhere")))

    # --- turns -----------------------------------------------------------------------------------------------------

    def begin_story(self, tab: Tab, turn: Mapping[str, Any]) -> Story:
        """This turn is told in the tab from now on."""
        number = int(turn["turn"])
        story = tab.stories.setdefault(number, Story(number, prompt=turn["prompt"]))
        self._begun_at[number] = time.monotonic()
        self.look(number)
        return story

    def seconds_of(self, tab: Tab) -> float | None:
        """How long the turn that is under way there has been told."""
        stories = tab.open_stories
        return time.monotonic() - self._begun_at[stories[0].turn] if stories else None

    def look(self, turn: int) -> None:
        """Soon; once more if a look is on its way already."""
        if turn in self._looking:
            self._look_again.add(turn)
        else:
            self._looking.add(turn)
            self._desk.begin(self._look_until_still(turn))

    async def look_at(self, turn: int) -> None:
        """Tell what is new in it. Raises what the API refuses with."""
        body: dict[str, Any] = await self._desk.call(lambda client: client.get(f"/turns/{turn}"))
        found = self._desk.tabs.find_turn(turn)
        if found is None:
            return
        tab, story = found
        was_over = story.is_over
        self._desk.tell(tab, *story.tell(body))
        tab.spent[turn] = (story.tokens, story.cost_usd)
        if body["steps"] and body["steps"][-1]["status"] == "running":
            self._when_asked()  # a command may ask something
        if story.is_over and not was_over:
            self._end_story(tab, body)

    async def _look_until_still(self, turn: int) -> None:
        try:
            while True:
                self._look_again.discard(turn)
                try:
                    await self.look_at(turn)
                except Unavailable:  # a restart of the orchestrator is waited out: the next tick looks again
                    return
                except OrchestratorError:  # it was deleted
                    if found := self._desk.tabs.find_turn(turn):
                        found[1].abandon()
                    return
                if turn not in self._look_again:
                    return
        finally:
            self._looking.discard(turn)

    def _end_story(self, tab: Tab, turn: Mapping[str, Any]) -> None:
        tab.last_turn = turn
        tab.code = {"done": 0, "stopped": 130}.get(turn["status"], 1)
        tab.has_news = tab is not self._desk.tabs.current
        self._when_asked()
        self._desk.begin(self._tell_what_came(tab, turn))

    async def _tell_what_came(self, tab: Tab, turn: Mapping[str, Any]) -> None:
        """Files that were delivered, and what can be taken back."""
        number = turn["turn"]
        await self._tell_delivered(tab, number)
        try:
            plan = await self._desk.call(lambda client: client.get(f"/turns/{number}/undo"))
            if plan["total"] and plan["undone_at"] is None:
                changed = f"{count_files(plan['total'])} changed: /diff shows what, /undo takes it back."
                self._desk.tell(tab, pieces.note(changed))
        except OrchestratorError:  # nothing is known of its files
            pass
        await self.refresh_facts(tab)
        if tab is self._desk.tabs.current:
            await self.mark_seen(tab)

    async def _tell_delivered(self, tab: Tab, turn: int) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        path = agent_path(tab.agent, "/deliveries")
        while True:
            found = await self._desk.call(lambda client: client.get(path, turn=turn))
            if not found["settling"] or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.1)
        for delivery in found["deliveries"]:
            if delivery["url"] is None:
                self._desk.tell(tab, pieces.note(one_line(delivery["why"] or delivery["file"], 500), "yellow"))
                continue
            size, caption = format_size(delivery["size"]), delivery["caption"]
            said = f"{delivery['file']} ({size}){f' {caption}' if caption else ''}"
            self._desk.tell(tab, pieces.note(one_line(f"⇩ {said}   /get {delivery['path']}", 500), "green"))

    # --- what is known of agents and conversations -----------------------------------------------------------------

    async def open_conversation(self, tab: Tab) -> None:
        """What was said last stands there, and what goes on is told. Raises what the API refuses with."""
        await self.refresh_facts(tab)
        history = await self._desk.call(
            lambda client: client.get(agent_path(tab.agent, "/history"), limit=_LAST, conversation=tab.conversation)
        )
        turns = history["turns"]
        tab.has_more = history["next"] is not None
        tab.spent = {turn["turn"]: (turn["tokens"], turn["cost_usd"]) for turn in turns}
        ended = [turn for turn in turns if turn["status"] in ENDED]
        if ended:
            tab.last_turn = ended[-1]
            story = Story(ended[-1]["turn"], prompt=ended[-1]["prompt"])
            self._desk.tell(tab, pieces.message_said(story.prompt), *story.tell({**ended[-1], "steps": []}))
        for turn in turns:
            if turn["status"] not in ENDED:
                self.adopt(tab, turn)
        self._when_asked()

    async def refresh_facts(self, tab: Tab) -> None:
        """Its settings, its budget, its conversations and its files, as they are now."""
        agent, wanted = tab.agent, tab.conversation

        def read(client: ApiClient) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
            facts = dict(client.get(agent_path(agent)))
            if not facts.get("model"):
                facts["default_model"] = client.get("/models")["default"]
            conversations = client.get(agent_path(agent, "/conversations"), limit=_PAGE)["conversations"]
            return facts, conversations, client.get(agent_path(agent, "/files/out"), limit=_PAGE)["entries"]

        tab.facts, conversations, entries = await self._desk.call(read)
        here = [one for one in conversations if (one["id"] == wanted if wanted else one["is_first"])]
        if here and tab.conversation in (None, here[0]["id"]):
            tab.conversation, tab.name = here[0]["id"], here[0]["name"]
        tab.listed["switch"] = [(str(one["id"]), one["name"]) for one in conversations]
        files = [f"out/{entry['name']}" for entry in entries if entry["kind"] == "file"]
        tab.listed["get"] = [(file, "") for file in files]
        self._desk.changed.set()

    async def forget_last(self, tab: Tab) -> None:
        """The newest turn of the conversation is another one now."""
        history = await self._desk.call(
            lambda client: client.get(agent_path(tab.agent, "/history"), limit=1, conversation=tab.conversation)
        )
        tab.last_turn = history["turns"][-1] if history["turns"] else None
        await self.refresh_facts(tab)

    async def mark_seen(self, tab: Tab) -> None:
        """Somebody has looked at it."""
        tab.has_news = False
        if tab.last_turn is not None:
            body = {"turn": tab.last_turn["turn"]}
            await self._desk.call(lambda client: client.put(agent_path(tab.agent, "/seen"), body))
