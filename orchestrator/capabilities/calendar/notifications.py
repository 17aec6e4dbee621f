"""What people are told of the calendar: what an agent put there or changed, what was missed, what keeps failing. Each
is a notice with what the person may do about it; the deeds are ``agenda``'s."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime

from orchestrator.agents.users import Users
from orchestrator.approvals.notification_rows import Notice, Offer
from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.calendar import describe as saying
from orchestrator.capabilities.calendar.input import EntryInput
from orchestrator.capabilities.calendar.rows import CalendarEntry
from orchestrator.core.errors import NotFound, TooMany
from orchestrator.core.models import CubicleKey

KIND = "calendar"
CANCEL, UNDO, RESUME, RUN = "calendar.cancel", "calendar.undo", "calendar.resume", "calendar.run"

MOST_TOLD = 100
"""So often within an hour a person is told what one agent did with their calendar; then it has to wait."""
_HOUR_S = 3600.0
_CANCEL = Offer("Cancel it", CANCEL)


class CalendarNotifications:
    """The calendar's voice."""

    def __init__(self, notifications: Notifications, users: Users, *, called: Callable[[str], str] = str) -> None:
        """``called`` knows what people call an agent."""
        self._notifications = notifications
        self._users, self._called = users, called

    def zone_of(self, key: CubicleKey) -> str:
        """The time zone of the person whose cubicle this is."""
        try:
            return self._users.get(key.user).time_zone
        except NotFound:  # they are being deleted
            return "UTC"

    def on_created(self, entry: CalendarEntry, turn: int | None) -> Notice:
        """An agent put an entry into the calendar. Raises TooMany, as the next two do."""
        self._check_flood(entry)
        zone = self.zone_of(entry.cubicle)
        ahead = f" {saying.due_next(entry, zone)}" if entry.repeat else ""
        text = (
            f"{self._called(entry.cubicle.agent)} put {saying.quote_title(entry)} into the calendar: "
            f"{saying.describe_rhythm(EntryInput.from_entry(entry), zone)}.{ahead}\n"
            f"Its prompt: {saying.prompt_of(entry)}"
        )
        return self._post_notification(entry, text, turn, (_CANCEL,))

    def on_changed(self, before: CalendarEntry, entry: CalendarEntry, turn: int | None) -> Notice:
        """An agent changed an entry."""
        self._check_flood(entry)
        zone = self.zone_of(entry.cubicle)
        was, now = EntryInput.from_entry(before), EntryInput.from_entry(entry)
        told = [f"{self._called(entry.cubicle.agent)} changed {saying.quote_title(before)} in the calendar."]
        if was.title != now.title:
            told.append(f"It is called {saying.quote_title(entry)} now.")
        if was.when != now.when:
            told.append(f"It was {saying.describe_rhythm(was, zone)}; now it is {saying.describe_rhythm(now, zone)}.")
        if was.prompt != now.prompt:
            told.append(f"Its prompt: {saying.prompt_of(entry)}")
        told.append(saying.due_next(entry, zone))
        return self._post_notification(entry, " ".join(told), turn, (Offer("Undo", UNDO), _CANCEL), before)

    def on_removed(self, before: CalendarEntry, turn: int | None) -> Notice:
        """An agent deleted an entry."""
        self._check_flood(before)
        text = (
            f"{self._called(before.cubicle.agent)} deleted {saying.quote_title(before)} from the calendar. "
            f"It was {saying.describe_rhythm(EntryInput.from_entry(before), self.zone_of(before.cubicle))}."
        )
        return self._post_notification(before, text, turn, (Offer("Undo", UNDO),), before)

    def on_missed(self, entry: CalendarEntry, due_at: datetime) -> Notice:
        """Something that was to happen once did not."""
        text = (
            f"{saying.quote_title(entry)} was due on {saying.format_moment(due_at, self.zone_of(entry.cubicle))}, "
            "more than a day ago, while HermitShell did not run. It was skipped."
        )
        return self._post_notification(entry, text, None, (Offer("Run it now", RUN),))

    def on_paused(self, entry: CalendarEntry) -> Notice:
        """An entry failed again and again."""
        text = (
            f"{saying.quote_title(entry)} failed {entry.failures} times in a row, "
            "so the calendar does not run it any more. Look at what its last turns say, then resume it or cancel it."
        )
        return self._post_notification(entry, text, None, (Offer("Resume", RESUME), _CANCEL))

    def on_finished(self, entry: CalendarEntry, *, has_run: bool, but: Notice | None) -> None:
        """An entry has had its last time, so there is nothing to cancel any more; its runs tell what came of it."""
        what = "already ran" if has_run else "was missed"
        self.settle_offers(entry.id, f"{saying.quote_title(entry)} {what}.", but=but)

    def run_by_hand(self, entry: CalendarEntry) -> None:
        """A person had it run, so nobody need offer that any more."""
        self._notifications.settle_buttons(KIND, str(entry.id), f"{saying.quote_title(entry)} was run.", offering=RUN)

    def settle_offers(self, entry: int, outcome: str, *, but: Notice | None = None) -> None:
        """What older notices about this entry offered is no longer to be had."""
        self._notifications.settle_buttons(KIND, str(entry), outcome, but=None if but is None else but.id)

    def _check_flood(self, entry: CalendarEntry) -> None:
        if self._notifications.is_flooded(entry.cubicle, KIND, most=MOST_TOLD, within_s=_HOUR_S):
            raise TooMany(
                f"The person was told {MOST_TOLD} times within an hour what changed in their calendar (a "
                "fixed limit). Nothing more can be changed for now; try again later."
            )

    def _post_notification(
        self,
        entry: CalendarEntry,
        text: str,
        turn: int | None,
        offers: Sequence[Offer],
        before: CalendarEntry | None = None,
    ) -> Notice:
        detail = (
            {}
            if before is None
            else {
                "before": {
                    **asdict(EntryInput.from_entry(before)),
                    "status": str(before.status),
                    "conversation": before.conversation,
                }
            }
        )
        return self._notifications.post(
            entry.cubicle,
            KIND,
            text,
            turn=turn,
            conversation=entry.conversation if turn is None else None,
            subject=str(entry.id),
            detail=detail,
            offers=offers,
        )
