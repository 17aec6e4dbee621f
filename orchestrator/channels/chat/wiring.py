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
        self.outbox = mail = Outbox(store)
        self.inbox = Inbox(store)
        self.carrier = FileSender(
            store=store,
            mail=mail,
            people=services.people,
            deliveries=services.deliveries,
            is_linked=accounts.is_linked,
        )
        buttons, papers = Buttons(store), TempFiles(store, folder / "papers")
        self.approval_prompts = self._made_asking(buttons, papers)
        whereabouts = AddressBook(store, services.people)
        zones = TimeZonePrompt(store=store, people=services.people, whereabouts=whereabouts, mail=mail, buttons=buttons)
        self.notifications = self._made_noticing(buttons, whereabouts, zones)
        self.question_prompts = self._made_inquiries(buttons, papers, whereabouts)
        reception = AccessContext(store, mail, buttons, services.people, tell=self._tell_of_people)
        self.access_requests, self.groups = AccessRequests(reception), Groups(reception)
        cards, groups = self.access_requests, self.groups
        context = CommandContext(
            services, store, buttons, self.approval_prompts, cards, groups, papers, zones, accounts.bot_names
        )
        self.commands = Commands(context)
        handlers = {
            **self.approval_prompts.handlers,
            **self.question_prompts.handlers,
            **self.notifications.handlers,
            **zones.handlers,
            **cards.handlers,
            **groups.handlers,
            **self.commands.handlers,
        }
        presses = Callbacks(buttons=buttons, mail=mail, people=self.find_person, handlers=handlers)
        self.turn_replies = TurnReplies(
            store=store,
            mail=mail,
            turns=services.turns,
            folder=folder / "answers",
            render=accounts.render_markdown,
            spot_of=whereabouts.private_place,
            title_of=self._title_of,
        )
        self.app_messages = self._made_app_letters(papers)
        self.progress = ProgressDisplay(
            store=store, mail=mail, turns=services.turns, line_of=accounts.adapter_of, render=accounts.render_markdown
        )
        self.inbound = self._made_hearing(accounts, presses, zones)

    def find_person(self, number: int) -> User | None:
        """Who has this number in the channel."""
        return self._services.people.of_identity(self._store.channel, number)

    def _answer_prompt(self, message: IncomingMessage, user: User) -> list[Message] | None:
        """What a message says to something that was asked; None where it is for the agent."""
        denied = self.approval_prompts.take_reply(message, user)
        return self.question_prompts.take_reply(message, user) if denied is None else denied

    def _made_hearing(self, accounts: ChannelAccounts, presses: Callbacks, zones: TimeZonePrompt) -> Inbound:
        arrivals = InboundFiles(
            traits=self._store.traits,
            workspaces=self._services.workspaces,
            audit=self._services.audit,
            room=self._free_space,
            line_of=accounts.adapter_of,
        )
        prompting = InboundMessages(
            channel=self._store.channel,
            turns=self._services.turns,
            inbox=self.inbox,
            arrivals=arrivals,
            commands=self.commands.run_command,
            answers=self._answer_prompt,
            met=zones.on_message,
        )
        deeds = InboundHandlers(
            people=self.find_person,
            press=presses.on_press,
            stranger=self.access_requests.on_stranger,
            membership=self.groups.on_membership,
            is_paired=accounts.is_linked,
            is_code=accounts.take_code,
            how_to_link=accounts.how_to_link,
        )
        return Inbound(
            store=self._store,
            inbox=self.inbox,
            mail=self.outbox,
            asks=prompting,
            deeds=deeds,
            line_of=accounts.adapter_of,
        )

    def _made_app_letters(self, papers: TempFiles) -> AppMessages:
        services = self._services
        return AppMessages(
            store=self._store,
            mail=self.outbox,
            turns=services.turns,
            people=services.people,
            pictures=services.thumbnails,
            papers=papers,
            app_of=services.previews.get_app,
            place_of=self.turn_replies.place_of,
            dashboard=services.settings.link_url,
        )

    def _made_asking(self, buttons: Buttons, papers: TempFiles) -> ApprovalPrompts:
        services = self._services
        return ApprovalPrompts(
            store=self._store,
            approvals=services.approvals,
            turns=services.turns,
            people=services.people,
            mail=self.outbox,
            buttons=buttons,
            papers=papers,
        )

    def _made_noticing(self, buttons: Buttons, whereabouts: AddressBook, zones: TimeZonePrompt) -> ChatNotifications:
        return ChatNotifications(
            store=self._store,
            notices=self._services.notices,
            whereabouts=whereabouts,
            mail=self.outbox,
            buttons=buttons,
            ask_zone=zones.ask_zone,
        )

    def _made_inquiries(self, buttons: Buttons, papers: TempFiles, whereabouts: AddressBook) -> QuestionPrompts:
        return QuestionPrompts(
            store=self._store,
            questions=self._services.questions,
            whereabouts=whereabouts,
            mail=self.outbox,
            buttons=buttons,
            papers=papers,
            handled=self.inbox.mark_done,
        )

    def _tell_of_people(self) -> None:
        self._services.broker.publish(Event("people", None, {}))

    def _title_of(self, turn: int) -> str:
        entry = self._services.agenda.entry_of(turn)
        return "" if entry is None else entry.title

    def _free_space(self, key: CubicleKey) -> int:
        use = self._services.disk.use_of(key)
        return max(use.limit_bytes - use.used_bytes, 0)
