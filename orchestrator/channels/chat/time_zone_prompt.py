"""Time zone prompt: what time it is where a person is. They are asked for it once, ever, with a few places to choose
from, and may say it at any time with ``/timezone``. Until then their times are UTC, which is said.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from orchestrator.agents.users import Users
from orchestrator.channels.chat import button_rows as rows
from orchestrator.channels.chat.address_book import AddressBook
from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.buttons import Buttons
from orchestrator.channels.chat.callbacks import ButtonHandler, PressResult
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.events import ButtonPress, IncomingMessage
from orchestrator.channels.chat.message import Message, MessageBody, MessageButton
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.system_text import NoteLine, system_note
from orchestrator.core.errors import BadInput, Forbidden
from orchestrator.core.models import CubicleKey, User
from orchestrator.core.text import one_line
from orchestrator.core.time_zones import list_time_zones

ZONE = "zone"
_FINE = "UTC"
_MOST_ALIKE = 3
_ANYWHERE = ("Europe/London", "Europe/Berlin", "America/New_York", "Asia/Kolkata")
_BY_LANGUAGE: dict[str, tuple[str, ...]] = {
    "ar": ("Africa/Cairo", "Asia/Riyadh", "Asia/Dubai", "Africa/Casablanca"),
    "cs": ("Europe/Prague",),
    "da": ("Europe/Copenhagen",),
    "de": ("Europe/Berlin", "Europe/Vienna", "Europe/Zurich"),
    "el": ("Europe/Athens",),
    "en": ("Europe/London", "America/New_York", "America/Chicago", "America/Los_Angeles", "Australia/Sydney"),
    "es": ("Europe/Madrid", "America/Mexico_City", "America/Bogota", "America/Argentina/Buenos_Aires"),
    "fa": ("Asia/Tehran",),
    "fi": ("Europe/Helsinki",),
    "fr": ("Europe/Paris", "Europe/Brussels", "America/Toronto", "Africa/Abidjan"),
    "he": ("Asia/Jerusalem",),
    "hi": ("Asia/Kolkata",),
    "hu": ("Europe/Budapest",),
    "id": ("Asia/Jakarta", "Asia/Makassar"),
    "it": ("Europe/Rome",),
    "ja": ("Asia/Tokyo",),
    "ko": ("Asia/Seoul",),
    "nb": ("Europe/Oslo",),
    "nl": ("Europe/Amsterdam", "Europe/Brussels"),
    "pl": ("Europe/Warsaw",),
    "pt": ("Europe/Lisbon", "America/Sao_Paulo", "America/Manaus"),
    "ro": ("Europe/Bucharest",),
    "ru": ("Europe/Moscow", "Asia/Yekaterinburg", "Asia/Novosibirsk"),
    "sv": ("Europe/Stockholm", "Europe/Helsinki"),
    "th": ("Asia/Bangkok",),
    "tr": ("Europe/Istanbul",),
    "uk": ("Europe/Kyiv",),
    "vi": ("Asia/Ho_Chi_Minh",),
    "zh": ("Asia/Shanghai", "Asia/Taipei", "Asia/Hong_Kong"),
}


class TimeZonePrompt:
    """Everybody's time. For threads that may wait."""

    def __init__(
        self,
        *,
        store: ChannelStore,
        users: Users,
        address_book: AddressBook,
        outbox: Outbox,
        buttons: Buttons,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._users = users
        self._address_book = address_book
        self._outbox = outbox
        self._buttons = buttons
        self._now = now

    @property
    def handlers(self) -> dict[str, ButtonHandler]:
        """What its buttons do."""
        return {ZONE: self._on_press}

    def on_message(self, message: IncomingMessage, user: User) -> None:
        """Somebody wrote; in private they are asked, when they never were."""
        if message.place.is_private:
            self.ask_zone(CubicleKey(message.agent, user.id), language=message.sender.language)

    def ask_zone(self, key: CubicleKey, *, language: str = "") -> None:
        """The person is asked where they are, if they never were and there is a chat; joins the open transaction."""
        user, spot = self._address_book.owner_of(key), self._address_book.private_place(key)
        if user is None or user.time_zone_known or spot is None or self._is_asked(user):
            return
        with self._store.writing():
            if self._users.ask_zone(user.id):
                ref = _ref(user)
                self._outbox.post_message(
                    Message(key.agent, spot.chat, ref, self._message_body(key.agent, ref, user, language))
                )

    def zone_message(self, agent: str, ref: str, user: User, language: str) -> MessageBody:
        """The person's zone for a message of this ref, with others to choose from."""
        lines: list[NoteLine] = [
            f"{user.time_zone}: it is {_clock(user.time_zone, self._now())} there."
            + ("" if user.time_zone_known else " You haven't set one, so I use this for now."),
            "To change it, choose one, or send for example: /timezone Europe/Vienna",
        ]
        choices = [zone for zone in zones_for_language(language) if zone != user.time_zone]
        return MessageBody(
            system_note("Your time zone", *lines), buttons=self._build_message(agent, ref, user, choices)
        )

    def set_zone(self, user: User, wanted: str) -> MessageBody:
        """The person's zone is this one from now on. Raises BadInput with what comes near."""
        zone = find_zone(wanted)
        self._users.update_user(user.id, {"time_zone": zone})
        return self._on_changed(zone)

    def _message_body(self, agent: str, ref: str, user: User, language: str) -> MessageBody:
        rich = system_note(
            "Where are you?",
            f"I use UTC for now, where it is {_clock(_FINE, self._now())}. If your clock shows something "
            "else, choose a place with your time, or send for example: /timezone Europe/Vienna",
        )
        return MessageBody(rich, buttons=self._build_message(agent, ref, user, [*zones_for_language(language), _FINE]))

    def _build_message(
        self, agent: str, ref: str, user: User, zones: Sequence[str]
    ) -> tuple[tuple[MessageButton, ...], ...]:
        now, person = self._now(), user.id_in(self._store.channel) or 0
        made = [
            MessageButton(_label(zone, now), self._buttons.make_button(agent, ref, person, ZONE, zone))
            for zone in zones
        ]
        return tuple(tuple(made[n : n + 2]) for n in range(0, len(made), 2))

    def _on_changed(self, zone: str) -> MessageBody:
        return MessageBody(
            system_note(
                "Your time zone",
                f"{zone}: it is {_clock(zone, self._now())} there. Existing calendar entries keep theirs.",
                "/timezone changes it.",
            )
        )

    def _on_press(self, taken: TakenButton, _: ButtonPress, user: User) -> PressResult:
        if user.id_in(self._store.channel) != taken.person:
            raise Forbidden("Only the person who was asked can answer this.")
        self._users.update_user(user.id, {"time_zone": taken.subject})
        self._buttons.retire_buttons(taken.ref)
        return PressResult(f"Your time zone is {taken.subject}.", self._on_changed(taken.subject))

    def _is_asked(self, user: User) -> bool:
        """A look before the writers' lock is taken for every message."""
        with self._store.reading() as db:
            return rows.is_posted(db, _ref(user))


def zones_for_language(language: str) -> list[str]:
    """A few zones for an app's language, ``de`` or ``pt-br``."""
    base, _, region = language.partition("-")
    found = ("America/Sao_Paulo", "America/Manaus") if (base, region) == ("pt", "br") else _BY_LANGUAGE.get(base)
    known = list_time_zones()
    return [zone for zone in found or _ANYWHERE if zone in known]


def find_zone(wanted: str) -> str:
    """The zone that somebody means by ``Europe/Vienna``, ``europe/vienna`` or ``Vienna``. Raises BadInput with what
    comes near."""
    words = "_".join(wanted.split()).casefold()
    zones = sorted(zone for zone in list_time_zones() if "/" in zone or zone == _FINE)
    exact = [zone for zone in zones if zone.casefold() == words] or [
        zone for zone in zones if zone.rpartition("/")[2].casefold() == words
    ]
    if len(exact) == 1:
        return exact[0]
    ends = {zone.rpartition("/")[2].casefold(): zone for zone in reversed(zones)}
    near = exact[:_MOST_ALIKE] or [
        ends.get(name, name) for name in difflib.get_close_matches(words.rpartition("/")[2], ends, _MOST_ALIKE)
    ]
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    raise BadInput(f"I don't know a time zone called {one_line(wanted, 40)}.{hint} Write it like Europe/Vienna.")


def _ref(user: User) -> str:
    return f"zone:{user.id}"


def _label(zone: str, now: float) -> str:
    if zone == _FINE:
        return "UTC is fine"
    return f"{zone.rpartition('/')[2].replace('_', ' ')} {_clock(zone, now)}"


def _clock(zone: str, now: float) -> str:
    return f"{datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(zone)):%H:%M}"
