"""Second factors: the code that the login by password asks for beside the password, of people who turned that on.

A code is taken once. Guesses are throttled like those at passwords. Whoever has lost their app has recovery codes, each
good once; a login link gets in without any code. Where a login stands between password and code is kept in memory.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.agents import second_factor_rows as rows
from orchestrator.agents import totp, user_rows
from orchestrator.agents.throttle import Throttle
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.core.models import User

CODES = 10
HALFWAY_S = 300.0
"""How long there is for the code after the password."""
_MOST_HALFWAY = 1_000
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""None looks like another."""
_WRONG = "The code is wrong or was used already. Codes change every 30 seconds; check that your phone's clock is right."


@dataclass(frozen=True, slots=True)
class _Halfway:
    """Somebody who has given the right password."""

    user: int
    password: str
    """Its hash then: with another one it was for nothing."""
    until: float
    how: str
    """What they have proven who they are by, as the audit log has it."""


class SecondFactors:
    """Everybody's."""

    def __init__(self, store: Store, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now
        self._throttle = Throttle()
        self._halfway: dict[str, _Halfway] = {}
        self._lock = threading.Lock()  # protects _halfway

    def is_on(self, user: int) -> bool:
        """The login by password asks this person for a code."""
        with self._store.reading() as db:
            return rows.is_on(db, user)

    def list_users(self) -> frozenset[int]:
        """Whom the login by password asks for a code."""
        with self._store.reading() as db:
            return rows.list_users_with_codes(db)

    def count_recovery_codes(self, user: int) -> int:
        """How many of this person's were not used."""
        with self._store.reading() as db:
            return rows.count_recovery_codes(db, user)

    # --- turning it on and off -------------------------------------------------------------------------------------

    def begin(self, user: int) -> str:
        """A secret for the person's app; it counts once they give a code of it. Raises Conflict when one counts."""
        secret = totp.make_secret()
        with self._store.writing() as db:
            if rows.is_on(db, user):
                raise Conflict("A second factor is set up already. Turn it off first.")
            rows.put_secret(db, user, secret)
        return secret

    def get_begun(self, user: int) -> str | None:
        """The secret that was begun with and doesn't count yet."""
        with self._store.reading() as db:
            found = rows.get_secret(db, user)
        return None if found is None or found.is_confirmed else found.secret

    def confirm(self, user: int, code: str) -> list[str]:
        """The secret counts from now on; recovery codes, shown once. Raises BadInput for a wrong code, NotFound when
        nothing was begun, Conflict, TooMany."""
        if self.is_on(user):
            raise Conflict("A second factor is set up already.")
        if self.get_begun(user) is None:
            raise NotFound("There is nothing to confirm. Begin with setting it up.")
        self._check_code(user, code)
        with self._store.writing() as db:
            rows.confirm_secret(db, user, self._now())
            self._write_audit(db, "totp.on", "A second factor was turned on.", user)
            return self._make_codes(db, user)

    def renew_recovery_codes(self, user: int, code: str) -> list[str]:
        """Other recovery codes for a right code. Raises BadInput, NotFound without a second factor, TooMany."""
        self._check_on(user)
        self._check_code(user, code)
        with self._store.writing() as db:
            self._write_audit(db, "totp.codes", "New recovery codes were made.", user)
            return self._make_codes(db, user)

    def turn_off(self, user: int, code: str) -> None:
        """Passwords alone count again, for a right code. Raises BadInput, NotFound without a second factor, TooMany."""
        self._check_on(user)
        self._check_code(user, code)
        with self._store.writing() as db:
            rows.delete_factor(db, user)
            self._write_audit(db, "totp.off", "The second factor was turned off.", user)

    def reset(self, user: int, *, by: str) -> None:
        """As ``turn_off``, by an operator for whoever has lost app and codes. Raises NotFound when there is none."""
        with self._store.writing() as db:
            if not rows.delete_factor(db, user):
                raise NotFound("This person has no second factor.")
            self._write_audit(db, "totp.reset", f"The second factor was taken away by {by}.", user)

    # --- logging in ------------------------------------------------------------------------------------------------

    def wait_for_code(self, user: User, how: str = "by password") -> str:
        """What stands for somebody who has given their password, or come in ``how`` else, until they give a code."""
        ticket, now = secrets.token_urlsafe(32), time.monotonic()
        with self._store.reading() as db:
            password = user_rows.get_password(db, user.id) or ""
        with self._lock:
            self._halfway = {key: one for key, one in self._halfway.items() if one.until > now}
            while len(self._halfway) >= _MOST_HALFWAY:
                del self._halfway[next(iter(self._halfway))]
            self._halfway[_sha256(ticket)] = _Halfway(user.id, password, now + HALFWAY_S, how)
        return ticket

    def is_waiting(self, ticket: str) -> bool:
        """Somebody with this ticket may still give a code."""
        return self._find_halfway(ticket) is not None

    def how_begun(self, ticket: str) -> str:
        """By what somebody with this ticket has come so far; empty when that took too long."""
        halfway = self._find_halfway(ticket)
        return "" if halfway is None else halfway.how

    def finish(self, ticket: str, code: str) -> int:
        """Who has given their password, and now a right code. Raises NotFound when that took too long, BadInput for a
        wrong code, TooMany."""
        halfway = self._find_halfway(ticket)
        if halfway is None:
            raise NotFound("That took too long. Log in again.")
        self._check_code(halfway.user, code)
        with self._lock:
            self._halfway.pop(_sha256(ticket), None)
        return halfway.user

    def _find_halfway(self, ticket: str) -> _Halfway | None:
        with self._lock:
            found = self._halfway.get(_sha256(ticket))
        if found is None or found.until < time.monotonic():
            return None
        with self._store.reading() as db:
            is_same = user_rows.get_password(db, found.user) == found.password and rows.is_on(db, found.user)
        return found if is_same else None

    # --- codes -----------------------------------------------------------------------------------------------------

    def _check_on(self, user: int) -> None:
        if not self.is_on(user):
            raise NotFound("No second factor is set up.")

    def _check_code(self, user: int, code: str) -> None:
        """It is a code of their app, or a recovery code where the secret counts; taken when this returns."""
        guess = self._throttle.count_attempt(f"{user}")
        given = "".join(char for char in code.lower() if char.isalnum())[:64]
        with self._store.writing() as db:
            found = rows.get_secret(db, user)
            is_right = found is not None and (
                self._use_step(db, user, found, given) or self._use_recovery(db, user, given)
            )
            if not is_right:
                self._write_audit(db, "login.failed", "A wrong code was given as second factor.", user)
        if not is_right:
            raise BadInput(_WRONG)
        self._throttle.was_right(guess)

    def _use_step(self, db: sqlite3.Connection, user: int, found: rows.TotpSecret, code: str) -> bool:
        step = totp.find_step(found.secret, code, now=self._now(), after=found.last_step)
        return step is not None and rows.use_step(db, user, step)

    def _use_recovery(self, db: sqlite3.Connection, user: int, code: str) -> bool:
        if not rows.use_recovery_code(db, user, _sha256(code), self._now()):
            return False
        left = rows.count_recovery_codes(db, user)
        self._write_audit(db, "totp.recovery", f"A recovery code was used; {left} are left.", user)
        return True

    def _make_codes(self, db: sqlite3.Connection, user: int) -> list[str]:
        made = ["".join(secrets.choice(_LETTERS) for _ in range(16)) for _ in range(CODES)]
        rows.put_recovery_codes(db, user, map(_sha256, made))
        return ["-".join(code[at : at + 4] for at in range(0, 16, 4)) for code in made]

    def _write_audit(self, db: sqlite3.Connection, kind: str, text: str, user: int) -> None:
        audit_rows.insert_record(db, kind, text, now=self._now(), user=user)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
