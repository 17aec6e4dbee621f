"""Commands about what an agent does by itself, and what it knows: the calendar, memory, the person's time.

Titles and facts are mostly written by agents: they stand as such, on one line each. Buttons here are for the person
whose calendar or memory it is, and show the list again.
"""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.capabilities.calendar.rows import BY_AGENT, CalendarEntry, EntryStatus
from orchestrator.capabilities.memory.rows import Fact
from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.callbacks import ButtonHandler, PressResult
from orchestrator.channels.chat.command_context import ChatCommand, CommandCall, CommandContext, note_reply
from orchestrator.channels.chat.events import ButtonPress
from orchestrator.channels.chat.message import MessageBody, MessageButton
from orchestrator.channels.chat.system_text import (
    NoteLine,
    NotePart,
    QuotedText,
    format_ago,
    format_clock,
    format_count,
    system_note,
)
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey, User

PAUSE, RESUME, DELETE, FORGET = "entry.pause", "entry.resume", "entry.delete", "fact.forget"
_MOST_ENTRIES, _MOST_FACTS = 8, 10
_TITLE_CHARS, _FACT_CHARS = 80, 300


# --- the calendar ------------------------------------------------------------------------------------------------


def calendar(call: CommandCall) -> list[MessageBody]:
    """What comes due, with buttons; with ``link`` where calendar apps read it."""
    if call.message.argument.strip().casefold() == "link":
        url = call.context.services.calendar.feed_url(call.key)
        return note_reply(
            f"{call.called}'s calendar in your calendar app",
            "Subscribe to this address there. Anyone who has it can read the calendar, and nothing else:",
            QuotedText(url, 500),
        )
    return [_calendar(call.context, call.key, call.user, ref=call.ref(), person=call.message.sender.id)]


def _calendar(context: CommandContext, key: CubicleKey, user: User, *, ref: str, person: int) -> MessageBody:
    calendar, called = context.services.calendar, context.store.called(key.agent)
    entries = [e for e in calendar.list_entries(key.agent, key.user) if e.status is not EntryStatus.ENDED]
    if not entries:
        return MessageBody(
            system_note(
                f"{called}'s calendar is empty",
                f"Tell {called} what to do and when: “Every weekday at nine, look for new invoices.”",
            )
        )
    entries.sort(key=lambda entry: (entry.next_at is None, entry.next_at or 0.0, entry.id))
    shown, rest = entries[:_MOST_ENTRIES], len(entries) - _MOST_ENTRIES
    lines: list[NoteLine] = []
    buttons: list[tuple[MessageButton, ...]] = []
    for entry in shown:
        lines += _entry_lines(context, entry, user)
        again = ("⏸ Pause", PAUSE) if entry.status is EntryStatus.ACTIVE else ("▶ Resume", RESUME)
        buttons.append(
            tuple(
                MessageButton(
                    f"{label} {entry.id}",
                    context.buttons.make_button(key.agent, ref, person, kind, _subject(key, entry.id)),
                )
                for label, kind in (again, ("✕ Delete", DELETE))
            )
        )
    if rest > 0:
        lines.append(f"… and {format_count(rest, 'more entry', 'more entries')}. The dashboard shows them all.")
    unsure = "" if user.time_zone_known else " (you haven't set yours)"
    lines += ["", f"Times are {user.time_zone}{unsure}: /timezone. For your calendar app: /calendar link"]
    return MessageBody(system_note(f"{called}'s calendar", *lines), buttons=tuple(buttons))


def _entry_lines(context: CommandContext, entry: CalendarEntry, user: User) -> list[NoteLine]:
    now = context.now()
    when = "paused" if entry.next_at is None else format_clock(entry.next_at, user.time_zone, now)
    return [
        (f"{entry.id}  ", QuotedText(entry.title, _TITLE_CHARS), f" – {when}"),
        (f"     {context.services.calendar.describe_entry(entry)}, by ", *_author(entry.by)),
    ]


def _on_entry(context: CommandContext, deed: Callable[[CalendarEntry, User], str]) -> ButtonHandler:
    """A button that does something about an entry, and shows the calendar as it is then."""

    def press(taken: TakenButton, press: ButtonPress, user: User) -> PressResult:
        key, number = _parts(taken.subject)
        own = _owner(context, key, user)
        try:
            toast = deed(context.services.calendar.get_entry(number), user)
        except NotFound as error:  # it was deleted elsewhere, and the list shows that
            toast = error.message
        context.buttons.retire_buttons(taken.ref)
        return PressResult(toast, _calendar(context, key, own, ref=taken.ref, person=press.sender.id))

    return press


def _author(by: str) -> tuple[NotePart, ...]:
    return ("the agent",) if by == BY_AGENT else (QuotedText(by, 64),)


# --- memory ------------------------------------------------------------------------------------------------------


def memory(call: CommandCall) -> list[MessageBody]:
    """The newest facts; ``add`` notes one, ``search`` looks for some."""
    verb, _, words = call.message.argument.strip().partition(" ")
    memories, words = call.context.services.memories, words.strip()
    if verb.casefold() == "add":
        if not words:
            return note_reply(
                "What should be remembered?", "Write it after the command: /memory add I am allergic to nuts"
            )
        fact = memories.add_fact(call.key, words, by=call.user.name)
        return note_reply("Remembered", (f"{fact.id}  ", QuotedText(fact.text, _FACT_CHARS)))
    if verb.casefold() == "search":
        if not words:
            return note_reply("What should I look for?", "Write it after the command: /memory search allergies")
        found = memories.search_facts(call.key, words, _MOST_FACTS)
        return [_facts(call.context, call.key, found, "Best matches", ref=call.ref(), person=call.message.sender.id)]
    return [_memory(call.context, call.key, ref=call.ref(), person=call.message.sender.id)]


def _memory(context: CommandContext, key: CubicleKey, *, ref: str, person: int) -> MessageBody:
    found = context.services.memories.list_facts(key, limit=_MOST_FACTS)
    title = f"What {context.store.called(key.agent)} remembers, newest first"
    return _facts(context, key, found, title, ref=ref, person=person)


def _facts(
    context: CommandContext, key: CubicleKey, facts: list[Fact], title: str, *, ref: str, person: int
) -> MessageBody:
    if not facts:
        return MessageBody(
            system_note("Nothing remembered", "Add something yourself: /memory add I am allergic to nuts")
        )
    lines: list[NoteLine] = []
    for fact in facts:
        lines.append((f"{fact.id}  ", QuotedText(fact.text, _FACT_CHARS)))
        lines.append(("     by ", *_author(fact.by), f", {format_ago(fact.at, context.now())}"))
    made = [
        MessageButton(
            f"✕ Forget {fact.id}", context.buttons.make_button(key.agent, ref, person, FORGET, _subject(key, fact.id))
        )
        for fact in facts
    ]
    rows = tuple(tuple(made[n : n + 2]) for n in range(0, len(made), 2))
    return MessageBody(system_note(title, *lines, "", "More: /memory add …, /memory search …"), buttons=rows)


def _forget(context: CommandContext) -> ButtonHandler:
    def press(taken: TakenButton, press: ButtonPress, user: User) -> PressResult:
        key, number = _parts(taken.subject)
        _owner(context, key, user)
        try:
            context.services.memories.remove_fact(key, number, by=user.name)
            toast = "Forgotten."
        except NotFound as error:  # as above
            toast = error.message
        context.buttons.retire_buttons(taken.ref)
        return PressResult(toast, _memory(context, key, ref=taken.ref, person=press.sender.id))

    return press


# --- the person's time -------------------------------------------------------------------------------------------


def timezone(call: CommandCall) -> list[MessageBody]:
    """The person's time zone, with others to choose from; with a name: that one from now on."""
    zones, wanted = call.context.zones, call.message.argument.strip()
    if wanted:
        return [zones.set_zone(call.user, wanted)]
    return [zones.zone_message(call.agent, call.ref(), call.user, call.message.sender.language)]


COMMANDS = (
    ChatCommand("calendar", "What is scheduled", calendar, is_private=True),
    ChatCommand("memory", "What is remembered; add …, search …", memory, is_private=True),
    ChatCommand("timezone", "Your time zone, such as Europe/Vienna", timezone, is_private=True),
)


def handlers(context: CommandContext) -> dict[str, ButtonHandler]:
    """What the buttons do."""
    calendar = context.services.calendar

    def pause(entry: CalendarEntry, user: User) -> str:
        calendar.change_entry(entry.id, {"status": "paused"}, by=user)
        return "Paused."

    def resume(entry: CalendarEntry, user: User) -> str:
        calendar.change_entry(entry.id, {"status": "active"}, by=user)
        return "Resumed."

    def delete(entry: CalendarEntry, user: User) -> str:
        calendar.remove_entry(entry.id, by=user)
        return "Deleted."

    return {
        PAUSE: _on_entry(context, pause),
        RESUME: _on_entry(context, resume),
        DELETE: _on_entry(context, delete),
        FORGET: _forget(context),
    }


def _owner(context: CommandContext, key: CubicleKey, user: User) -> User:
    """Only the person themself: not even an operator sees by a button what others plan and keep."""
    if user.id != key.user:
        raise NotFound("This belongs to someone else.")
    return context.services.users.get(user.id)


def _subject(key: CubicleKey, number: int) -> str:
    return f"{key.agent}:{key.user}:{number}"


def _parts(subject: str) -> tuple[CubicleKey, int]:
    agent, user, number = subject.split(":")
    return CubicleKey(agent, int(user)), int(number)
