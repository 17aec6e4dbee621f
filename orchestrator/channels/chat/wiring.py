"""A channel's composition root: everything between its bots and the house, put together. Nothing runs here."""

from __future__ import annotations

from pathlib import Path

from orchestrator.channels.chat.access_context import AccessContext
from orchestrator.channels.chat.access_requests import AccessRequests
from orchestrator.channels.chat.adapter import ChannelAccounts
from orchestrator.channels.chat.address_book import AddressBook
from orchestrator.channels.chat.app_messages import AppMessages
from orchestrator.channels.chat.approval_prompts import ApprovalPrompts
from orchestrator.channels.chat.buttons import Buttons
from orchestrator.channels.chat.callbacks import Callbacks
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.command_context import CommandContext
from orchestrator.channels.chat.commands import Commands
from orchestrator.channels.chat.events import IncomingMessage
from orchestrator.channels.chat.file_sender import FileSender
from orchestrator.channels.chat.groups import Groups
from orchestrator.channels.chat.inbound import Inbound, InboundHandlers
from orchestrator.channels.chat.inbound_files import InboundFiles
from orchestrator.channels.chat.inbound_messages import InboundMessages
from orchestrator.channels.chat.inbox import Inbox
from orchestrator.channels.chat.message import Message
from orchestrator.channels.chat.notifications import ChatNotifications
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.progress import ProgressDisplay
from orchestrator.channels.chat.question_prompts import QuestionPrompts
from orchestrator.channels.chat.replies_to_turns import TurnReplies
from orchestrator.channels.chat.temp_files import TempFiles
from orchestrator.channels.chat.time_zone_prompt import TimeZonePrompt
from orchestrator.core.models import CubicleKey, Event, User
from orchestrator.services import Services


class ChatWiring:
    """The parts, ready to be run by the channel."""

    def __init__(self, services: Services, store: ChannelStore, accounts: ChannelAccounts, *, folder: Path) -> None:
        """``folder`` is private: what the house writes for its letters lies in it until they are sent."""
        self._services, self._store = services, store
        self.mail = mail = Outbox(store)
        self.inbox = Inbox(store)
        self.carrier = FileSender(
            store=store,
            mail=mail,
            people=services.people,
            deliveries=services.deliveries,
            is_linked=accounts.is_linked,
        )
        buttons, papers = Buttons(store), TempFiles(store, folder / "papers")
        self.asking = self._made_asking(buttons, papers)
        whereabouts = AddressBook(store, services.people)
        zones = TimeZonePrompt(store=store, people=services.people, whereabouts=whereabouts, mail=mail, buttons=buttons)
        self.noticing = self._made_noticing(buttons, whereabouts, zones)
        self.inquiries = self._made_inquiries(buttons, papers, whereabouts)
        reception = AccessContext(store, mail, buttons, services.people, tell=self._tell_of_people)
        self.cards, self.groups = AccessRequests(reception), Groups(reception)
        cards, groups = self.cards, self.groups
        context = CommandContext(
            services, store, buttons, self.asking, cards, groups, papers, zones, accounts.bot_names
        )
        self.commands = Commands(context)
        handlers = {
            **self.asking.handlers,
            **self.inquiries.handlers,
            **self.noticing.handlers,
            **zones.handlers,
            **cards.handlers,
            **groups.handlers,
            **self.commands.handlers,
        }
        presses = Callbacks(buttons=buttons, mail=mail, people=self.person, handlers=handlers)
        self.answers = TurnReplies(
            store=store,
            mail=mail,
            turns=services.turns,
            folder=folder / "answers",
            render=accounts.render,
            spot_of=whereabouts.private,
            title_of=self._title_of,
        )
        self.app_letters = self._made_app_letters(papers)
        self.progress = ProgressDisplay(
            store=store, mail=mail, turns=services.turns, line_of=accounts.adapter_of, render=accounts.render
        )
        self.hearing = self._made_hearing(accounts, presses, zones)

    def person(self, number: int) -> User | None:
        """Who has this number in the channel."""
        return self._services.people.of_identity(self._store.channel, number)

    def _answered(self, message: IncomingMessage, user: User) -> list[Message] | None:
        """What a message says to something that was asked; None where it is for the agent."""
        denied = self.asking.take(message, user)
        return self.inquiries.take(message, user) if denied is None else denied

    def _made_hearing(self, accounts: ChannelAccounts, presses: Callbacks, zones: TimeZonePrompt) -> Inbound:
        arrivals = InboundFiles(
            traits=self._store.traits,
            workspaces=self._services.workspaces,
            audit=self._services.audit,
            room=self._room,
            line_of=accounts.adapter_of,
        )
        prompting = InboundMessages(
            channel=self._store.channel,
            turns=self._services.turns,
            inbox=self.inbox,
            arrivals=arrivals,
            commands=self.commands.run,
            answers=self._answered,
            met=zones.met,
        )
        deeds = InboundHandlers(
            people=self.person,
            press=presses.press,
            stranger=self.cards.stranger,
            membership=self.groups.membership,
            is_paired=accounts.is_linked,
            is_code=accounts.take_code,
            how_to_link=accounts.how_to_link,
        )
        return Inbound(
            store=self._store,
            inbox=self.inbox,
            mail=self.mail,
            asks=prompting,
            deeds=deeds,
            line_of=accounts.adapter_of,
        )

    def _made_app_letters(self, papers: TempFiles) -> AppMessages:
        services = self._services
        return AppMessages(
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

    def _made_asking(self, buttons: Buttons, papers: TempFiles) -> ApprovalPrompts:
        services = self._services
        return ApprovalPrompts(
            store=self._store,
            approvals=services.approvals,
            turns=services.turns,
            people=services.people,
            mail=self.mail,
            buttons=buttons,
            papers=papers,
        )

    def _made_noticing(self, buttons: Buttons, whereabouts: AddressBook, zones: TimeZonePrompt) -> ChatNotifications:
        return ChatNotifications(
            store=self._store,
            notices=self._services.notices,
            whereabouts=whereabouts,
            mail=self.mail,
            buttons=buttons,
            ask_zone=zones.ask,
        )

    def _made_inquiries(self, buttons: Buttons, papers: TempFiles, whereabouts: AddressBook) -> QuestionPrompts:
        return QuestionPrompts(
            store=self._store,
            questions=self._services.questions,
            whereabouts=whereabouts,
            mail=self.mail,
            buttons=buttons,
            papers=papers,
            handled=self.inbox.done,
        )

    def _tell_of_people(self) -> None:
        self._services.broker.publish(Event("people", None, {}))

    def _title_of(self, turn: int) -> str:
        entry = self._services.agenda.entry_of(turn)
        return "" if entry is None else entry.title

    def _room(self, key: CubicleKey) -> int:
        use = self._services.disk.use_of(key)
        return max(use.limit_bytes - use.used_bytes, 0)
