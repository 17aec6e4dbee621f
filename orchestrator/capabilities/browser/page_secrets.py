"""Page secrets: a password or a token that a person keeps for one host. Their agents know its name and host; the
browser's driver types it into a page of exactly that host. Nobody is shown the value again.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from orchestrator.agents.agents import Agents
from orchestrator.capabilities.browser import page_secret_rows as rows
from orchestrator.capabilities.browser.page_secret_rows import PageSecret
from orchestrator.capabilities.capability import Caller, Outcome
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, NotFound, TooMany
from orchestrator.core.models import CubicleKey
from orchestrator.core.short_ids import typed_id
from orchestrator.core.text import in_quotes
from orchestrator.languages.told import worded
from orchestrator.web.urls import DEFAULT_PORTS, UrlRules, parse_url

MOST = 100
"""Secrets of a person."""
LEAST_CHARS, MOST_CHARS = 4, 1_000
"""Of a value. A shorter one could not be hidden in what a page shows without hiding half of it."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


class PageSecrets:
    """Everybody's. Any thread may call."""

    def __init__(
        self,
        store: Store,
        agents: Agents,
        *,
        private_hosts: frozenset[tuple[str, int]],
        blot: Callable[[str], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        """``private_hosts``, with their ports, may be without encryption; ``blot`` keeps a text out of the log."""
        self._store, self._agents, self._named, self._blot, self._now = store, agents, private_hosts, blot, now

    def start(self) -> None:
        """What was kept before is kept out of the log."""
        with self._store.reading() as db:
            values = rows.list_values(db)
        for value in values:
            self._blot(value)

    # --- people

    def list_secrets(self, user: int) -> list[PageSecret]:
        """A person's, without the values."""
        with self._store.reading() as db:
            return rows.list_secrets(db, user)

    def put_secret(self, user: int, name: str, host: str, value: str, agent: str | None = None) -> PageSecret:
        """Keep a value for a host, in the place of one of the same name, host and agent.

        Args:
            user: whose.
            name: what agents call it.
            host: whose pages may get it; with a port where it is not the usual one.
            value: 4 to 1,000 characters on one line.
            agent: who alone may use it.

        Raises:
            BadInput: a field is of no use; the message names it.
            NotFound: there is no such agent.
            TooMany: the person has as many as one may.
        """
        if not _NAME.fullmatch(name):
            raise BadInput("name: write 1 to 40 letters, digits, dots, hyphens or underscores, such as shop-password.")
        host = self._read_host(host)
        if not LEAST_CHARS <= len(value) <= MOST_CHARS or not value.isprintable():
            raise BadInput(f"value: write {LEAST_CHARS} to {MOST_CHARS:,} visible characters on one line.")
        if agent is not None:
            self._agents.get(agent)
        self._blot(value)
        secret = PageSecret(typed_id(), user, agent, name, host, self._now())
        with self._store.writing() as db:
            if len(rows.list_secrets(db, user)) >= MOST:
                raise TooMany(worded("You have %(count)s secrets already. Remove one first.", count=MOST))
            rows.put_secret(db, secret, value)
            self._write_audit(db, "secret.kept", f"Secret {name} for pages of {host} was kept.", secret)
        return secret

    def remove(self, user: int, secret: str) -> None:
        """No agent can use it any more. Raises NotFound."""
        with self._store.writing() as db:
            gone = rows.delete_secret(db, user, secret)
            if gone is None:
                raise NotFound("You have no such secret.")
            self._write_audit(db, "secret.removed", f"Secret {gone.name} for pages of {gone.host} was removed.", gone)

    # --- agents

    def request_list(self, db: sqlite3.Connection, caller: Caller, _given: Mapping[str, Any]) -> Outcome:
        """What there is for this agent to type: names and hosts."""
        found = [{"name": one.name, "host": one.host} for one in rows.list_usable(db, caller.key)]
        lines = [f"{one['name']} for {one['host']}" for one in found]
        return Outcome("\n".join(lines) or "The person has kept no secret for you.", {"secrets": found})

    def use_secret(self, key: CubicleKey, name: str, origin: str) -> str:
        """The value of this name for a page of ``origin`` (``https://shop.test``); that it is used is written down
        before. Raises NotFound where the person kept none for exactly that host."""
        host = self._host_of(origin)
        with self._store.writing() as db:
            usable = [one for one in rows.list_usable(db, key) if one.name == name]
            found = next((one for one in usable if host and one.host == host), None)
            if found is None:
                raise NotFound(self._explain(name, origin, usable))
            value = rows.use_value(db, found.id, self._now())
            text = f"Secret {name} was taken for a page of {host}."
            self._write_audit(db, "secret.used", text, found, agent=key.agent)
        return value

    def _explain(self, name: str, origin: str, usable: list[PageSecret]) -> str:
        if not usable:
            return f"There is no secret {in_quotes(name, 40)}. `hermit browser secrets` lists those that there are."
        hosts = {one.host.partition(":")[0] for one in usable}
        if not self._host_of(origin) and urlsplit(origin).hostname in hosts:
            return f"{origin} is not encrypted, so no secret is typed there."
        return f"Secret {name} is for {', '.join(one.host for one in usable)} alone, and this page is of {origin}."

    def _host_of(self, origin: str) -> str:
        """As hosts are kept; empty where no secret may be given."""
        parts = urlsplit(origin)
        host, usual = parts.hostname or "", DEFAULT_PORTS.get(parts.scheme, 0)
        port = parts.port or usual
        if parts.scheme != "https" and (host, port) not in self._named:
            return ""
        return host if port == usual else f"{host}:{port}"

    def _read_host(self, text: str) -> str:
        ports = frozenset({*DEFAULT_PORTS.values(), *(port for _, port in self._named)})
        try:
            link = parse_url(f"https://{text.strip()}/", UrlRules(ports=ports, local_names=bool(self._named)))
        except BadInput as error:
            raise BadInput(f"host: write the host alone, such as shop.example. {error.message}") from error
        if link.path != "/" or link.query or "/" in text or "#" in text:
            raise BadInput("host: write the host alone, such as shop.example.")
        named_http = link.port == DEFAULT_PORTS["http"] and (link.host, link.port) in self._named
        return link.host if link.port == DEFAULT_PORTS["https"] or named_http else f"{link.host}:{link.port}"

    def _write_audit(
        self, db: sqlite3.Connection, kind: str, text: str, secret: PageSecret, *, agent: str | None = None
    ) -> None:
        detail = {"name": secret.name, "host": secret.host}
        audit_rows.insert_record(
            db, kind, text, now=self._now(), agent=agent or secret.agent, user=secret.user, detail=detail
        )
