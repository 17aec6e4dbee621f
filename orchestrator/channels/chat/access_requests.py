"""Access requests: what the operator is asked about people who want in, and the one fixed answer that a stranger gets.

A stranger is a number, a name and a decision. What they write is not read here, nothing of theirs reaches a model, and
nothing is downloaded; however many write, and however often, the operator gets a few cards a day and they a word each.
"""

from __future__ import annotations

from orchestrator.agents.user_fields import field_of
from orchestrator.channels.chat import button_rows
from orchestrator.channels.chat import contact_rows as rows
from orchestrator.channels.chat.access_context import MOST_CARDS, AccessContext, check_operator, parts_of
from orchestrator.channels.chat.agent_text import MARK
from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.callbacks import NO_LONGER, ButtonHandler, PressResult
from orchestrator.channels.chat.contact_rows import KnownChat, KnownStranger
from orchestrator.channels.chat.events import ButtonPress, Sender, StrangerMessage
from orchestrator.channels.chat.message import Message, MessageBody, MessageButton
from orchestrator.channels.chat.system_text import NoteLine, QuotedText, system_note
from orchestrator.core.errors import Conflict, NotFound
from orchestrator.core.models import Role, User
from orchestrator.core.text import one_line

ALLOW, IGNORE, BLOCK, SHUT_OUT = "allow", "ignore", "block", "shut out"
_STATES = {ALLOW: "allowed", IGNORE: "ignored", BLOCK: "blocked"}
MOST_ANSWERED = 20
"""Strangers that a bot answers in a day; those after them hear nothing."""
_DAY_S = 24 * 3600.0
_IGNORED_S = 7 * _DAY_S
_REMEMBERED_S = 90 * _DAY_S
_NAME_CHARS = 56
_NAME_TRIES = 50
_MOST_WAITING = 200


class AccessRequests:
    """Strangers, and what became of them. For threads that may wait."""

    def __init__(self, access_context: AccessContext) -> None:
        self._access_context = access_context
        self._store, self._outbox, self._buttons = access_context.store, access_context.outbox, access_context.buttons
        self._users, self._now, self._audit = access_context.users, access_context.now, access_context.write_audit
        self._label = access_context.store.traits.label

    @property
    def handlers(self) -> dict[str, ButtonHandler]:
        """What its buttons do."""
        return {
            ALLOW: self._allow_person,
            IGNORE: self._turn_down,
            BLOCK: self._turn_down,
            SHUT_OUT: self._shut_out,
        }

    def _called(self, agent: str) -> str:
        return self._access_context.store.called(agent)

    # --- strangers ---------------------------------------------------------------------------------------------

    def on_stranger(self, stranger: StrangerMessage) -> None:
        """Somebody whom nobody allowed has written: they get one fixed word a day, the operator one card."""
        agent, sender, now = stranger.agent, stranger.sender, self._now()
        with self._store.writing() as db:
            rows.forget_strangers(db, now - _REMEMBERED_S)
            known = rows.get_stranger(db, agent, sender.id)
            if not _may_answer(known, now) or rows.strangers_since(db, agent, now - _DAY_S) >= MOST_ANSWERED:
                return
            rows.note_stranger(db, agent, sender.id, member_name(sender), now)
            self._audit("stranger", f"{member_name(sender)} ({sender.id}) wrote to the bot.", agent=agent)
            said = "Its owner has been asked" if self._ask_about(agent, sender) else "Only its owner can let you in"
            rich = system_note(
                "This bot is private",
                f"{said}. Until you are let in, nothing you write here is read.",
                f"Your {self._label} id is {sender.id}.",
            )
            self._outbox.post_message(
                Message(agent, sender.id, f"stranger:{agent}:{sender.id}:{now:.0f}", MessageBody(rich))
            )
        self._access_context.tell()

    def list_waiting(self) -> list[KnownStranger]:
        """Who was told that the operator is asked about them, and is not decided about, newest first."""
        with self._store.reading() as db:
            return rows.list_waiting(db, limit=_MOST_WAITING)

    def decide_request(self, agent: str, person: int, kind: str, user: User) -> User | None:
        """``ALLOW``, ``IGNORE`` or ``BLOCK`` from another surface; the card shows it. The member, where there is one
        now. Raises Forbidden, NotFound, or Conflict when it was decided before."""
        check_operator(user)
        with self._store.reading() as db:
            known = rows.get_stranger(db, agent, person)
            cards = button_rows.list_asking_refs(db, f"{agent}:{person}", (ALLOW,))
        if known is None:
            raise NotFound(f"Nobody with this {self._label} id is waiting to be let in there.")
        if kind != ALLOW and self._access_context.find_member(agent, person) is not None:
            raise Conflict("They are already a member.")
        if not self._decide_request(agent, person, _STATES[kind], user):
            raise Conflict("That has already been decided.")
        member = self._let_in(agent, person, known.name, user) if kind == ALLOW else None
        for card in cards:
            self._buttons.retire_buttons(card.ref)
            body = _turned_away((QuotedText(known.name), f", {self._label} id {person}."), kind)[1]
            self._outbox.amend_message(
                card.ref, body if member is None else self.member_body(member, agent, card.ref, card.person)
            )
        self._access_context.tell()
        return member

    def _ask_about(self, agent: str, sender: Sender) -> bool:
        """The operator's private chat has a card about them; False when there is no such chat, or enough cards."""
        now, subject, operator = self._now(), f"{agent}:{sender.id}", self._access_context.operator_chat(agent)
        with self._store.reading() as db:
            if button_rows.list_asking_refs(db, subject, (ALLOW,)):
                return True
            if operator is None or button_rows.posted_since(db, f"card:{agent}:", now - _DAY_S) >= MOST_CARDS:
                return False
        ref = f"card:{agent}:{sender.id}:{now:.0f}"
        allow, ignore, block = (
            MessageButton(label, self._buttons.make_button(agent, ref, operator, kind, subject))
            for label, kind in (("Allow as a member", ALLOW), ("Ignore", IGNORE), ("Block", BLOCK))
        )
        rich = system_note(
            f"Somebody new wrote to {self._called(agent)}",
            ("They call themselves ", QuotedText(sender.name), *_username(sender), "."),
            f"{self._label} id {sender.id}. They choose the name; the id can't be faked.",
            "",
            f"Allow: they can talk to {self._whom(agent)}, in containers of their own and on your budget.",
            "Ignore: nothing happens for a week. Block: nothing ever happens, and you are not asked again.",
        )
        return self._outbox.post_message(
            Message(agent, operator, ref, MessageBody(rich, buttons=((allow,), (ignore, block))))
        )

    def _whom(self, agent: str) -> str:
        """Whom somebody can talk to who is let in here."""
        is_limited = self._access_context.access.list_people(agent) is not None
        return (
            f"{self._called(agent)} and the agents that are for everybody"
            if is_limited
            else "all agents that are for everybody"
        )

    def _allow_person(self, taken: TakenButton, press: ButtonPress, user: User) -> PressResult:
        """They are a member now, under a name that nobody has."""
        agent, person, name = self._stranger_of(taken, user)
        member = self._let_in(agent, person, name, user)
        self._decide_request(agent, person, _STATES[ALLOW], user)
        self._buttons.retire_buttons(taken.ref)
        self._access_context.tell()
        return PressResult(
            f"{member.name} is a member now.", self.member_body(member, agent, taken.ref, press.sender.id)
        )

    def _let_in(self, agent: str, person: int, name: str, by: User) -> User:
        member = self._users.of_identity(self._store.channel, person) or self._new_member(name, person)
        self._access_context.access.let_in(agent, member.id, by=by.name)
        with self._store.writing() as db:
            rows.put_chat(db, KnownChat(agent, person, member.name, "open", self._now()))
        welcome = system_note(
            f"Welcome, {member.name}", f"You can talk to {self._called(agent)} now. /help shows what you can do."
        )
        self._outbox.post_message(Message(agent, person, f"welcome:{agent}:{member.id}", MessageBody(welcome)))
        return member

    def member_body(self, member: User, agent: str, ref: str, reader: int) -> MessageBody:
        """A member who uses this app, with a button to end that."""
        number = member.id_in(self._store.channel)
        rich = system_note(
            "A member of yours",
            (QuotedText(member.name), f", {self._label} id {number}. They can talk to all your agents."),
        )
        subject = f"{agent}:{number}"
        return MessageBody(
            rich,
            buttons=((MessageButton("Remove", self._buttons.make_button(agent, ref, reader, SHUT_OUT, subject)),),),
        )

    def _turn_down(self, taken: TakenButton, _: ButtonPress, user: User) -> PressResult:
        agent, person, name = self._stranger_of(taken, user)
        if self._access_context.find_member(agent, person) is not None:
            self._buttons.retire_buttons(taken.ref)
            raise Conflict("They are already a member. /users has a button to remove them.")
        self._decide_request(agent, person, _STATES[taken.kind], user)
        said, body = _turned_away((QuotedText(name), f", {self._label} id {person}."), taken.kind)
        self._buttons.retire_buttons(taken.ref)
        self._access_context.tell()
        return PressResult(said, body)

    def _shut_out(self, taken: TakenButton, _: ButtonPress, user: User) -> PressResult:
        """Their number here is nobody's any more. Who they are, and what they made, stays."""
        check_operator(user)
        agent, person = parts_of(taken.subject)
        member = self._users.of_identity(self._store.channel, person)
        if member is None or member.role is Role.OPERATOR:
            raise Conflict("They are not a member.")
        self._users.update_user(member.id, {field_of(self._store.channel): None})
        with self._store.writing() as db:
            rows.note_stranger(db, agent, person, member.name, self._now())
            rows.decide_stranger(db, agent, person, "blocked", self._now())
        self._buttons.retire_buttons(taken.ref)
        self._access_context.tell()
        rich = system_note(
            "Removed",
            (
                QuotedText(member.name),
                f", {self._label} id {person}, can't reach any agent now. Their files are still there.",
            ),
            f"To let them back in, enter their {self._label} id in the dashboard.",
        )
        return PressResult("Removed.", MessageBody(rich))

    def _stranger_of(self, taken: TakenButton, user: User) -> tuple[str, int, str]:
        check_operator(user)
        agent, person = parts_of(taken.subject)
        with self._store.reading() as db:
            known = rows.get_stranger(db, agent, person)
        if known is None:
            raise NotFound(NO_LONGER)
        return agent, person, known.name

    def _decide_request(self, agent: str, person: int, state: str, user: User) -> bool:
        """False when it was decided before."""
        now = self._now()
        with self._store.writing() as db:
            if not rows.decide_stranger(db, agent, person, state, now):
                return False
            text = f"{self._label} id {person} was {state} by {user.name}."
            self._audit(state, text, agent=agent, user=user.id)
        return True

    def _new_member(self, name: str, person: int) -> User:
        for n in range(1, _NAME_TRIES):
            try:
                return self._users.add(
                    {"name": name if n == 1 else f"{name} {n}", field_of(self._store.channel): person}
                )
            except Conflict:
                found = self._users.of_identity(self._store.channel, person)
                if found is not None:
                    return found
        return self._users.add({"name": f"guest {person}", field_of(self._store.channel): person})


def member_name(sender: Sender) -> str:
    """What somebody calls themselves, as the name of a member: one line, nothing hidden, never empty."""
    plain = "".join(char for char in sender.name if char == " " or one_line(char) == char)
    name = " ".join(plain.replace(MARK, " ").split())[:_NAME_CHARS].strip()
    return name if name.isprintable() and name else f"guest {sender.id}"


def _turned_away(who: NoteLine, kind: str) -> tuple[str, MessageBody]:
    """What is said over the chat, and by the card."""
    what = ("Ignored", "They get no answer. If they write again after a week, you'll be asked again.")
    if kind == BLOCK:
        what = ("Blocked", "They get no more answers, and you won't be asked again.")
    return f"{what[0]}.", MessageBody(system_note(what[0], who, what[1]))


def _username(sender: Sender) -> tuple[QuotedText | str, ...]:
    return (", ", QuotedText(f"@{sender.username}", 40)) if sender.username else ()


def _may_answer(known: KnownStranger | None, now: float) -> bool:
    if known is None:
        return True
    silence = {"blocked": None, "ignored": _IGNORED_S}.get(known.state, _DAY_S)
    return silence is not None and known.told_at <= now - silence
