"""A channel's composition root: everything between its bots and the install, put together. Nothing runs here."""

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
from orchestrator.channels.chat.conversation_choices import ConversationChoices
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
from orchestrator.channels.chat.undo_offers import UndoOffers
from orchestrator.core.models import CubicleKey, Event, User
from orchestrator.services import Services


class ChatWiring:
    """The parts, ready to be run by the channel."""

    def __init__(self, services: Services, store: ChannelStore, accounts: ChannelAccounts, *, folder: Path) -> None:
        """``folder`` is private: what the install writes for its messages lies in it until they are sent."""
        self._services, self._store = services, store
        self.outbox = outbox = Outbox(store)
        self.inbox = Inbox(store)
        self.carrier = FileSender(
            store=store,
            outbox=outbox,
            users=services.users,
            deliveries=services.deliveries,
            is_linked=accounts.is_linked,
        )
        buttons, temp_files = Buttons(store), TempFiles(store, folder / "papers")
        self.choices = choices = ConversationChoices(store, services.conversations, outbox)
        self.approval_prompts = self._build_approval_prompts(buttons, temp_files)
        address_book = AddressBook(store, services.users)
        zones = TimeZonePrompt(
            store=store, users=services.users, address_book=address_book, outbox=outbox, buttons=buttons
        )
        self.notifications = self._build_notifications(buttons, address_book, zones)
        self.question_prompts = self._build_question_prompts(buttons, temp_files, address_book)
        self._access_context = self._build_access_context(buttons)
        self.access_requests = cards = AccessRequests(self._access_context)
        self.groups = groups = Groups(self._access_context)
        context = CommandContext(
            services,
            store,
            buttons,
            self.approval_prompts,
            cards,
            groups,
            temp_files,
            zones,
            choices,
            accounts.bot_names,
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
        callbacks = Callbacks(buttons=buttons, outbox=outbox, users=self.find_person, handlers=handlers)
        self.turn_replies = self._build_turn_replies(accounts, address_book, folder / "answers")
        self.app_messages = self._build_app_messages(temp_files)
        self.undo_offers = UndoOffers(
            store=store, outbox=outbox, buttons=buttons, turns=services.turns, place_of=self.turn_replies.place_of
        )
        self.progress = ProgressDisplay(
            store=store,
            outbox=outbox,
            turns=services.turns,
            adapter_of=accounts.adapter_of,
            render=accounts.render_markdown,
        )
        self.inbound = self._build_inbound(accounts, callbacks, zones)

    def find_person(self, agent: str, number: int) -> User | None:
        """Who has this number in the channel, and may use this agent."""
        return self._access_context.find_member(agent, number)

    def _answer_prompt(self, message: IncomingMessage, user: User) -> list[Message] | None:
        """What a message says to something that was asked; None where it is for the agent."""
        denied = self.approval_prompts.take_reply(message, user)
        return self.question_prompts.take_reply(message, user) if denied is None else denied

    def _build_access_context(self, buttons: Buttons) -> AccessContext:
        services = self._services
        return AccessContext(
            self._store, self.outbox, buttons, services.users, services.access, tell=self._tell_of_people
        )

    def _build_inbound(self, accounts: ChannelAccounts, callbacks: Callbacks, zones: TimeZonePrompt) -> Inbound:
        inbound_files = InboundFiles(
            traits=self._store.traits,
            workspaces=self._services.workspaces,
            audit=self._services.audit,
            room=self._free_space,
            adapter_of=accounts.adapter_of,
        )
        inbound_messages = InboundMessages(
            channel=self._store.channel,
            turns=self._services.turns,
            inbox=self.inbox,
            inbound_files=inbound_files,
            commands=self.commands.run_command,
            answers=self._answer_prompt,
            met=zones.on_message,
            enter=self.choices.enter,
        )
        deeds = InboundHandlers(
            users=self.find_person,
            press=callbacks.on_press,
            stranger=self.access_requests.on_stranger,
            membership=self.groups.on_membership,
            is_paired=accounts.is_linked,
            is_code=accounts.take_code,
            how_to_link=accounts.how_to_link,
        )
        return Inbound(
            store=self._store,
            inbox=self.inbox,
            outbox=self.outbox,
            asks=inbound_messages,
            deeds=deeds,
            adapter_of=accounts.adapter_of,
        )

    def _build_turn_replies(self, accounts: ChannelAccounts, address_book: AddressBook, folder: Path) -> TurnReplies:
        return TurnReplies(
            store=self._store,
            outbox=self.outbox,
            turns=self._services.turns,
            folder=folder,
            render=accounts.render_markdown,
            spot_of=address_book.private_place,
            title_of=self._title_of,
            elsewhere=self.choices.find_elsewhere,
        )

    def _build_app_messages(self, temp_files: TempFiles) -> AppMessages:
        services = self._services
        return AppMessages(
            store=self._store,
            outbox=self.outbox,
            turns=services.turns,
            users=services.users,
            pictures=services.thumbnails,
            temp_files=temp_files,
            app_of=services.previews.get_app,
            place_of=self.turn_replies.place_of,
            dashboard=services.settings.link_url,
        )

    def _build_approval_prompts(self, buttons: Buttons, temp_files: TempFiles) -> ApprovalPrompts:
        services = self._services
        return ApprovalPrompts(
            store=self._store,
            approvals=services.approvals,
            turns=services.turns,
            users=services.users,
            outbox=self.outbox,
            buttons=buttons,
            temp_files=temp_files,
            choices=self.choices,
        )

    def _build_notifications(
        self, buttons: Buttons, address_book: AddressBook, zones: TimeZonePrompt
    ) -> ChatNotifications:
        return ChatNotifications(
            store=self._store,
            notifications=self._services.notifications,
            address_book=address_book,
            outbox=self.outbox,
            buttons=buttons,
            ask_zone=zones.ask_zone,
            choices=self.choices,
        )

    def _build_question_prompts(
        self, buttons: Buttons, temp_files: TempFiles, address_book: AddressBook
    ) -> QuestionPrompts:
        return QuestionPrompts(
            store=self._store,
            questions=self._services.questions,
            address_book=address_book,
            outbox=self.outbox,
            buttons=buttons,
            temp_files=temp_files,
            handled=self.inbox.mark_done,
            choices=self.choices,
        )

    def _tell_of_people(self) -> None:
        self._services.broker.publish(Event("people", None, {}))

    def _title_of(self, turn: int) -> str:
        entry = self._services.calendar.entry_of(turn)
        return "" if entry is None else entry.title

    def _free_space(self, key: CubicleKey) -> int:
        use = self._services.quota.use_of(key)
        return max(use.limit_bytes - use.used_bytes, 0)
