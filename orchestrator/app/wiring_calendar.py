"""The part of the composition root for the calendar."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from orchestrator.agents.publisher import Publisher
from orchestrator.app.wiring import AppContext
from orchestrator.capabilities.calendar.deeds import CalendarDeeds
from orchestrator.capabilities.calendar.entries import CalendarEntries
from orchestrator.capabilities.calendar.feeds import Feeds
from orchestrator.capabilities.calendar.notifications import CalendarNotifications
from orchestrator.capabilities.calendar.published import NAME, PublishedCalendar
from orchestrator.capabilities.calendar.rows import CalendarEntry
from orchestrator.capabilities.calendar.runs import CalendarRuns
from orchestrator.capabilities.calendar.scheduler import CalendarScheduler
from orchestrator.capabilities.status.report import Next
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CALENDAR, CubicleKey
from orchestrator.turns.queue import Turns


class Calendar:
    """The agenda with all that works for it."""

    def __init__(self, context: AppContext, turns: Turns, *, now: Callable[[], float] = time.time) -> None:
        store, broker, home, hooks = context.store, context.broker, context.home, context.hooks
        self._turns = turns
        announcer = CalendarNotifications(context.notifications, context.users, called=context.agents.called)
        self._runs = CalendarRuns(
            store=store, broker=broker, announcer=announcer, submit=self._submit_turn, hooks=hooks, now=now
        )
        feeds = Feeds(store, install=home.install, base_url=context.settings.link_url, now=now)
        self.calendar = CalendarEntries(
            store=store,
            broker=broker,
            announcer=announcer,
            runs=self._runs,
            feeds=feeds,
            hooks=hooks,
            now=now,
        )
        self.handlers = CalendarDeeds(self.calendar, self._runs, announcer)
        self.handlers.register_buttons(context.notifications)
        self._snapshots = Publisher(
            NAME,
            PublishedCalendar(self.calendar, announcer).build,
            store=store,
            workspaces=context.workspaces,
            scratch=home.scratch,
        )
        self._clock = CalendarScheduler(self._runs.run_due, self._runs.next_due_at, now=now)
        hooks.calendar_changed.subscribe(self._snapshots.request_publish)
        hooks.calendar_changed.subscribe(lambda _key: self._clock.wake())
        hooks.turn_ended.subscribe(lambda _ended: self._clock.wake())
        hooks.cubicle_starting.subscribe(self._snapshots.publish_now)

    def start(self) -> None:
        """What is due runs, and what was missed or left half done is dealt with."""
        self._snapshots.start()
        self._clock.start()

    def close(self) -> None:
        """Nothing comes due any more."""
        self._clock.close()
        self._snapshots.close()

    def next_due(self, key: CubicleKey) -> Next | None:
        """What is due next in a cubicle."""
        found = self.calendar.list_upcoming(agent=key.agent, user=key.user, limit=1)
        return Next(found[0][0].id, found[0][0].title, found[0][1]) if found else None

    def _submit_turn(self, entry: CalendarEntry, origin: str) -> int:
        submit = partial(self._turns.submit, entry.cubicle, entry.prompt, source=CALENDAR, origin=origin)
        try:
            return submit(conversation=entry.conversation).id
        except NotFound:  # the conversation was deleted
            return submit(conversation=None).id
