"""Grants: what a person allowed an agent in advance, so that they are not asked each time.

One noun for kinds of commands and for hosts. A grant is given by a person, by hand or with an approval, never by an
agent; it holds for an hour, for one conversation or, when an operator says so, always; it is listed and taken back.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Any

from orchestrator.agents.agents import Agents
from orchestrator.approvals import grant_rows as rows
from orchestrator.approvals import source_rows
from orchestrator.approvals.grant_rows import Grant, GrantKind, GrantScope
from orchestrator.approvals.policy import kinds
from orchestrator.approvals.source_rows import Source
from orchestrator.approvals.sources import COUNTED
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Forbidden, NotFound, TooMany
from orchestrator.core.events import Broker
from orchestrator.core.models import CubicleKey, Event, Role, User
from orchestrator.core.short_ids import typed_id
from orchestrator.core.text import escape_invisible
from orchestrator.web.sites import read_companion, read_site
from orchestrator.web.urls import parse_url

MOST = 200
"""Grants of one agent; nobody reads a longer list."""
_HOUR_S = 3600.0
_DAY_S = 24 * _HOUR_S
_MCP_TOOL = re.compile(r"[a-z0-9][a-z0-9-]{0,31}/[A-Za-z0-9_.-]{1,128}")
_LASTS_S = {GrantScope.HOUR: _HOUR_S, GrantScope.CONVERSATION: _DAY_S, GrantScope.ALWAYS: None}


class Grants:
    """Everything that was allowed in advance."""

    def __init__(self, *, store: Store, agents: Agents, broker: Broker, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._agents = agents
        self._broker = broker
        self._now = now

    def of_agent(self, agent: str, *, viewer: User) -> list[Grant]:
        """What the agent may do without asking; a member sees what holds in their own conversation. Raises NotFound."""
        self._agents.get(agent)
        user = None if viewer.role is Role.OPERATOR else viewer.id
        with self._store.reading() as db:
            return rows.list_grants(db, agent, user, self._now())

    def add_grant(
        self, agent: str, kind: GrantKind, subject: str, scope: GrantScope, *, by: User, surface: str
    ) -> Grant:
        """Allow it: in the giver's own conversation or, always, in everybody's. Raises NotFound for an unknown agent,
        BadInput for what is no such subject, Forbidden when a member says always, TooMany."""
        self._agents.get(agent)
        subject = _check_subject(kind, subject)
        with self._store.writing() as db:
            self.insert_grant(db, CubicleKey(agent, by.id), kind, (subject,), scope, by=by, surface=surface)
            held = rows.list_grants(db, agent, None, self._now())
        self._tell(CubicleKey(agent, by.id))
        user = None if scope is GrantScope.ALWAYS else by.id
        return next(g for g in held if (g.kind, g.subject, g.scope, g.user) == (kind, subject, scope, user))

    def insert_grant(
        self,
        db: sqlite3.Connection,
        key: CubicleKey,
        kind: GrantKind,
        subjects: Sequence[str],
        scope: GrantScope,
        *,
        by: User,
        surface: str,
        turn: int | None = None,
        read_mark: int | None = None,
    ) -> None:
        """The same within a transaction, for the person of the cubicle ``key``; what is for a conversation is for that
        of ``turn``, and without one for all of theirs. The giver could know what had been read up to ``read_mark``, or
        until now. Raises Forbidden, TooMany."""
        if scope is GrantScope.ALWAYS and by.role is not Role.OPERATOR:
            raise Forbidden("Only an operator can always allow something. You may allow it for this conversation.")
        now, lasts_s = self._now(), _LASTS_S[scope]
        rows.delete_expired(db, now)
        if rows.count_grants(db, key.agent) + len(subjects) > MOST:
            raise TooMany(f"{key.agent} has {MOST} grants already. Take some back first: './hermit grants' lists them.")
        who, mark = f"{by.name} ({surface})", source_rows.get_read_mark(db) if read_mark is None else read_mark
        for subject in subjects:
            user = None if scope is GrantScope.ALWAYS else key.user
            until = None if lasts_s is None else now + lasts_s
            place = rows.conversation_of(db, turn) if scope is GrantScope.CONVERSATION else None
            given = Grant(typed_id(), key.agent, user, kind, subject, scope, now, until, who, place, mark)
            rows.insert_grant(db, given)
            text = f"{who} lets {key.agent} do without a question, {_SPANS[scope]}: {_describe_grant(kind, subject)}."
            self._audit(db, key, f"{kind}.allowed", text, subject)

    def find_covering(
        self, db: sqlite3.Connection, key: CubicleKey, turn: int | None, wanted: Sequence[str]
    ) -> list[Grant] | None:
        """The grants by which a command of all these kinds need not be asked about in this turn; None when one is
        missing."""
        if not wanted:
            return None
        held = rows.list_live_grants(db, key, turn, GrantKind.COMMAND, self._now())
        found = [next((grant for grant in held if kinds.is_covered(grant.subject, kind)), None) for kind in wanted]
        return [grant for grant in found if grant is not None] if all(found) else None

    def list_hosts(self, db: sqlite3.Connection, key: CubicleKey, turn: int | None) -> frozenset[str]:
        """The hosts that the agent may fetch from in this turn's conversation without a question."""
        return self.list_subjects(db, key, turn, GrantKind.HOST)

    def list_subjects(
        self, db: sqlite3.Connection, key: CubicleKey, turn: int | None, kind: GrantKind
    ) -> frozenset[str]:
        """What is allowed of a kind in this turn's conversation."""
        return frozenset(grant.subject for grant in rows.list_live_grants(db, key, turn, kind, self._now()))

    def list_newcomers(
        self,
        db: sqlite3.Connection,
        key: CubicleKey,
        turn: int | None,
        subject: str,
        kind: GrantKind = GrantKind.HOST,
    ) -> list[Source] | None:
        """What this turn's conversation has read, of what the agent's settings count, since a person last allowed the
        host or site there: what the agent itself worded is no longer covered then. None where it is not allowed."""
        held = rows.list_live_grants(db, key, turn, kind, self._now())
        marks = [grant.read_mark for grant in held if grant.subject == subject]
        if not marks:
            return None
        kinds_counted = COUNTED[self._agents.get(key.agent).asks_again]
        place = rows.conversation_of(db, turn)
        return source_rows.list_sources(db, key, place, after=max(marks), kinds=kinds_counted)

    def revoke_grant(self, agent: str, grant: str, *, by: User) -> None:
        """From now on a person is asked again. Raises NotFound when there is none that is theirs to take back."""
        self._agents.get(agent)
        with self._store.writing() as db:
            found = rows.get_grant(db, agent, grant)
            if found is None or (by.role is not Role.OPERATOR and found.user != by.id):
                raise NotFound(f"{agent} has no such grant. './hermit grants {agent} list' shows which it has.")
            rows.delete_grant(db, found.id)
            key = CubicleKey(agent, by.id if found.user is None else found.user)
            what = _describe_grant(found.kind, found.subject)
            text = f"{by.name} took back what {agent} could do without a question: {what}."
            self._audit(db, key, f"{found.kind}.revoked", text, found.subject)
        self._tell(key)

    def _tell(self, key: CubicleKey) -> None:
        self._broker.publish(Event("agent", None, {"agent": key.agent}))

    def _audit(self, db: sqlite3.Connection, key: CubicleKey, kind: str, text: str, subject: str) -> None:
        detail = {"subject": subject}
        audit_rows.insert_record(
            db, kind, text, now=self._now(), agent=key.agent, user=key.user, turn=None, detail=detail
        )


_SPANS = {
    GrantScope.HOUR: "for an hour",
    GrantScope.CONVERSATION: "for this conversation",
    GrantScope.ALWAYS: "from now on",
}


def as_json(grant: Grant) -> dict[str, Any]:
    """The grant as surfaces show it."""
    return {
        "id": grant.id,
        "agent": grant.agent,
        "user": grant.user,
        "kind": str(grant.kind),
        "subject": grant.subject,
        "scope": str(grant.scope),
        "since": grant.since,
        "until": grant.until,
        "by": grant.by,
        "conversation": grant.conversation,
    }


def _check_subject(kind: GrantKind, subject: str) -> str:
    """The subject as it is kept; raises BadInput."""
    if kind is GrantKind.HOST:
        link = parse_url(f"https://{subject}/")
        if link.url != f"https://{link.host}/" or "/" in subject:
            raise BadInput("subject: write the host alone, such as example.com.")
        return link.host
    if kind is GrantKind.SITE:
        return _check_site(subject)
    if kind is GrantKind.MCP:
        if not _MCP_TOOL.fullmatch(subject):
            raise BadInput("subject: write the server and its tool, such as github/create_issue.")
        return subject
    if not kinds.is_kind(subject):
        raise BadInput(f"subject: this is no kind of command. Write it as one of {kinds.FORMS}.")
    return subject


def _check_site(subject: str) -> str:
    host, _, site = subject.partition(" with ")
    made = read_companion(host, site) if site else read_site(host)
    if made is None:
        raise BadInput(
            "subject: write a site such as example.com, or a host and the site that loads from it: "
            "static.example.net with example.com."
        )
    return made


def _describe_grant(kind: GrantKind, subject: str) -> str:
    if kind is GrantKind.SITE:
        return f"load from {subject} in its browser" if " with " in subject else f"open {subject} in its browser"
    if kind is GrantKind.MCP:
        return f"call {subject}"
    return f"fetch from {subject}" if kind is GrantKind.HOST else f"“{escape_invisible(subject)}”"
