"""Passkeys: people log in with what their device or key has signed, after it has made sure that it is they. So no code
is asked for beside one.

What is kept are public keys. What a browser was asked for is kept in memory for some minutes, and taken once.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.agents import passkey_rows as rows
from orchestrator.agents import webauthn
from orchestrator.agents.passkey_rows import Passkey
from orchestrator.agents.webauthn import Site
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound, TooMany
from orchestrator.core.models import User
from orchestrator.languages.told import worded

MOST = 20
"""Passkeys of a person."""
_MOST_ASKED = 1_000
_ASKED_S = 300.0
_UNKNOWN = "This passkey is not known here. Log in another way, then add it under You."


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a browser was asked for."""

    user: int | None
    """Who makes a new one; None for a login."""
    site: Site
    state: Any
    handle: bytes
    until: float


class Passkeys:
    """Everybody's."""

    def __init__(self, store: Store, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now
        self._asked: dict[str, _Asked] = {}
        self._lock = threading.Lock()  # protects _asked

    def list_passkeys(self, user: int) -> list[Passkey]:
        """A person's, the oldest first."""
        with self._store.reading() as db:
            return rows.list_passkeys(db, user)

    def are_used_at(self, site: Site) -> bool:
        """Somebody may log in by one here."""
        if not site.may_have_passkeys:
            return False
        with self._store.reading() as db:
            return rows.has_any(db, site.host)

    def begin_new(self, user: User, site: Site) -> tuple[str, dict[str, Any]]:
        """A ticket, and what the browser makes a passkey from. Raises Conflict where browsers make none, TooMany."""
        known = self.list_passkeys(user.id)
        if len(known) >= MOST:
            raise TooMany(worded("You have %(count)s passkeys already. Remove one first.", count=MOST))
        handle = known[0].handle if known else secrets.token_bytes(32)
        here = [one.credential for one in known if one.host == site.host]
        options, state = webauthn.ask_for_new(site, name=user.name, handle=handle, known=here)
        return self._keep(_Asked(user.id, site, state, handle, time.monotonic() + _ASKED_S)), options

    def finish_new(self, user: int, ticket: str, name: str, answer: Mapping[str, Any]) -> Passkey:
        """The passkey that the browser has made. Raises NotFound when that took too long, BadInput, Conflict."""
        name = name.strip()
        if not 0 < len(name) <= 64 or not name.isprintable():
            raise BadInput("name: write a name of 1 to 64 visible characters, such as 'phone'.")
        asked = self._take(ticket, user)
        made = webauthn.read_new(asked.site, asked.state, answer)
        passkey = Passkey(
            _id_of(made.id),
            user,
            asked.site.host,
            name,
            asked.handle,
            made.credential,
            made.sign_count,
            self._now(),
            None,
        )
        with self._store.writing() as db:
            try:
                rows.insert_passkey(db, passkey)
            except sqlite3.IntegrityError as error:
                raise Conflict("This passkey is known already.") from error
            self._write_audit(db, "passkey.added", f"Passkey {name} was added.", user)
        return passkey

    def remove(self, user: int, passkey: str) -> None:
        """Nobody gets in by it any more; raises NotFound."""
        with self._store.writing() as db:
            name = rows.delete_passkey(db, user, passkey)
            if name is None:
                raise NotFound("You have no such passkey.")
            self._write_audit(db, "passkey.removed", f"Passkey {name} was removed.", user)

    def begin_login(self, site: Site) -> tuple[str, dict[str, Any]]:
        """A ticket, and what the browser is to sign. Raises Conflict where browsers use no passkeys."""
        options, state = webauthn.ask_to_sign(site)
        return self._keep(_Asked(None, site, state, b"", time.monotonic() + _ASKED_S)), options

    def finish_login(self, ticket: str, answer: Mapping[str, Any]) -> int:
        """Who has signed. Raises NotFound when that took too long, BadInput for whatever is not right."""
        asked = self._take(ticket, None)
        with self._store.reading() as db:
            found = rows.get_passkey(db, _id_of(webauthn.read_id(answer)))
        if found is None or found.host != asked.site.host:
            raise BadInput(_UNKNOWN)
        signed = webauthn.read_signed(asked.site, asked.state, found.credential, answer)
        if signed.handle not in (b"", found.handle):
            raise BadInput(_UNKNOWN)
        with self._store.writing() as db:
            is_used = rows.use_passkey(db, found.id, signed.sign_count, self._now())
            if not is_used:
                text = f"Passkey {found.name} was refused: there may be a copy of it."
                self._write_audit(db, "login.failed", text, found.user)
        if not is_used:
            raise BadInput(
                "There may be a copy of this passkey, so it is refused. Remove it under You, and add another."
            )
        return found.user

    def _keep(self, asked: _Asked) -> str:
        ticket, now = secrets.token_urlsafe(32), time.monotonic()
        with self._lock:
            self._asked = {key: one for key, one in self._asked.items() if one.until > now}
            while len(self._asked) >= _MOST_ASKED:
                del self._asked[next(iter(self._asked))]
            self._asked[ticket] = asked
        return ticket

    def _take(self, ticket: str, user: int | None) -> _Asked:
        with self._lock:
            asked = self._asked.pop(ticket, None)
        if asked is None or asked.user != user or asked.until < time.monotonic():
            raise NotFound("That took too long. Try again.")
        return asked

    def _write_audit(self, db: sqlite3.Connection, kind: str, text: str, user: int) -> None:
        audit_rows.insert_record(db, kind, text, now=self._now(), user=user)


def _id_of(credential: bytes) -> str:
    return hashlib.sha256(credential).hexdigest()[:32]
