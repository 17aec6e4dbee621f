"""The channel's composition root: everything between a bot's line and the house, put together. Nothing runs here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.channels.telegram.answers import Answers
from orchestrator.channels.telegram.app_letters import AppLetters
from orchestrator.channels.telegram.arrivals import Arrivals
from orchestrator.channels.telegram.asking import Asking
from orchestrator.channels.telegram.buttons import Buttons
from orchestrator.channels.telegram.calls import Desk
from orchestrator.channels.telegram.cards import Cards
from orchestrator.channels.telegram.carrier import TelegramCarrier
from orchestrator.channels.telegram.commands import Commands
from orchestrator.channels.telegram.groups import Groups
from orchestrator.channels.telegram.hearing import Deeds, Hearing
from orchestrator.channels.telegram.inbox import Inbox
from orchestrator.channels.telegram.incoming import Message
from orchestrator.channels.telegram.inquiries import Inquiries
from orchestrator.channels.telegram.letters import Letter
from orchestrator.channels.telegram.mail import Mail
from orchestrator.channels.telegram.noticing import Noticing
from orchestrator.channels.telegram.papers import Papers
from orchestrator.channels.telegram.presses import Presses
from orchestrator.channels.telegram.progress import Progress
from orchestrator.channels.telegram.prompting import Prompting
from orchestrator.channels.telegram.reception import Reception
from orchestrator.channels.telegram.whereabouts import Whereabouts
from orchestrator.channels.telegram.zones import Zones
from orchestrator.nouns import CubicleKey, Event, User
from orchestrator.services import Services
from orchestrator.store import telegram_people as people_rows
from orchestrator.store.database import Store
from orchestrator.store.telegram_bots import BotStatus

if TYPE_CHECKING:
    from orchestrator.channels.telegram.line import Line  # for its name alone: it loads the library


class Office:
    """The parts, ready to be run by the channel."""

    def __init__(
        self, services: Services, store: Store, *, folder: Path, line_of: Callable[[str], Line | None]
    ) -> None:
        """``folder`` is private: what the house writes for its letters lies in it until they are sent."""
        self._services, self._store = services, store
        self.mail = mail = Mail(store)
        count = services.metrics.telegram_updates
        self.inbox = Inbox(store, people=services.people.of_telegram, groups_enabled=self._is_enabled, count=count)
        self.carrier = TelegramCarrier(store=store, mail=mail, people=services.people, deliveries=services.deliveries)
        buttons, papers = Buttons(store), Papers(store, folder / "papers")
        self.asking = self._made_asking(buttons, papers)
        whereabouts = Whereabouts(store, services.people)
        zones = Zones(store=store, people=services.people, whereabouts=whereabouts, mail=mail, buttons=buttons)
        self.noticing = self._made_noticing(buttons, whereabouts, zones)
        self.inquiries = self._made_inquiries(buttons, papers, whereabouts)
        reception = Reception(store, mail, buttons, services.people, tell=self._tell_of_people)
        self.cards, groups = Cards(reception), Groups(reception)
        cards = self.cards
        self.commands = Commands(Desk(services, store, buttons, self.asking, cards, groups, papers, zones))
        handlers = {
            **self.asking.handlers,
            **self.inquiries.handlers,
            **self.noticing.handlers,
            **zones.handlers,
            **cards.handlers,
            **groups.handlers,
            **self.commands.handlers,
        }
        presses = Presses(buttons=buttons, mail=mail, people=services.people.of_telegram, handlers=handlers)
        self.answers = Answers(
            store=store,
            mail=mail,
            turns=services.turns,
            folder=folder / "answers",
            spot_of=whereabouts.private,
            title_of=self._title_of,
        )
        self.app_letters = self._made_app_letters(papers)
        self.progress = Progress(store=store, mail=mail, turns=services.turns, line_of=line_of)
        arrivals = Arrivals(workspaces=services.workspaces, audit=services.audit, room=self._room, line_of=line_of)
        prompting = Prompting(
            turns=services.turns,
            inbox=self.inbox,
            arrivals=arrivals,
            commands=self.commands.run,
            answers=self._answered,
            met=zones.met,
        )
        deeds = Deeds(
            people=services.people.of_telegram,
            press=presses.press,
            stranger=cards.stranger,
            membership=groups.membership,
            is_paired=self._is_paired,
            is_code=services.bots.heard,
        )
        self.hearing = Hearing(store=store, inbox=self.inbox, mail=mail, asks=prompting, deeds=deeds, line_of=line_of)

    def _answered(self, message: Message, user: User) -> list[Letter] | None:
        """What a message says to something that was asked; None where it is for the agent."""
        denied = self.asking.take(message, user)
        return self.inquiries.take(message, user) if denied is None else denied

    def _made_app_letters(self, papers: Papers) -> AppLetters:
        services = self._services
        return AppLetters(
            store=self._store,
            mail=self.mail,
            turns=services.turns,
            people=services.people,
            pictures=services.thumbnails,
            papers=papers,
            app_of=services.previews.app,
            place_of=self.answers.place,
            dashboard=services.settings.link_url,
        )

    def _made_asking(self, buttons: Buttons, papers: Papers) -> Asking:
        services = self._services
        return Asking(
            store=self._store,
            approvals=services.approvals,
            turns=services.turns,
            people=services.people,
            mail=self.mail,
            buttons=buttons,
            papers=papers,
        )

    def _made_noticing(self, buttons: Buttons, whereabouts: Whereabouts, zones: Zones) -> Noticing:
        return Noticing(
            store=self._store,
            notices=self._services.notices,
            whereabouts=whereabouts,
            mail=self.mail,
            buttons=buttons,
            ask_zone=zones.ask,
        )

    def _made_inquiries(self, buttons: Buttons, papers: Papers, whereabouts: Whereabouts) -> Inquiries:
        return Inquiries(
            store=self._store,
            questions=self._services.questions,
            whereabouts=whereabouts,
            mail=self.mail,
            buttons=buttons,
            papers=papers,
            handled=self.inbox.done,
        )

    def _is_enabled(self, agent: str, chat: int) -> bool:
        with self._store.reading() as db:
            return people_rows.is_enabled(db, agent, chat)

    def _tell_of_people(self) -> None:
        self._services.broker.publish(Event("people", None, {}))

    def _title_of(self, turn: int) -> str:
        entry = self._services.agenda.entry_of(turn)
        return "" if entry is None else entry.title

    def _is_paired(self, agent: str) -> bool:
        state = self._services.bots.of(agent)
        return state is not None and state.state is BotStatus.PAIRED

    def _room(self, key: CubicleKey) -> int:
        use = self._services.disk.use_of(key)
        return max(use.limit_bytes - use.used_bytes, 0)
