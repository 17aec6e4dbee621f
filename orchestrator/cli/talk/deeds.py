"""What the chat's ``/`` commands do, and the sending of messages. Each speaks to the API through the desk and tells its
outcome in its tab."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.cli.changed_files import count_files
from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.cli.files import fetch_file, remote_path
from orchestrator.cli.follow import ENDED
from orchestrator.cli.talk import pieces
from orchestrator.cli.talk.asking import Asking
from orchestrator.cli.talk.cards import yes_card
from orchestrator.cli.talk.changes import read_changes
from orchestrator.cli.talk.desk import Desk
from orchestrator.cli.talk.dropped import MOST_FILES, LocalFile
from orchestrator.cli.talk.slash import COMMANDS, expand_path
from orchestrator.cli.talk.tabs import Tab
from orchestrator.cli.talk.watch import Watch
from orchestrator.cli.undo import preview_undo, tell_undone
from orchestrator.cli.upload import upload_file
from orchestrator.core.errors import BadInput, NotFound
from orchestrator.core.text import one_line
from orchestrator.files.names import safe_name

Deed = Callable[[Tab, str], Awaitable[None]]
_KEYS = (
    "Enter sends, Alt+Enter or \\ at the end of a line begins a new one, Ctrl+X Ctrl+E opens your editor",
    "Esc or Ctrl+C stops the agent, Ctrl+D leaves; Up and Ctrl+R find what you typed before",
    "Ctrl+N or Alt+1 … 9 goes to another tab",
    "A file that you drop onto the terminal goes along with the next message",
)


class Deeds:
    """One for the whole chat."""

    def __init__(self, desk: Desk, watch: Watch, asking: Asking) -> None:
        self._desk = desk
        self._watch = watch
        self._asking = asking
        self.by_name: dict[str, Deed] = {
            "help": self._show_help,
            "new": self._begin_conversation,
            "conversations": self._list_conversations,
            "switch": self._switch_conversation,
            "rename": self._rename_conversation,
            "agents": self._list_agents,
            "files": self._list_files,
            "get": self._get_file,
            "send": self._attach_file,
            "detach": self._detach_files,
            "diff": self._show_diff,
            "undo": self._ask_undo,
            "retry": self._ask_again,
            "stop": self.stop_turns,
            "asked": self._show_asked,
            "model": self._choose_model,
            "export": self._export_conversation,
            "clear": self._ask_clear,
        }
        """Those that need nothing of the screen."""

    # --- messages --------------------------------------------------------------------------------------------------

    async def send_message(self, tab: Tab, text: str) -> None:
        """What was typed, with the files that are attached; or the last message again with other words."""
        files, editing = tuple(tab.files), tab.editing
        tab.files, tab.editing = [], None
        how = ", ".join(file.label for file in files)
        self._desk.tell(tab, pieces.person_said(text, how=f"with {how}" if how else ""))
        try:
            if editing is not None:
                await self._branch(tab, {"turn": editing, "text": text})
                return
            paths = [await self._upload(tab, file) for file in files]
            body = {"text": text, "files": paths, "wait": False, "conversation": tab.conversation}
            await self._begin_turn(tab, agent_path(tab.agent, "/messages"), body, text)
        except BaseException:
            tab.files = [*files, *tab.files] if files else tab.files
            raise

    async def _upload(self, tab: Tab, file: LocalFile) -> str:
        stored = await self._desk.call(lambda client: upload_file(client, tab.agent, file.path, shows_progress=False))
        return str(stored["path"])

    async def _branch(self, tab: Tab, body: dict[str, Any]) -> None:
        path = agent_path(tab.agent, f"/conversations/{tab.conversation}/branch")
        await self._begin_turn(tab, path, body, str(body.get("text", "")))

    async def _begin_turn(self, tab: Tab, path: str, body: dict[str, Any], text: str) -> None:
        tab.sending += 1
        try:
            turn = await self._desk.call(lambda client: client.post(path, body))
            self._watch.begin_story(tab, {**turn, "prompt": text})
        finally:
            tab.sending -= 1
            unclaimed, tab.unclaimed = tab.unclaimed, []
            for other in unclaimed:
                if other["turn"] not in tab.stories and other["conversation"] == tab.conversation:
                    self._watch.adopt(tab, other)

    async def _ask_again(self, tab: Tab, _: str) -> None:
        turn = _last_turn(tab)
        self._desk.tell(tab, pieces.message_said(turn["prompt"], how="asked again"))
        await self._branch(tab, {"turn": turn["turn"]})

    async def stop_turns(self, tab: Tab, _: str = "") -> None:
        """Whatever the agent does in this conversation, also for what was sent elsewhere; the newest first, so that
        none begins meanwhile."""

        def stop(client: ApiClient) -> int:
            path = agent_path(tab.agent, "/history")
            turns = client.get(path, limit=50, conversation=tab.conversation)["turns"]
            numbers = {turn["turn"] for turn in turns if turn["status"] not in ENDED}
            numbers |= {story.turn for story in tab.open_stories}
            for number in sorted(numbers, reverse=True):
                client.post(f"/turns/{number}/stop")
            return len(numbers)

        if not await self._desk.call(stop):
            self._desk.tell(tab, pieces.note("Nothing is running."))

    # --- conversations ---------------------------------------------------------------------------------------------

    async def _begin_conversation(self, tab: Tab, name: str) -> None:
        path = agent_path(tab.agent, "/conversations")
        made = await self._desk.call(lambda client: client.post(path, {"name": name} if name else None))
        tab.go_to(made["id"], made["name"])
        self._desk.tell(tab, pieces.note(f"This is conversation {made['id']}.", "green"))
        self._asking.look()
        await self._watch.refresh_facts(tab)

    async def _list_conversations(self, tab: Tab, words: str) -> None:
        path = agent_path(tab.agent, "/conversations")
        page = await self._desk.call(lambda client: client.get(path, q=words or None, limit=30))
        rows = [
            (f"{one['id']}", f"{'→ ' if one['id'] == tab.conversation else ''}{one['name'] or 'empty'}{_unread(one)}")
            for one in page["conversations"]
        ]
        more = [pieces.note("There are more: /conversations WORDS finds them.")] if page["next"] else []
        found = pieces.listing(rows) if rows else pieces.note("No conversation matches.")
        self._desk.tell(tab, found, *more)

    async def _switch_conversation(self, tab: Tab, wanted: str) -> None:
        if not wanted:
            raise BadInput("Which one? /switch takes its number, or words of its name; /conversations lists them.")
        path = agent_path(tab.agent, "/conversations")
        found: list[dict[str, Any]] = (await self._desk.call(lambda client: client.get(path, limit=200)))[
            "conversations"
        ]
        hits = [one for one in found if str(one["id"]) == wanted]
        hits = hits or [one for one in found if wanted.casefold() in str(one["name"]).casefold()]
        if not hits:
            raise NotFound(f"No conversation is called “{one_line(wanted, 60)}”. /conversations lists them.")
        tab.go_to(hits[0]["id"], hits[0]["name"])
        self._desk.tell(tab, pieces.rule_of(tab.called, tab.name))
        await self._watch.open_conversation(tab)

    async def _rename_conversation(self, tab: Tab, name: str) -> None:
        if tab.conversation is None:
            raise NotFound("There is no conversation yet. It begins with your first message.")
        path = agent_path(tab.agent, f"/conversations/{tab.conversation}")
        tab.name = (await self._desk.call(lambda client: client.patch(path, {"name": name})))["name"]
        self._desk.tell(tab, pieces.note(f"This conversation is called {one_line(tab.name, 100)}.", "green"))

    async def _export_conversation(self, tab: Tab, file: str) -> None:
        if tab.conversation is None:
            raise NotFound("There is no conversation yet. It begins with your first message.")
        target = expand_path(file) if file else Path(f"{safe_name((tab.name or tab.agent).encode())}.md")
        path = agent_path(tab.agent, f"/conversations/{tab.conversation}/export")

        def save(client: ApiClient) -> None:
            with client.download(path, format="md") as answer, target.open("xb") as opened:
                opened.writelines(client.read_pieces(answer))

        try:
            await self._desk.call(save)
        except OSError as error:
            raise BadInput(f"{target} can't be written ({error.strerror}).") from error
        self._desk.tell(tab, pieces.note(f"Saved as {target}.", "green"))

    async def _ask_clear(self, tab: Tab, _: str) -> None:
        async def act(key: str) -> None:
            if key == "y":
                path = agent_path(tab.agent, "/history")
                await self._desk.call(lambda client: client.delete(path, conversation=tab.conversation))
                tab.spent, tab.last_turn = {}, None
                self._desk.tell(tab, pieces.note("The conversation is cleared.", "green"))

        body = pieces.note("The agent forgets this conversation; the audit log keeps it.").what
        self._ask_yes(tab, "/clear", body, "Clear it?", act)

    def _ask_yes(self, tab: Tab, name: str, body: Any, ask: str, act: Callable[[str], Awaitable[None]]) -> None:
        async def act_once(key: str) -> None:
            tab.cards.remove(card)
            self._desk.tell(tab, pieces.note("Yes." if key == "y" else "No."))
            await act(key)

        card = yes_card(name, body, ask, act_once)
        tab.cards = [other for other in tab.cards if other.id != name]
        tab.cards.append(card)
        self._desk.changed.set()

    # --- agents ----------------------------------------------------------------------------------------------------

    async def _list_agents(self, tab: Tab, _: str) -> None:
        agents = (await self._desk.call(lambda client: client.get("/agents")))["agents"]
        rows = [(str(one["name"]), f"{one['status']:8} {_about(one)}") for one in agents]
        self._desk.tell(tab, pieces.listing(rows))

    async def _choose_model(self, tab: Tab, name: str) -> None:
        models = await self._desk.call(lambda client: client.get("/models"))
        if not name:
            rows = [(str(one["name"]), str(one["default_model"] or "any model")) for one in models["providers"]]
            now = tab.facts.get("model") or f"{models['default']}, as everywhere"
            self._desk.tell(tab, pieces.note(f"{tab.called} answers with {now}."), pieces.listing(rows))
            return
        known = {one["name"]: one["default_model"] for one in models["providers"]}
        provider, slash, model = name.partition("/")
        change = {"model": name}
        if provider in known:
            change = {"provider": provider, "model": model if slash else str(known[provider])}
        await self._desk.call(lambda client: client.patch(agent_path(tab.agent), change))
        await self._watch.refresh_facts(tab)
        self._desk.tell(tab, pieces.note(f"{tab.called} answers with {change['model']} from now on.", "green"))

    async def _show_asked(self, tab: Tab, _: str) -> None:
        if not await self._asking.show_all(tab):
            self._desk.tell(tab, pieces.note("Nothing waits for you."))

    # --- files -----------------------------------------------------------------------------------------------------

    async def _list_files(self, tab: Tab, folder: str) -> None:
        shown = folder.strip("/") or "out"
        path = remote_path(tab.agent, shown)
        body = await self._desk.call(lambda client: client.get(path, limit=200))
        if not isinstance(body, dict) or "entries" not in body:
            raise BadInput(f"{one_line(shown)} is a file. /get fetches it.")
        rows = [
            (str(one["name"]), format_size(one["size"]) if one["kind"] == "file" else "folder")
            for one in body["entries"]
        ]
        self._desk.tell(tab, pieces.listing(rows) if rows else pieces.note(f"Nothing is in {shown}/ yet."))

    async def _get_file(self, tab: Tab, path: str) -> None:
        if not path:
            raise BadInput("Which one? /get out/report.pdf fetches a file; /files lists them.")
        target = await self._desk.call(lambda client: fetch_file(client, tab.agent, path, shows_progress=False))
        self._desk.tell(tab, pieces.note(f"Saved as {target}.", "green"))

    async def _attach_file(self, tab: Tab, text: str) -> None:
        path = expand_path(text)
        if not text or not path.is_file():
            raise BadInput(f"{one_line(text) or 'Nothing'} is no file here. /send takes a path such as ~/report.pdf.")
        if len(tab.files) >= MOST_FILES:
            raise BadInput(f"A message takes at most {MOST_FILES} files.")
        tab.files.append(LocalFile(path, path.stat().st_size))

    async def _detach_files(self, tab: Tab, _: str) -> None:
        tab.files = []

    async def _show_diff(self, tab: Tab, _: str) -> None:
        turn = int(_last_turn(tab)["turn"])
        lines = await self._desk.call(lambda client: read_changes(client, tab.agent, turn))
        nothing = pieces.note("The last message changed no file, as far back as points are kept.")
        self._desk.tell(tab, pieces.diff_lines(lines) if lines else nothing)

    async def _ask_undo(self, tab: Tab, _: str) -> None:
        turn = _last_turn(tab)
        number = int(turn["turn"])
        plan = await self._desk.call(lambda client: client.get(f"/turns/{number}/undo"))
        if plan["undone_at"] is not None:
            raise BadInput("Your last message was undone already.")

        async def act(key: str) -> None:
            if key == "y":
                done = await self._desk.call(lambda client: client.post(f"/turns/{number}/undo", {}))
                self._desk.tell(tab, pieces.plain_lines(tell_undone(done, plan, tab.agent)))
                await self._watch.forget_last(tab)

        body = pieces.plain_lines(preview_undo(plan, turn)).what
        ask = f"Take back {count_files(plan['total'])}?" if plan["total"] else "Take it back?"
        self._ask_yes(tab, "/undo", body, ask, act)

    async def _show_help(self, tab: Tab, _: str) -> None:
        rows = [(command.usage, command.told) for command in COMMANDS]
        self._desk.tell(tab, pieces.listing(rows), *(pieces.note(line) for line in _KEYS))


def _last_turn(tab: Tab) -> Mapping[str, Any]:
    """The newest message that was answered. Raises NotFound."""
    if tab.last_turn is None:
        raise NotFound("Nothing was said in this conversation yet.")
    return tab.last_turn


def _about(agent: Mapping[str, Any]) -> str:
    """What people call it, where that is another name, and what it is for."""
    return one_line(" · ".join(part for part in (agent["display_name"], agent["role"]) if part), 60)


def _unread(conversation: Mapping[str, Any]) -> str:
    return f"  ({conversation['unread']} new)" if conversation["unread"] else ""
