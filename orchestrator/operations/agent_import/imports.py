"""Imports: a zip is looked at and kept for an hour, in memory alone; whoever looked decides, and all of it comes in one
transaction or nothing does. Its files are rows until they lie in the workspace, so that a death in between loses none.

Nothing of an import ever runs: schedules arrive paused.
"""

from __future__ import annotations

import hashlib
import io
import logging
import secrets
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from orchestrator.agents.agent_fields import NAME
from orchestrator.agents.agents import Agents
from orchestrator.capabilities.calendar.entries import CalendarEntries
from orchestrator.capabilities.memory.memory import Memories
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound, OrchestratorError
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import CubicleKey, User
from orchestrator.files.workspace import Workspaces
from orchestrator.operations.agent_import import import_rows
from orchestrator.operations.agent_import.archive import MOST_FILE_BYTES, open_archive
from orchestrator.operations.agent_import.planning import ImportPlan, plan_import

logger = logging.getLogger(__name__)

KEPT_S = 3_600.0
MOST_KEPT = 4
"""Zips that were looked at and not decided about; the oldest goes."""


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A zip that somebody looked at."""

    id: str
    user: int
    content: bytes = field(repr=False)
    at: float


@dataclass(frozen=True, slots=True)
class Imported:
    """What came."""

    agent: str
    is_new: bool
    facts: int
    entries: int
    files: int
    pending: int
    """Files that the disk did not take yet; they come at the next start at the latest."""


class Imports:
    """All imports of this install."""

    def __init__(
        self,
        store: Store,
        *,
        agents: Agents,
        memories: Memories,
        calendar: CalendarEntries,
        workspaces: Workspaces,
        hooks: Hooks,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._agents, self._workspaces, self._hooks = store, agents, workspaces, hooks
        self._memories, self._calendar, self._now = memories, calendar, now
        self._looked_at: dict[str, LookedAt] = {}
        self._lock = threading.Lock()  # protects _looked_at
        self._laying = threading.Lock()  # one thread at a time puts files where they belong

    def look(self, content: bytes, user: User) -> tuple[str, ImportPlan]:
        """The dry run of a zip, and the id under which it is kept. Raises BadInput or TooLarge."""
        plan = self._plan(content, user)
        looked = LookedAt(secrets.token_urlsafe(12), user.id, content, self._now())
        with self._lock:
            self._forget_old()
            while len(self._looked_at) >= MOST_KEPT:
                del self._looked_at[min(self._looked_at.values(), key=lambda one: one.at).id]
            self._looked_at[looked.id] = looked
        return looked.id, plan

    def get_plan(self, number: str, user: User, *, ticked: Collection[str] = ()) -> ImportPlan:
        """The same again; of files with a secret those that are ticked come. Raises NotFound or BadInput."""
        return self._plan(self._find(number, user).content, user, ticked)

    def carry_out(
        self, number: str, user: User, name: str, fields: Mapping[str, Any], ticked: Collection[str]
    ) -> Imported:
        """All of it comes: to a new agent of this name, which ``fields`` may call and dress otherwise, or to the one
        that is there, which stays who it is. Raises NotFound, BadInput, Conflict or TooMany; then nothing has come."""
        looked = self._find(number, user)
        plan = self._plan(looked.content, user, ticked)
        unknown = sorted(set(ticked) - set(plan.secrets))
        if unknown:
            raise BadInput(f"secrets: {unknown[0][:80]} is none of the files that were asked about.")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise BadInput("agent: use 1 to 32 lowercase letters, digits and hyphens, such as 'juno'.")
        key = CubicleKey(name, user.id)
        with self._store.writing() as db:
            is_new = all(agent.name != name for agent in self._agents.list_agents())
            if is_new:
                self._agents.create({"name": name, **_persona(plan), **fields})
            for fact in plan.facts:
                self._memories.add_fact(key, fact.text, by=user.name)
            for planned in plan.entries:
                self._calendar.create_entry(key, {**planned.fields, "status": "paused"}, by=user)
            for file in plan.files:
                import_rows.insert_file(db, key, file.name, file.content)
            came = Imported(name, is_new, len(plan.facts), len(plan.entries), len(plan.files), 0)
            text = f"{user.name} imported from {plan.product}: {_count(came)}."
            audit_rows.insert_record(
                db,
                "agent.imported",
                text,
                now=self._now(),
                agent=name,
                user=user.id,
                detail={"secrets": sorted(ticked)},
            )
        with self._lock:
            self._looked_at.pop(number, None)
        self.lay_files()
        with self._store.reading() as db:
            pending = import_rows.count_files(db, key)
        return Imported(name, is_new, came.facts, came.entries, came.files, pending)

    def lay_files(self) -> None:
        """Every file that is on its way lies in its ``in/``, or stays on its way and is told in the log. At the start,
        and after each import."""
        number = 0
        with self._laying:
            while True:
                with self._store.reading() as db:
                    file = import_rows.next_file(db, number)
                if file is None:
                    return
                number = file.id
                try:
                    self._lay(file)
                except OrchestratorError as error:
                    logger.warning("the imported file %s of %s waits: %s", file.name, file.cubicle, error.message)
                    continue
                with self._store.writing() as db:
                    import_rows.delete_file(db, file.id)
                self._hooks.files_changed.fire(file.cubicle)

    def _lay(self, file: import_rows.ImportedFile) -> None:
        """After a death it may lie there already: then it is the same, byte by byte."""
        key, content = file.cubicle, file.content
        try:
            self._workspaces.write_in(key, file.name, io.BytesIO(content), max_bytes=MOST_FILE_BYTES, is_numbered=False)
        except Conflict:
            there = self._workspaces.read_head(key, (b"in", file.name.encode()), max_bytes=len(content) + 1)
            if hashlib.sha256(there).digest() != hashlib.sha256(content).digest():
                self._workspaces.write_in(key, file.name, io.BytesIO(content), max_bytes=MOST_FILE_BYTES)

    def _plan(self, content: bytes, user: User, ticked: Collection[str] = ()) -> ImportPlan:
        now = datetime.fromtimestamp(self._now(), UTC)
        return plan_import(open_archive(content), zone=user.time_zone, now=now, ticked=ticked)

    def _find(self, number: str, user: User) -> LookedAt:
        with self._lock:
            self._forget_old()
            found = self._looked_at.get(number)
        if found is None or found.user != user.id:
            raise NotFound("There is no such import, or it is older than an hour. Send the zip again.")
        return found

    def _forget_old(self) -> None:
        since = self._now() - KEPT_S
        self._looked_at = {number: one for number, one in self._looked_at.items() if one.at >= since}


def _persona(plan: ImportPlan) -> dict[str, str]:
    """What a new agent is made with; where nothing was found, an agent is as any other."""
    persona = plan.persona
    found = {
        "display_name": persona.display_name,
        "avatar": persona.avatar,
        "role": persona.role,
        "personality": persona.personality,
    }
    return {field: value for field, value in found.items() if value}


def _count(came: Imported) -> str:
    return f"{came.facts:,} memories, {came.entries:,} schedules (paused), {came.files:,} files"
