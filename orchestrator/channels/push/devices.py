"""Devices that get notifications: a browser that is logged in turns them on for itself, and chooses what it is told of.

A device belongs to one login and goes with it, however that ends. Each person has a few at most.
"""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.channels.push import lazy_crypto, push_rows
from orchestrator.channels.push.hosts import PushHosts
from orchestrator.channels.push.push_rows import PushDevice
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound, TooMany
from orchestrator.core.models import User
from orchestrator.core.short_ids import typed_id

APPROVALS, QUESTIONS, ANSWERS, CALENDAR = "approvals", "questions", "answers", "calendar"
TOPICS = (APPROVALS, QUESTIONS, ANSWERS, CALENDAR)
"""What a device may be told of."""
MOST_DEVICES = 20
"""Of one person."""
_MOST_KEY_CHARS = 200


@dataclass(frozen=True, slots=True)
class BrowserSubscription:
    """What a browser gives away of itself."""

    endpoint: str
    p256dh: str
    auth: str


class PushDevices:
    """The devices of everybody."""

    def __init__(self, store: Store, hosts: PushHosts, *, now: Callable[[], float] = time.time) -> None:
        self._store, self._hosts, self._now = store, hosts, now

    def list_devices(self, user: int) -> list[PushDevice]:
        """Those of a person, oldest first."""
        with self._store.reading() as db:
            return push_rows.list_devices(db, self._now(), user=user)

    def of_session(self, user: int, session: str) -> PushDevice | None:
        """The device of the login with this digest."""
        return next((device for device in self.list_devices(user) if device.session == session), None)

    def get_device(self, user: int, device: str) -> PushDevice:
        """One of a person's; raises NotFound."""
        found = next((found for found in self.list_devices(user) if found.id == device), None)
        if found is None:
            raise NotFound("This device gets no notifications any more. Turn them on again.")
        return found

    def add_device(
        self, user: User, session: str, said: BrowserSubscription, *, tells: Sequence[str] = TOPICS
    ) -> PushDevice:
        """The browser of this login gets notifications; once more is fine, and changes its address. Raises BadInput for
        an address or keys that can't be a browser's, and TooMany."""
        _check_keys(said)
        link, _ = self._hosts.read_endpoint(said.endpoint)
        with self._store.writing() as db:
            now = self._now()
            known = push_rows.find_by_endpoint(db, link.url)
            if known is not None and (known.p256dh, known.auth) != (said.p256dh, said.auth):
                raise Conflict("Another browser has this address already.")
            before = self.of_session(user.id, session)
            if known is not None and known.session == session:
                return known
            if before is None and len(self.list_devices(user.id)) >= MOST_DEVICES:
                raise TooMany(f"{MOST_DEVICES} devices get notifications already. Log one of them out first.")
            made = PushDevice(
                id=typed_id() if before is None else before.id,
                user=user.id,
                session=session,
                endpoint=link.url,
                p256dh=said.p256dh,
                auth=said.auth,
                tells=tuple(tells) if before is None else before.tells,
                shows_text=True if before is None else before.shows_text,
                created_at=now,
                sent_at=None,
                trouble="",
            )
            push_rows.insert_device(db, made)
            text = f"A device of {user.name} gets notifications through {link.host}."
            audit_rows.insert_record(db, "push.on", text, now=now, user=user.id, detail={"device": made.id})
        return made

    def change_device(
        self, user: int, device: str, *, tells: Sequence[str] | None = None, shows_text: bool | None = None
    ) -> PushDevice:
        """What it is told of; raises NotFound, or BadInput."""
        if tells is not None and not set(tells) <= set(TOPICS):
            raise BadInput(f"tells: choose among {', '.join(TOPICS)}.")
        with self._store.writing() as db:
            found = self.get_device(user, device)
            push_rows.update_device(
                db,
                device,
                tells=found.tells if tells is None else [topic for topic in TOPICS if topic in tells],
                shows_text=found.shows_text if shows_text is None else shows_text,
            )
        return self.get_device(user, device)

    def remove_device(self, user: User, device: str) -> None:
        """It gets nothing any more; raises NotFound."""
        with self._store.writing() as db:
            self.get_device(user.id, device)
            push_rows.delete_device(db, device)
            text = f"A device of {user.name} gets no notifications any more."
            audit_rows.insert_record(db, "push.off", text, now=self._now(), user=user.id, detail={"device": device})


def decode_key(text: str) -> bytes:
    """The bytes of a key as browsers write it (base64url without padding); raises ValueError."""
    if len(text) > _MOST_KEY_CHARS or not text.isascii():
        raise ValueError("too long")
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _check_keys(said: BrowserSubscription) -> None:
    try:
        lazy_crypto.check_keys(decode_key(said.p256dh), decode_key(said.auth))
    except (ValueError, Base64Error):
        raise BadInput("keys: these are no keys of a browser's subscription.") from None
