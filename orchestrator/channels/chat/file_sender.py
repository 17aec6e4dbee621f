"""Files on their way to a person's chat: each delivery becomes a message with its private copy, pictures of one turn
that come together become an album. Knows nothing of how messages are sent; reports how each ended.

A crash loses nothing: whatever was not handed over as a message is handed to this carrier again at the next start, and
what was is not posted twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.agents.users import Users
from orchestrator.capabilities.delivery.deliveries import Deliveries
from orchestrator.channels.chat import contact_rows as chats
from orchestrator.channels.chat import conversation_choice_rows as choices
from orchestrator.channels.chat import delivery_link_rows as rows
from orchestrator.channels.chat import turn_reply_rows as places
from orchestrator.channels.chat.agent_text import MARK
from orchestrator.channels.chat.channel_store import ChannelDb, ChannelStore
from orchestrator.channels.chat.message import AttachedFile, Message, MessageBody
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.chat.turn_reply_rows import TurnPlace
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey, Delivery, Turn

GATHER_S = 0.8
"""How long after a picture another one of the same turn may still join it."""
_PICTURES = ("photo", "video")
_FILE, _NOTICE = "delivery:", "notice:"


@dataclass(frozen=True, slots=True)
class _Album:
    """Pictures that wait a moment for one another."""

    timer: threading.Timer
    files: dict[int, tuple[Delivery, Path]]

    @property
    def size_bytes(self) -> int:
        return sum(delivery.size_bytes for delivery, _ in self.files.values())


_Spot = tuple[str, int | None]
"""Where an album gathers: a destination and a turn."""


class FileSender:
    """Takes deliveries to the channel's chats."""

    def __init__(
        self,
        *,
        store: ChannelStore,
        outbox: Outbox,
        users: Users,
        deliveries: Deliveries,
        is_linked: Callable[[str], bool],
        gather_s: float = GATHER_S,
    ) -> None:
        """``is_linked`` knows whether an agent's bot may write to people."""
        self.name, self.largest_bytes = store.channel, store.traits.upload_bytes
        self._album_most = store.traits.album_most
        self._store = store
        self._outbox = outbox
        self._users = users
        self._deliveries = deliveries
        self._is_linked = is_linked
        self._gather_s = gather_s
        self._lock = threading.Lock()  # protects _albums
        self._albums: dict[_Spot, _Album] = {}
        outbox.subscribe(self._on_outcome)

    def close(self) -> None:
        """What still gathers goes out as it is."""
        for spot in list(self._albums):
            self._close_album(spot)

    # --- what deliveries ask ---------------------------------------------------------------------------------------

    def find_destination(self, key: CubicleKey, turn: Turn | None) -> str | None:
        """The chat that a turn from this channel came from. Without a turn, and for what the calendar began, the
        private chat of the cubicle's person, where it is open. What was asked for elsewhere stays elsewhere."""
        if turn is not None and turn.source not in (self.name, "calendar"):
            return None
        with self._store.reading() as db:
            place = None if turn is None else places.place_of(db, turn.id)
            if place is not None and place.agent == key.agent:
                return f"{self.name}:{place.chat}"
            chat = self._private_chat(key)
            is_open = chat is not None and chats.is_open(db, key.agent, chat)
        return f"{self.name}:{chat}" if is_open and self._is_linked(key.agent) else None

    def send_file(self, delivery: Delivery, copy: Path) -> None:
        """The file goes out, alone or with others of its turn; what was taken over before is only reported on."""
        if self._was_taken(delivery.id):
            return
        if delivery.kind not in _PICTURES:
            self._post_files([(delivery, copy)])
            return
        spot = (f"{delivery.cubicle.agent} {delivery.to}", delivery.turn)
        if self._no_room(spot, delivery):
            self._close_album(spot)
        self._add_to_album(spot, delivery, copy)

    def send_text(self, delivery: Delivery, text: str) -> None:
        """Words instead of the file."""
        if not self._was_taken(delivery.id):
            self._post_body(f"{_NOTICE}{delivery.id}", [delivery], MessageBody(RichText(f"{MARK} {text}")))

    # --- albums ----------------------------------------------------------------------------------------------------

    def _no_room(self, spot: _Spot, delivery: Delivery) -> bool:
        with self._lock:
            album = self._albums.get(spot)
            if album is None or delivery.id in album.files:
                return False
            return len(album.files) == self._album_most or album.size_bytes + delivery.size_bytes > self.largest_bytes

    def _add_to_album(self, spot: _Spot, delivery: Delivery, copy: Path) -> None:
        """The picture joins the album that gathers there, which waits again."""
        timer = threading.Timer(self._gather_s, self._close_album, (spot,))
        timer.name, timer.daemon = f"{self.name}-album", True
        with self._lock:
            album = self._albums.pop(spot, None)
            files = {} if album is None else album.files
            self._albums[spot] = _Album(timer, {**files, delivery.id: (delivery, copy)})
        if album is not None:
            album.timer.cancel()
        timer.start()

    def _close_album(self, spot: _Spot) -> None:
        with self._lock:
            album = self._albums.pop(spot, None)
        if album is not None:
            album.timer.cancel()
            self._post_files(list(album.files.values()))

    # --- messages ---------------------------------------------------------------------------------------------------

    def _was_taken(self, delivery: int) -> bool:
        """There is a message already; if it has ended meanwhile, that is said again."""
        with self._store.reading() as db:
            ref = rows.ref_of(db, delivery)
        if ref is None:
            return False
        outcome = self._outbox.status_of(ref)
        if outcome is not None and outcome.state in ("sent", "failed"):
            self._on_outcome(ref, outcome.why if outcome.state == "failed" else None)
        return outcome is not None

    def _post_files(self, files: Sequence[tuple[Delivery, Path]]) -> None:
        taken = [delivery for delivery, _ in files]
        warnings = dict.fromkeys(delivery.caption for delivery in taken if delivery.caption)
        body = MessageBody(
            RichText("\n".join(warnings)), files=tuple(AttachedFile(copy, one.name, one.kind) for one, copy in files)
        )
        self._post_body(_FILE + "+".join(str(delivery.id) for delivery in taken), taken, body)

    def _post_body(self, ref: str, carried: Sequence[Delivery], body: MessageBody) -> None:
        first = carried[0]
        chat = int(first.to.partition(":")[2])
        with self._store.writing() as db:
            place = None if first.turn is None else places.place_of(db, first.turn)
            if place is not None and place.chat == chat:
                body = _at(place, body)
            elif first.turn is not None:
                body = replace(body, thread=self._find_topic(db, first, chat))
            for delivery in carried:
                rows.put_link(db, delivery.id, ref)
            self._outbox.post_message(Message(first.cubicle.agent, chat, ref, body))

    def _find_topic(self, db: ChannelDb, delivery: Delivery, chat: int) -> int | None:
        """The topic of the conversation that the delivery's turn is in."""
        conversation = None if delivery.turn is None else choices.get_conversation_of_turn(db, delivery.turn)
        return None if conversation is None else choices.find_topic(db, delivery.cubicle, chat, conversation)

    def _on_outcome(self, ref: str, why: str | None) -> None:
        """A message was sent or failed. Of an album that is not taken, each file is tried by itself."""
        if not ref.startswith((_FILE, _NOTICE)):
            return
        with self._store.reading() as db:
            carried = rows.list_deliveries(db, ref)
        if why is not None and len(carried) > 1:
            self._one_by_one(carried)
            return
        for delivery in carried:
            if why is None:
                self._deliveries.mark_sent(delivery)
            else:
                self._deliveries.mark_failed(delivery, why)

    def _one_by_one(self, carried: Sequence[int]) -> None:
        for number in carried:
            try:
                delivery = self._deliveries.get_delivery(number)
                self._post_files([(delivery, self._deliveries.copy_of(delivery))])
            except NotFound as error:
                self._deliveries.mark_failed(number, error.message)

    def _private_chat(self, key: CubicleKey) -> int | None:
        try:
            return self._users.get(key.user).id_in(self._store.channel)
        except NotFound:
            return None


def _at(place: TurnPlace, body: MessageBody) -> MessageBody:
    """Within a group, the topic and the message that asked; in a private chat neither is needed."""
    reply_to = None if place.is_private else place.message
    return MessageBody(body.rich, files=body.files, thread=place.thread, reply_to=reply_to)
