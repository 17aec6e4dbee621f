"""People: who may talk to agents, and how they prove who they are.

Passwords are kept as argon2 hashes; session, link and API tokens as SHA-256 of 256 random bits. Guessing is throttled
per name and in all.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import argon2

from orchestrator.agents import second_factor_rows
from orchestrator.agents import user_rows as rows
from orchestrator.agents.throttle import Throttle
from orchestrator.agents.user_fields import CHANNELS, checked_fields, fields_of, find_taken
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound, OrchestratorError
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import Role, User
from orchestrator.languages.told import worded

SESSION_S = 30 * 24 * 3600
LINK_S = 15 * 60
MAX_PASSWORD_CHARS = 1_000
_HASHES_AT_ONCE = 2
"""Each takes 64 MB while it is computed."""
NOTED_EVERY_S = 300.0
"""How exactly it is known when a session or a token was used last: each note is a write."""


class SecondFactorNeeded(OrchestratorError):
    """The password was right, and alone it is not enough."""

    def __init__(self, user: User) -> None:
        super().__init__("A code is needed beside the password.")
        self.user = user


class Users:
    """Everybody who is known to this install."""

    def __init__(
        self,
        store: Store,
        *,
        fixed_tokens: tuple[str, ...] = (),
        channels: Mapping[str, str] = CHANNELS,
        hooks: Hooks | None = None,
    ) -> None:
        """``fixed_tokens`` are the operator's too: the one in the settings, and the command's on this machine;
        ``channels`` are the chat apps in which people have a number, as people call them."""
        self._store = store
        self._hooks = hooks or Hooks()
        self._channels = channels
        self._fixed_tokens = tuple(token.encode() for token in fixed_tokens if token)
        self._hasher = argon2.PasswordHasher()
        self._hashing = threading.BoundedSemaphore(_HASHES_AT_ONCE)
        self._throttle = Throttle()
        self.changes = 0
        """Counts up whenever a login may have ended or means less than before: who asked earlier asks again."""

    @cached_property
    def _nobody(self) -> str:
        """A hash that no password has: an unknown name takes as long to refuse as a wrong password."""
        return self._hasher.hash(secrets.token_hex(16))

    def list_users(self) -> list[User]:
        """All people, oldest first."""
        with self._store.reading() as db:
            return rows.list_users(db)

    def get(self, user: int) -> User:
        """The person with this id; raises NotFound."""
        with self._store.reading() as db:
            found = rows.get_user(db, user)
        if found is None:
            raise NotFound(f"There is no user {user}.")
        return found

    def get_operator(self) -> User:
        """The person whose install this is; raises NotFound before ``ensure_operator``."""
        with self._store.reading() as db:
            found = rows.get_operator(db)
        if found is None:
            raise NotFound("There is no operator yet.")
        return found

    def of_identity(self, channel: str, external_id: int) -> User | None:
        """The person with this number in a channel; what somebody calls themselves there proves nothing."""
        with self._store.reading() as db:
            return rows.of_identity(db, channel, external_id)

    def ensure_operator(self, name: str, password: str, **numbers: int | None) -> User:
        """The operator exists, with what the settings say of name, password, ``telegram_id`` … (empty: as it was)."""
        with self._store.reading() as db:
            found = rows.get_operator(db)
        if found is None:
            found = self.add({"name": name or "operator", "role": Role.OPERATOR, **numbers})
        before = fields_of(found, self._channels)
        fields = {field: value or before[field] for field, value in {"name": name, **numbers}.items()}
        wanted = found if fields.items() <= before.items() else self.update_user(found.id, fields)
        with self._store.writing() as db:
            if password and not self._is_password(rows.get_password(db, found.id), password):
                self._store_password(db, found.id, password)
        return wanted

    def add(self, fields: dict[str, Any]) -> User:
        """A new person from ``name, role, time_zone, telegram_id`` …; raises BadInput or Conflict. May be part of a
        larger transaction."""
        checked = checked_fields({"role": Role.MEMBER, "time_zone": "UTC", **fields}, self._channels)
        with self._store.writing() as db:
            try:
                user = rows.insert_user(db, **checked, now=time.time(), time_zone_known="time_zone" in fields)
            except sqlite3.IntegrityError as error:
                raise find_taken(checked) from error
            audit_rows.insert_record(db, "user.added", f"User {checked['name']} was added.", now=time.time(), user=user)
            added = rows.get_user(db, user)
        if added is None:
            raise NotFound(f"There is no user {user}.")
        return added

    def update_user(self, user: int, fields: dict[str, Any]) -> User:
        """Change some fields of a person; raises BadInput, Conflict or NotFound."""
        with self._store.writing() as db:
            old = self.get(user)
            checked = checked_fields({**fields_of(old, self._channels), **fields}, self._channels)
            new = replace(old, **checked, time_zone_known=old.time_zone_known or "time_zone" in fields)
            if new.role is not Role.OPERATOR and self.get_operator().id == user:
                raise Conflict("The first operator stays operator: somebody must be able to run this install.")
            try:
                rows.update_user(db, new)
            except sqlite3.IntegrityError as error:
                raise find_taken(checked) from error
            detail = {name: value for name, value in fields_of(new, self._channels).items() if name in fields}
            text = f"User {new.name} was changed."
            audit_rows.insert_record(db, "user.changed", text, now=time.time(), user=user, detail=detail)
        self.changes += 1
        if new.role is not old.role:
            self._hooks.access_changed.fire("")
        return new

    def ask_zone(self, user: int) -> bool:
        """Somebody is about to ask this person for their time zone; once ever, and not when it was said. May be part of
        a larger transaction, in which the question is written down."""
        with self._store.writing() as db:
            return rows.mark_zone_asked(db, user, time.time())

    def check_removable(self, user: int) -> User:
        """The person with this id, who may be deleted; raises NotFound, or Conflict for the operator."""
        found = self.get(user)
        if self.get_operator().id == user:
            raise Conflict("The operator can't be deleted.")
        return found

    def remove(self, user: int) -> None:
        """Delete a person with sessions and tokens; raises NotFound, or Conflict for the operator."""
        old = self.check_removable(user)
        with self._store.writing() as db:
            rows.delete_user(db, user)
            audit_rows.insert_record(db, "user.removed", f"User {old.name} was removed.", now=time.time(), user=user)
        self.changes += 1

    def set_password(self, user: int, password: str) -> None:
        """Set a new password; all older sessions of this person end."""
        if not 10 <= len(password) <= MAX_PASSWORD_CHARS:
            raise BadInput(worded("password: use 10 to %(most)s characters.", most=f"{MAX_PASSWORD_CHARS:,}"))
        self.get(user)
        with self._store.writing() as db:
            self._store_password(db, user, password)
            rows.delete_sessions(db, user)
        self.changes += 1

    def has_password(self, user: int) -> bool:
        """This person can log in by password."""
        with self._store.reading() as db:
            return rows.get_password(db, user) is not None

    def check_password(self, user: int, current: str) -> None:
        """This is the person's password now, or they have none; raises BadInput, or TooMany after many tries."""
        found = self.get(user)
        with self._store.reading() as db:
            hashed = rows.get_password(db, user)
        if hashed is None:
            return
        guess = self._throttle.count_attempt(found.name)
        if not self._is_password(hashed, current[: MAX_PASSWORD_CHARS + 1]):
            raise BadInput("current: this is not your password now.")
        self._throttle.was_right(guess)

    def change_password(self, user: int, current: str, password: str) -> None:
        """A new password for whoever knows the present one, or has none yet; all sessions of this person end. Raises
        BadInput, or TooMany after many tries."""
        self.check_password(user, current)
        self.set_password(user, password)

    def new_session(self, user: int, how: str, *, browser: str = "", address: str = "") -> str:
        """A session for somebody who proved already who they are."""
        return self._new_session(self.get(user), how, browser, address)

    def log_in(self, name: str, password: str, *, browser: str = "", address: str = "") -> str:
        """A new session's token; raises BadInput when name or password is wrong, TooMany after many tries, and
        SecondFactorNeeded when they are right and a code is asked for too."""
        guess = self._throttle.count_attempt(name)
        with self._store.reading() as db:
            user = rows.get_user_by_name(db, name)
            hashed = rows.get_password(db, user.id) if user else None
        if not self._is_password(hashed, password[: MAX_PASSWORD_CHARS + 1]) or user is None:
            self._note_failed(user, address)
            raise BadInput("The name or the password is wrong.")
        self._throttle.was_right(guess)
        with self._store.reading() as db:
            if second_factor_rows.is_on(db, user.id):
                raise SecondFactorNeeded(user)
        return self._new_session(user, "by password", browser, address)

    def make_link(self, user: int, *, good_for_s: float = LINK_S) -> str:
        """A one-time login code for this person, good for 15 minutes unless told otherwise."""
        self.get(user)
        code = secrets.token_urlsafe(32)
        with self._store.writing() as db:
            rows.insert_link(db, _sha256(code), user, time.time() + good_for_s)
        return code

    def use_link(self, code: str, *, browser: str = "", address: str = "") -> str:
        """A new session's token for a login code; raises NotFound when it is unknown, used or too old."""
        with self._store.writing() as db:
            user = rows.use_link(db, _sha256(code), time.time())
        if user is None:
            raise NotFound("This login link was already used or has expired. Run './hermit login-link' for a new one.")
        return self._new_session(user, "by a one-time link", browser, address)

    def of_session(self, token: str) -> User | None:
        """Whose live session this token is."""
        sha256, now = _sha256(token), time.time()
        with self._store.reading() as db:
            user, seen_at = rows.get_session_user(db, sha256, now), rows.get_session_seen_at(db, sha256)
        if user is not None and abs(now - seen_at) > NOTED_EVERY_S:
            with self._store.writing() as db:
                rows.touch_session(db, sha256, now)
        return user

    def list_sessions(self, user: int) -> list[rows.Session]:
        """Where this person is logged in."""
        with self._store.reading() as db:
            return rows.list_sessions(db, user, time.time())

    def end_session(self, user: int, session: str) -> None:
        """End the session of this person whose ``session_id`` this is; raises NotFound."""
        for found in self.list_sessions(user):
            if session_id(found.sha256) == session:
                with self._store.writing() as db:
                    rows.delete_session(db, found.sha256)
                self.changes += 1
                return
        raise NotFound("This login has ended already.")

    def log_out(self, token: str) -> None:
        """End a session; unknown is fine."""
        with self._store.writing() as db:
            rows.delete_session(db, _sha256(token))
        self.changes += 1

    def log_out_everywhere(self, user: int) -> None:
        """End every session of this person, and every login link not used yet; API tokens stay. Raises NotFound."""
        found, now = self.get(user), time.time()
        with self._store.writing() as db:
            rows.delete_sessions(db, user)
            rows.delete_links(db, user, now)
            audit_rows.insert_record(db, "logout", f"{found.name} was logged out everywhere.", now=now, user=user)
        self.changes += 1

    def log_everybody_out(self, *, by: str) -> int:
        """End every session of every person, and every login link not used yet; API tokens stay. How many ended."""
        now = time.time()
        with self._store.writing() as db:
            count = rows.delete_all_sessions(db, now)
            audit_rows.insert_record(db, "logout", f"Everybody was logged out everywhere. By {by}.", now=now)
        self.changes += 1
        return count

    def of_token(self, token: str) -> User | None:
        """Whose API token this is."""
        if any([hmac.compare_digest(token.encode(), fixed) for fixed in self._fixed_tokens]):  # noqa: C419 - no early end
            return self.get_operator()
        sha256, now = _sha256(token), time.time()
        with self._store.reading() as db:
            user = rows.get_token_user(db, sha256)
            is_noted = rows.was_token_touched(db, sha256, since=now - NOTED_EVERY_S)
        if user is not None and not is_noted:
            with self._store.writing() as db:
                rows.touch_token(db, sha256, now)
        return user

    def login_of(self, token: str) -> str:
        """What stands for a session's or an API token where it can be read: nobody gets in by it."""
        return _sha256(token)

    def holder_of(self, login: str) -> User | None:
        """Whose login this is, as long as it lasts."""
        if any(login == hashlib.sha256(fixed).hexdigest() for fixed in self._fixed_tokens):
            return self.get_operator()
        with self._store.reading() as db:
            return rows.get_session_user(db, login, time.time()) or rows.get_token_user(db, login)

    def list_tokens(self) -> list[rows.ApiToken]:
        """Every API token, without what it is."""
        with self._store.reading() as db:
            return rows.list_tokens(db)

    def remove_token(self, name: str) -> None:
        """An API token works no more; raises NotFound."""
        with self._store.writing() as db:
            user = rows.delete_token(db, name)
            if user is None:
                raise NotFound(f"There is no API token called {name[:64]!r}.")
            audit_rows.insert_record(db, "token.removed", f"API token {name} was removed.", now=time.time(), user=user)
        self.changes += 1

    def make_token(self, name: str, user: int) -> str:
        """A new API token, shown once; raises BadInput or Conflict about the name."""
        if not name.strip() or len(name) > 64 or not name.isprintable():
            raise BadInput("name: a token needs a name of 1 to 64 characters, such as 'phone'.")
        token = "hs_" + secrets.token_urlsafe(32)
        with self._store.writing() as db:
            try:
                rows.insert_token(db, name, _sha256(token), user, time.time())
            except sqlite3.IntegrityError as error:
                raise Conflict(
                    worded("A token called %(name)s exists already. Choose another name.", name=name)
                ) from error
            audit_rows.insert_record(db, "token.added", f"API token {name} was made.", now=time.time(), user=user)
        return token

    def _new_session(self, user: User, how: str, browser: str, address: str) -> str:
        token = secrets.token_urlsafe(32)
        now = time.time()
        with self._store.writing() as db:
            sha256 = _sha256(token)
            rows.insert_session(db, sha256, user.id, now, now + SESSION_S, browser=browser, address=address)
            audit_rows.insert_record(db, "login", f"{user.name} logged in {how}.", now=now, user=user.id)
        return token

    def _note_failed(self, user: User | None, address: str) -> None:
        """What was typed is not kept: it may be a password in the wrong field."""
        whom = user.id if user else None
        text = f"A login as {user.name} failed." if user else "A login failed: nobody has that name."
        with self._store.writing() as db:
            audit_rows.insert_record(db, "login.failed", text, now=time.time(), user=whom, detail={"address": address})

    def _store_password(self, db: sqlite3.Connection, user: int, password: str) -> None:
        rows.set_password(db, user, self._hasher.hash(password), time.time())
        audit_rows.insert_record(db, "password.changed", "The password was changed.", now=time.time(), user=user)

    def _is_password(self, hashed: str | None, password: str) -> bool:
        try:
            with self._hashing:
                return self._hasher.verify(hashed or self._nobody, password) and hashed is not None
        except argon2.exceptions.VerifyMismatchError:
            return False


def session_id(sha256: str) -> str:
    """How a session is named where it is shown: nobody gets into it by this."""
    return sha256[:16]


def id_of_token(token: str) -> str:
    """The same, of the session's own token."""
    return session_id(_sha256(token))


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
