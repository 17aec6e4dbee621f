"""Replies to turns: every turn that came from a channel ends in messages to the chat it came from, once; what the
calendar began is told in the person's private chat, unless it was silent.

The turn's row says whether that was done, in the same transaction as the messages, so a sweep after any crash posts
what is missing and nothing twice. What the agent wrote stands under the line that says so; a text that would fill the
chat goes as its beginning and a file. Sends nothing itself: the mail does.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from orchestrator.capabilities.calendar.visibility import is_told
from orchestrator.channels.chat import turn_reply_rows as rows
from orchestrator.channels.chat.address_book import ChatAddress
from orchestrator.channels.chat.agent_text import MARK, add_header, agent_messages, as_file, fits_in, split_text
from orchestrator.channels.chat.channel_store import ChannelDb, ChannelStore
from orchestrator.channels.chat.conversation_choice_rows import ChatSpot
from orchestrator.channels.chat.message import AttachedFile, Message, MessageBody
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.rich_text import RichText, TextEntity, move_entities, plain_text, utf16_len
from orchestrator.channels.chat.system_text import QuotedText, laid_out
from orchestrator.channels.chat.turn_reply_rows import TurnPlace
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CALENDAR, Conversation, CubicleKey, Turn, TurnStatus
from orchestrator.core.text import one_line
from orchestrator.turns.queue import Turns

logger = logging.getLogger(__name__)

_BATCH = 20
_TITLE_CHARS = 120
_BEGINNING_UNITS = 2_000
"""Of a text that goes as a file, this much is in the chat."""
_CUT_SHORT = "You stopped this answer."
_NOT_LAID_OUT = f"{MARK} The answer is ready but can't be shown in {{app}}. You can read it in the dashboard."


class TurnReplies:
    """Owes each turn from its channel the answer."""

    def __init__(
        self,
        *,
        store: ChannelStore,
        outbox: Outbox,
        turns: Turns,
        folder: Path,
        render: Callable[[str], RichText],
        spot_of: Callable[[CubicleKey, int], ChatAddress | None] = lambda _key, _conversation: None,
        title_of: Callable[[int], str] = lambda _: "",
        elsewhere: Callable[[ChatSpot, int], Conversation | None] = lambda _spot, _conversation: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``folder`` is private and for this alone: the files of long answers lie there until they are sent.
        ``spot_of`` knows a person's private chat, and its topic for a conversation; ``title_of`` which entry of the
        calendar began a turn; ``elsewhere`` a conversation that is another one than a chat writes to."""
        self._store = store
        self._outbox = outbox
        self._turns = turns
        self._folder = folder
        self._render = render
        self._units = store.traits.message_units
        self._spot_of = spot_of
        self._title_of = title_of
        self._elsewhere = elsewhere
        self._now = now
        self._sweeping = asyncio.Lock()  # one sweep at a time, so that the answers of a chat keep their order

    async def post_due(self) -> int:
        """Post what is owed; returns for how many turns. Never raises for a full disk or a closing install: the next
        sweep tries again."""
        async with self._sweeping:
            return await asyncio.to_thread(self._post_all)

    def _post_all(self) -> int:
        """In a thread that may wait."""
        done = 0
        try:
            while turns := self._list_unposted():
                for turn in turns:
                    self._post_reply(turn)
                    done += 1
            if done:
                self._remove_old_files()
        except (OSError, OrchestratorError) as error:
            logger.warning("answers to %s wait: %s", self._store.traits.label, error)
        return done

    def _list_unposted(self) -> list[int]:
        with self._store.reading() as db:
            return rows.list_unposted(db, _BATCH)

    def _post_reply(self, number: int) -> None:
        """The turn's messages and the note that they are posted, or neither."""
        turn = self._turns.get(number)
        place = self.place_of(turn)
        with self._store.reading() as db:
            is_reply = place is not None and _shows_what_it_answers(db, place)
        messages = [] if place is None else self._build_messages(turn, place, is_reply=is_reply)
        with self._store.writing() as db:
            if rows.set_told(db, number, self._now()):
                for message in messages:
                    self._outbox.post_message(message)

    def place_of(self, turn: Turn) -> TurnPlace | None:
        """Where the answer belongs; None where nobody is to be told."""
        if turn.source == CALENDAR:
            spot = self._spot_of(turn.cubicle, turn.conversation) if is_told(turn) else None
            return None if spot is None else TurnPlace(turn.cubicle.agent, spot.chat, spot.thread, None, "")
        with self._store.reading() as db:
            place = rows.place_of(db, turn.id)
        if place is None:
            logger.warning("turn %s came from a chat that is no longer known, so its answer stays here", turn.id)
        return place

    def _build_messages(self, turn: Turn, place: TurnPlace, *, is_reply: bool) -> list[Message]:
        is_silent = turn.status is TurnStatus.STOPPED
        where = self._conversation_line(turn, place)
        bodies = [replace(body, thread=place.thread, is_silent=is_silent) for body in self._build_bodies(turn, where)]
        if is_reply:
            bodies[0] = replace(bodies[0], reply_to=place.message)
        return [Message(place.agent, place.chat, f"turn:{turn.id}:{n}", body) for n, body in enumerate(bodies, 1)]

    def _build_bodies(self, turn: Turn, where: RichText) -> list[MessageBody]:
        """At least one, whatever the agent wrote."""
        try:
            return self._answer_text(turn, _under(where, self._origin_line(turn)))
        except Exception:  # one text that nobody has thought of must not hold up the answers of all others
            logger.exception("the answer of turn %s can't be laid out", turn.id)
            return [MessageBody(RichText(_NOT_LAID_OUT.format(app=self._store.traits.label)))]

    def _answer_text(self, turn: Turn, about: RichText) -> list[MessageBody]:
        agent, reply = self._store.called(turn.cubicle.agent), turn.reply or ""
        said = self._render(reply)
        said = _under(about, said) if said.text.strip() else said
        bodies = (
            [MessageBody(rich) for rich in agent_messages(agent, said, self._units)]
            if fits_in(said, limit=self._units)
            else self._as_file(turn, about)
        )
        rest = about if not bodies else RichText("")
        if turn.status is TurnStatus.FAILED:
            bodies += [
                MessageBody(rich) for rich in agent_messages(agent, _under(rest, _sorry(turn.error)), self._units)[:2]
            ]
        elif turn.status is TurnStatus.STOPPED:
            bodies.append(MessageBody(add_header(agent, _under(rest, RichText(_CUT_SHORT if bodies else "Stopped.")))))
        return bodies or [MessageBody(add_header(agent, _under(rest, RichText("Done."))))]

    def _conversation_line(self, turn: Turn, place: TurnPlace) -> RichText:
        """In which conversation it is, where the chat writes to another."""
        found = self._elsewhere(ChatSpot(turn.cubicle, place.chat, place.thread), turn.conversation)
        return RichText("") if found is None else laid_out("", [("In “", QuotedText(found.shown_name), "”:")])

    def _origin_line(self, turn: Turn) -> RichText:
        """What the calendar began says so in its first line, with the title that the agent or a person gave it."""
        if turn.source != CALENDAR:
            return RichText("")
        title = one_line(self._title_of(turn.id), _TITLE_CHARS).strip() or "from the calendar"
        text = f"⏰ {title}"
        return RichText(text, (TextEntity("code", utf16_len("⏰ "), utf16_len(title)),))

    def _as_file(self, turn: Turn, title: RichText) -> list[MessageBody]:
        """The beginning as a message, the whole as a file."""
        agent, reply = self._store.called(turn.cubicle.agent), turn.reply or ""
        beginning = (split_text(self._render(reply[: 3 * _BEGINNING_UNITS]), _BEGINNING_UNITS) or [RichText("")])[0]
        shown = _under(title, RichText(f"{beginning.text}\n…", beginning.entities))
        first = MessageBody(add_header(agent, shown, "beginning"))
        try:
            path = self._write_file(turn.id, as_file(plain_text(reply)))
        except OSError as error:
            logger.warning("the file of turn %s can't be written: %s", turn.id, error)
            return [
                first,
                MessageBody(RichText(f"{MARK} The whole answer of {agent} is in the dashboard.")),
            ]
        about = f"{MARK} The whole answer of {agent}: {len(reply):,} characters."
        return [first, MessageBody(RichText(about), files=(AttachedFile(path, path.name, "document"),))]

    def _write_file(self, turn: int, content: bytes) -> Path:
        """Where the file lies until it is sent; the same for the same turn, so a second try writes it again."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"answer-{turn}.md"
        path.touch(mode=0o600)
        path.write_bytes(content)
        return path

    def _remove_old_files(self) -> None:
        """Files whose messages are done with are no longer needed."""
        for path in self._folder.glob("answer-*.md"):
            turn = path.stem.removeprefix("answer-")
            with self._store.reading() as db:
                found = [rows.get_message(db, f"turn:{turn}:{n}") for n in (1, 2)]
            if all(one is not None and one[0] in ("sent", "failed") for one in found):
                path.unlink(missing_ok=True)


def _shows_what_it_answers(db: ChannelDb, place: TurnPlace) -> bool:
    """In a group always, in private where something else was said since; what nobody asked for answers nothing."""
    return place.message is not None and (not place.is_private or rows.was_followed(db, place))


def _under(first: RichText, rest: RichText) -> RichText:
    """One text below another."""
    if not first.text or not rest.text:
        return rest if not first.text else first
    return RichText(f"{first.text}\n{rest.text}", (*first.entities, *move_entities(rest.entities, first.units + 1)))


def _sorry(error: str | None) -> RichText:
    """Under the agent's line: part of the sentence may be the agent's own."""
    return plain_text(f"I couldn't finish this.\n{(error or '').strip() or 'No reason was given.'}")
