"""Logging in by the provider. Who comes in is whoever has connected the account: by the provider and its own id for
them, never by a name or an address. Somebody new becomes a member only where the settings say so.
"""

from __future__ import annotations

import hmac
import logging
import re
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.agents import passkey_rows, user_rows
from orchestrator.agents.oidc import rows
from orchestrator.agents.oidc.flow import FlowKeys, OidcFlow
from orchestrator.agents.oidc.id_tokens import OidcIdentity
from orchestrator.agents.oidc.provider import OidcProvider
from orchestrator.agents.oidc.rows import OidcAccount
from orchestrator.agents.throttle import Throttle
from orchestrator.agents.users import Users
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, Forbidden, NotFound, OrchestratorError
from orchestrator.core.models import Role, User
from orchestrator.core.oidc_settings import OidcSettings
from orchestrator.core.text import one_line

logger = logging.getLogger(__name__)

PATH = "/login/oidc/callback"
"""Where the provider sends the browser back to."""
_MOST_USED = 10_000
_MOST_CODE_CHARS = 4_000
_MOST_NAMESAKES = 100
_ERROR = re.compile(r"[a-z_]{1,40}", re.ASCII)
_OVER = "This login took too long, or began in another browser. Begin it again."


@dataclass(frozen=True, slots=True)
class OidcStart:
    """Where the browser goes, and what it keeps until it is back."""

    url: str
    cookie: str


@dataclass(frozen=True, slots=True)
class OidcAnswer:
    """With what the browser came back."""

    state: str
    code: str = ""
    issuer: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class OidcArrival:
    """Who came back, and for what."""

    user: User
    path: str
    """The page to go on to."""
    is_connection: bool
    """They were in already and have connected their account; else they come in."""
    is_new: bool = False
    """They were made a member just now."""
    has_mfa: bool = False
    """The provider asked them for more than one proof."""


class OidcLogins:
    """Everybody's."""

    def __init__(
        self,
        store: Store,
        users: Users,
        settings: OidcSettings,
        provider: OidcProvider,
        *,
        key: str,
        origin: str,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``origin`` is the one address of the dashboard to which the provider sends browsers back."""
        self._store, self._users, self._provider = store, users, provider
        self.settings = settings
        self.origin = origin
        self._flows = FlowKeys(key)
        self._now = now
        self._throttle = Throttle()
        self._used: dict[str, int] = {}
        self._lock = threading.Lock()  # protects _used

    @property
    def how(self) -> str:
        """As the audit log has it."""
        return f"by {one_line(self.settings.name, 64)}"

    @property
    def redirect_uri(self) -> str:
        """What the provider has to know of this install."""
        return self.origin + PATH

    # --- whose account is whose ------------------------------------------------------------------------------------

    def account_of(self, user: int) -> OidcAccount | None:
        """The account that a person has connected."""
        with self._store.reading() as db:
            return rows.account_of(db, self.settings.issuer, user) if self.settings.is_on else None

    def list_accounts(self) -> dict[int, OidcAccount]:
        """Everybody's, by person."""
        with self._store.reading() as db:
            return {account.user: account for account in rows.list_accounts(db, self.settings.issuer)}

    def disconnect(self, user: int) -> None:
        """A person's account gets nobody in any more. Raises NotFound, or Conflict when it is their only way in."""
        with self._store.writing() as db:
            if rows.account_of(db, self.settings.issuer, user) is None:
                raise NotFound("You have connected no account.")
            if user_rows.get_password(db, user) is None and not passkey_rows.list_passkeys(db, user):
                raise Conflict("This is your only way in. Set a password or add a passkey first.")
            self._delete(db, user, f"The account at {self._shown_name} was disconnected.")

    def unlink(self, user: int, *, by: str) -> None:
        """As ``disconnect``, by an operator, who can let them in by a link. Raises NotFound."""
        with self._store.writing() as db:
            if rows.account_of(db, self.settings.issuer, user) is None:
                raise NotFound("This person has connected no account.")
            self._delete(db, user, f"The account at {self._shown_name} was taken away by {by}.")

    def _delete(self, db: sqlite3.Connection, user: int, text: str) -> None:
        rows.delete_account(db, self.settings.issuer, user)
        audit_rows.insert_record(db, "oidc.disconnected", text, now=self._now(), user=user)

    # --- going and coming back -------------------------------------------------------------------------------------

    def begin_login(self, path: str) -> OidcStart:
        """Somebody logs in, and goes on to ``path``. Raises NotFound without a provider, Unavailable."""
        return self._begin(self._flows.new_flow(self._now(), path=path))

    def begin_connection(self, user: int, login: str) -> OidcStart:
        """Somebody who is in by ``login`` connects their account. Raises Conflict when they have one, Unavailable."""
        if self.account_of(user) is not None:
            raise Conflict("You have connected an account already. Disconnect it first.")
        return self._begin(self._flows.new_flow(self._now(), path="/you#oidc", user=user, login=login))

    def read_path(self, cookie: str) -> str:
        """Where whoever has this cookie wanted to go."""
        flow = self._flows.read_cookie(cookie, self._now())
        return "/" if flow is None else flow.next

    def finish(self, cookie: str, answer: OidcAnswer, *, address: str = "") -> OidcArrival:
        """The browser is back. Raises NotFound when it is not the one that went or took too long, BadInput for an
        answer that doesn't hold, Forbidden for somebody who may not come in, Conflict, TooMany, Unavailable."""
        self._check_on()
        flow = self._flows.read_cookie(cookie, self._now())
        if flow is None or not hmac.compare_digest(flow.state.encode(), answer.state.encode("utf-8", "replace")):
            raise NotFound(_OVER)
        self._use_once(flow)
        guess = self._throttle.count_attempt(flow.state)
        try:
            identity = self._identify(flow, answer)
            found = self._connect(flow, identity) if flow.user else self._let_in(flow, identity)
        except (BadInput, Forbidden) as error:
            self._note_failed(error, address)
            raise
        self._throttle.was_right(guess)
        return found

    def _begin(self, flow: OidcFlow) -> OidcStart:
        self._check_on()
        url = self._provider.authorization_url(
            state=flow.state,
            nonce=self._flows.nonce(flow),
            verifier=self._flows.verifier(flow),
            redirect_uri=self.redirect_uri,
        )
        return OidcStart(url, self._flows.write_cookie(flow))

    def _identify(self, flow: OidcFlow, answer: OidcAnswer) -> OidcIdentity:
        """Who the provider says they are."""
        names_itself = self._provider.get_metadata().names_itself
        if (answer.issuer or names_itself) and answer.issuer != self.settings.issuer:
            raise BadInput("Another provider sent this answer, so nothing was done. Log in again.")
        if answer.error or not answer.code or len(answer.code) > _MOST_CODE_CHARS:
            reason = answer.error if _ERROR.fullmatch(answer.error) else "no code"
            raise BadInput(f"{self._shown_name} let nobody in ({reason}). Try again.")
        identity = self._provider.redeem(
            answer.code,
            nonce=self._flows.nonce(flow),
            verifier=self._flows.verifier(flow),
            redirect_uri=self.redirect_uri,
        )
        if self.settings.group and self.settings.group not in (identity.groups or ()):
            raise Forbidden(
                f"Your account at {self._shown_name} is not in the group that may come in here. "
                "Ask whoever runs this install."
            )
        return identity

    def _let_in(self, flow: OidcFlow, identity: OidcIdentity) -> OidcArrival:
        now = self._now()
        with self._store.writing() as db:
            account = rows.get_account(db, self.settings.issuer, identity.subject)
            if account is not None:
                rows.touch_account(db, self.settings.issuer, identity.subject, identity.label, now)
                return OidcArrival(self._users.get(account.user), flow.next, False, has_mfa=identity.has_mfa)
            if not self.settings.makes_members:
                raise Forbidden(
                    f"Nobody here has connected this account at {self._shown_name}. Log in another way once, and "
                    "connect it under You."
                )
            user = self._users.add({"name": self._free_name(db, identity), "role": Role.MEMBER})
            self._insert(db, user.id, identity, used_at=now)
        return OidcArrival(user, flow.next, False, is_new=True, has_mfa=identity.has_mfa)

    def _connect(self, flow: OidcFlow, identity: OidcIdentity) -> OidcArrival:
        user = self._users.holder_of(flow.login)
        if user is None or user.id != flow.user:
            raise Forbidden("You were logged out meanwhile, so nothing was connected. Log in and try again.")
        with self._store.writing() as db:
            account = rows.get_account(db, self.settings.issuer, identity.subject)
            if account is not None and account.user != user.id:
                raise Conflict("Somebody else here has connected this account already.")
            if account is None:
                self._insert(db, user.id, identity)
        return OidcArrival(user, flow.next, is_connection=True)

    def _insert(self, db: sqlite3.Connection, user: int, identity: OidcIdentity, used_at: float | None = None) -> None:
        account = OidcAccount(self.settings.issuer, identity.subject, user, identity.label, self._now(), used_at)
        try:
            rows.insert_account(db, account)
        except sqlite3.IntegrityError as error:
            raise Conflict("You have connected another account already. Disconnect it first.") from error
        text = f"The account {one_line(identity.label, 100)} at {self._shown_name} was connected."
        audit_rows.insert_record(db, "oidc.connected", text, now=self._now(), user=user)

    def _free_name(self, db: sqlite3.Connection, identity: OidcIdentity) -> str:
        """What somebody new is called: as at the provider, or with a number where another has that name."""
        name = next(iter(identity.names), identity.label)[:60].strip() or "member"
        for number in range(1, _MOST_NAMESAKES):
            tried = name if number == 1 else f"{name} {number}"
            if user_rows.get_user_by_name(db, tried) is None:
                return tried
        raise Conflict(f"Too many people here are called {one_line(name, 60)}.")

    # --- checks ----------------------------------------------------------------------------------------------------

    @property
    def _shown_name(self) -> str:
        return one_line(self.settings.name, 64)

    def _check_on(self) -> None:
        if not self.settings.is_on:
            raise NotFound("No provider is set up. HERMIT_OIDC_ISSUER names one.")

    def _use_once(self, flow: OidcFlow) -> None:
        """Raises NotFound for one that came back before: its answer may have been seen."""
        now = self._now()
        with self._lock:
            self._used = {state: until for state, until in self._used.items() if until > now}
            if flow.state in self._used:
                raise NotFound(_OVER)
            while len(self._used) >= _MOST_USED:
                del self._used[next(iter(self._used))]
            self._used[flow.state] = flow.expires_at

    def _note_failed(self, error: OrchestratorError, address: str) -> None:
        text = f"A login by {self._shown_name} failed: {error.message}"
        with self._store.writing() as db:
            audit_rows.insert_record(db, "login.failed", text, now=self._now(), detail={"address": address})
