"""Which apps a turn made or changed. When it has ended its cubicle's ``www/`` is looked through, bounded, for what the
kernel says was changed since the turn began; that time is no program's to set, so nothing needs to be remembered from
before, and a restart in between loses nothing.
"""

from __future__ import annotations

import logging

from orchestrator.apps.previews.apps import AppKind, Apps, WebApp
from orchestrator.core.db.database import Store
from orchestrator.core.errors import OrchestratorError
from orchestrator.files.workspace import Workspaces
from orchestrator.turns import rows

logger = logging.getLogger(__name__)

MOST_TOLD = 10
_ENTRIES, _ENTRIES_IN_ALL = 3_000, 20_000
"""Of one app, and of all; what there is beyond that is not looked at. A thousand take 3 to 7 ms."""
_TICK_S = 0.01
"""The kernel's own clock for files may lag by a tick."""


class AppChanges:
    """Watches the ends of turns."""

    def __init__(self, store: Store, apps: Apps, workspaces: Workspaces) -> None:
        self._store = store
        self._apps = apps
        self._workspaces = workspaces

    def on_turn_end(self, turn: int) -> None:
        """The turn has ended: its apps are written down. One that ran no command changed none."""
        with self._store.reading() as db:
            found = rows.get_turn(db, turn) if rows.has_steps(db, turn) else None
        if found is None or found.started_at is None:
            return
        since = found.started_at - _TICK_S
        try:
            apps = self._apps.list_apps(found.cubicle)
            most = min(_ENTRIES, _ENTRIES_IN_ALL // max(1, len(apps)))
            names = [app.name for app in apps if self._is_new(app, since, most)][:MOST_TOLD]
        except OrchestratorError as error:  # the turn has its outcome, whatever the agent made of www/
            logger.warning("the apps of turn %s can't be told: %s", turn, error.message)
            return
        if names:
            with self._store.writing() as db:
                rows.add_apps(db, turn, names)

    def _is_new(self, app: WebApp, since: float, most: int) -> bool:
        if app.kind is AppKind.INCOMPLETE:
            return False
        try:
            path = (b"www", app.name.encode())
            return self._workspaces.is_newer(app.cubicle, path, since, max_entries=most)
        except OrchestratorError:  # gone, or no folder any more
            return False
