"""Assets as a noun: asking a person, and hearing the answer.

What is approved is the exact URL, by its digest; what may be fetched is that and nothing else. Owns no thread and
touches no network: ``downloads`` fetches what this says was agreed to.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from orchestrator.agents import Agents
from orchestrator.approval_answers import quoted
from orchestrator.approvals import Approvals
from orchestrator.assets import words
from orchestrator.assets.endings import Endings, reference
from orchestrator.capabilities.table import Caller, Capability, Outcome, Policy
from orchestrator.errors import Forbidden, NotFound, TooMany
from orchestrator.fetch.fetcher import NewHost
from orchestrator.fetch.urls import Link, UrlRules, parse
from orchestrator.grants import Grants
from orchestrator.nouns import Approval, ApprovalStatus, Turn
from orchestrator.panel.actions import AssetRequest
from orchestrator.store import approvals as approval_rows
from orchestrator.store import assets as rows
from orchestrator.store import audit as audit_rows
from orchestrator.store.assets import Asset, AssetStatus
from orchestrator.store.database import Store
from orchestrator.typed_ids import typed_id

KIND = "asset"
COST = 20
MOST_HOPS = 5
"""How often one request may be sent on to a host that a person is asked about."""
_CHANGED = "The request was changed after a person agreed to it, so nothing was fetched. Ask again."


class Assets:
    """Everything that agents asked for."""

    def __init__(
        self, *, store: Store, agents: Agents, approvals: Approvals, grants: Grants, endings: Endings, rules: UrlRules
    ) -> None:
        self._store = store
        self._agents = agents
        self._approvals = approvals
        self._grants = grants
        self._endings = endings
        self._rules = rules
        self._wake: Callable[[], None] = lambda: None
        self.capability = Capability(AssetRequest, "assets", Policy.ASKS, COST, self.request)
        approvals.follow(KIND, self._decided)

    def when_due(self, wake: Callable[[], None]) -> None:
        """From now on ``wake`` is called when there is something to fetch."""
        self._wake = wake

    # --- looking -----------------------------------------------------------------------------------------------

    def every(self, status: AssetStatus | None = None, user: int | None = None, *, limit: int = 200) -> list[Asset]:
        """The newest assets, of one status and one person where given."""
        self._approvals.expire_due()
        with self._store.reading() as db:
            return rows.every(db, status=status, user=user, limit=limit)

    def get(self, asset: str) -> Asset:
        """The asset with this id; raises NotFound."""
        with self._store.reading() as db:
            found = rows.one(db, asset)
        if found is None:
            raise NotFound("There is no asset with this id. './hermit approvals' shows what is waiting.")
        return found

    def note(self, turn: Turn) -> str:
        """What ended since the agent last heard of it; once, at the start of a turn."""
        with self._store.writing() as db:
            ended = rows.tell(db, turn.cubicle, turn.id)
        return words.notes(ended)

    # --- asking ------------------------------------------------------------------------------------------------

    def request(self, db: sqlite3.Connection, caller: Caller, wish: AssetRequest) -> Outcome:
        """What the capability does: a person is asked, unless the host was allowed in advance. The same wish again,
        while the first is open, is the same."""
        link = parse(wish.url, self._rules)
        found = rows.under_way(db, caller.key, link.url)
        if found is not None:
            return _waits(found, words.under_way(found))
        if link.host in self._grants.hosts(db, caller.key):
            return self._at_once(db, caller, wish, link)
        detail = words.detail(link, description=wish.description, file_type=wish.file_type)
        wanted = words.name_of(link, wish.file_type)
        asset = self._asked(db, caller, link, detail, wanted=wanted)
        return _waits(asset, words.asked(asset))

    def _at_once(self, db: sqlite3.Connection, caller: Caller, wish: AssetRequest, link: Link) -> Outcome:
        detail = words.detail(link, description=wish.description, file_type=wish.file_type)
        asset = _new(typed_id(), caller, link, detail, wanted=words.name_of(link, wish.file_type))
        rows.add(db, asset)
        rows.begin(db, asset.id)
        self._audit(db, asset, "asset.allowed", f"{link.url} is fetched without a question: {link.host} is allowed.")
        self._store.after_commit(partial(self._began, asset.id))
        return _waits(asset, words.under_way(asset))

    def _asked(
        self, db: sqlite3.Connection, caller: Caller, link: Link, detail: dict[str, Any], *, wanted: str
    ) -> Asset:
        """The question about this link, new or open already, with its asset. Raises TooMany."""
        approval = self._approvals.ask(
            db,
            caller.key,
            caller.turn,
            kind=KIND,
            text=link.url,
            reason=words.reason(link),
            detail=detail,
            timeout_s=self._agents.get(caller.key.agent).approval_timeout_s,
        )
        found = rows.one(db, approval.id)
        if found is not None:
            return found
        asset = _new(approval.id, caller, link, detail, wanted=wanted)
        rows.add(db, asset)
        self._store.after_commit(partial(self._endings.tell, asset))
        return asset

    # --- the answer --------------------------------------------------------------------------------------------

    def _decided(self, db: sqlite3.Connection, approval: Approval) -> None:
        asset = rows.one(db, approval.id)
        if asset is None:
            return  # whoever asked was deleted meanwhile
        if approval.status is not ApprovalStatus.APPROVED:
            self._endings.end(db, asset, AssetStatus(str(approval.status)), quoted(approval).strip())
        elif not self._is_what_was_asked(asset, approval):
            self._endings.end(db, asset, AssetStatus.FAILED, _CHANGED)
        else:
            rows.begin(db, asset.id)
            self._store.after_commit(partial(self._began, asset.id))

    def _began(self, asset: str) -> None:
        with self._store.reading() as db:
            found = rows.one(db, asset)
        if found is not None:
            self._endings.tell(found)
        self._wake()

    def _is_what_was_asked(self, asset: Asset, approval: Approval) -> bool:
        """What would be fetched is, to the byte, what a person saw."""
        digest = hashlib.sha256(asset.url.encode()).hexdigest()
        is_same = asset.url == approval.text and digest == approval.sha256 and asset.cubicle == approval.cubicle
        return is_same and asset.host == approval.detail.get("host") == parse(asset.url, self._rules).host

    # --- what the worker asks and says -------------------------------------------------------------------------

    def agreed(self, asset: Asset) -> tuple[Link, frozenset[str]]:
        """What may be fetched, and to which other hosts it may send on. Raises Forbidden when nobody has agreed."""
        with self._store.reading() as db:
            approval = approval_rows.one(db, asset.id)
            allowed = self._grants.hosts(db, asset.cubicle)
            before = frozenset(earlier.host for earlier in rows.led_here(db, asset.id))
        link = parse(asset.url, self._rules)
        if approval is None and not (asset.host == link.host and link.host in allowed):
            raise Forbidden(f"{asset.host} is not allowed any more, so nothing was fetched. Ask again.")
        if approval is not None:
            is_yes = approval.status is ApprovalStatus.APPROVED
            if not (is_yes and self._is_what_was_asked(asset, approval)):
                raise Forbidden(_CHANGED)
        return link, allowed | before

    def arrived(self, asset: str) -> None:
        """The file lies in ``in/``."""
        self._ended(asset, AssetStatus.DONE)

    def failed(self, asset: str, error: str) -> None:
        """Nothing came; ``error`` says why."""
        self._ended(asset, AssetStatus.FAILED, error)

    def sent_on(self, asset: str, found: NewHost) -> None:
        """It sends on to a host that nobody agreed to: a person is asked about that, and it waits."""
        with self._store.writing() as db:
            before = rows.one(db, asset)
            if before is None or not rows.is_wanted(db, asset):
                return
            self._send_on(db, before, found.link)

    def _send_on(self, db: sqlite3.Connection, before: Asset, link: Link) -> None:
        if len(rows.led_here(db, before.id)) >= MOST_HOPS:
            error = f"{before.host} sends on to {link.host}, and that is one host too many."
            self._endings.end(db, before, AssetStatus.FAILED, error)
            return
        onward = rows.under_way(db, before.cubicle, link.url)
        if onward is None:
            fields = {"description": before.description, "file_type": before.file_type, "led_by": before.url}
            detail = words.detail(link, **fields)
            try:
                caller = Caller(before.cubicle, before.turn)
                onward = self._asked(db, caller, link, detail, wanted=before.wanted)
            except TooMany as error:
                why = f"{before.host} sends on to {link.host}, which a person must be asked about. {error.message}"
                self._endings.end(db, before, AssetStatus.FAILED, why)
                return
        rows.send_on(db, before.id, onward.id)
        self._audit(db, before, "asset.sent_on", f"{before.url} sends on to {link.url}: a person is asked.")

    def _ended(self, asset: str, status: AssetStatus, error: str = "") -> None:
        with self._store.writing() as db:
            if (found := rows.one(db, asset)) is not None:
                self._endings.end(db, found, status, error)

    def _audit(self, db: sqlite3.Connection, asset: Asset, kind: str, text: str) -> None:
        key, detail = asset.cubicle, {"asset": asset.id, "url": asset.url, "host": asset.host}
        now = time.time()
        audit_rows.add(db, kind, text, now=now, agent=key.agent, user=key.user, turn=asset.turn, detail=detail)


def _waits(asset: Asset, text: str) -> Outcome:
    return Outcome(text, {"id": asset.id}, waits_for=reference(asset.id))


def _new(asset: str, caller: Caller, link: Link, detail: Mapping[str, Any], *, wanted: str) -> Asset:
    return Asset(
        id=asset,
        cubicle=caller.key,
        turn=caller.turn,
        description=detail["description"],
        url=link.url,
        host=link.host,
        file_type=detail["file_type"],
        status=AssetStatus.ASKED,
        error="",
        onward="",
        wanted=wanted,
        name="",
        size_bytes=0,
        sha256="",
        content_type="",
        asked_at=time.time(),
        ended_at=None,
        told_turn=None,
    )
