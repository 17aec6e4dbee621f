"""A message's body in the library's own objects: entities, buttons, files opened for sending. Sends nothing."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import IO, Any

from telegram import (
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputFile,
    InputMediaAudio,
    InputMediaDocument,
    InputMediaPhoto,
    InputMediaVideo,
    LinkPreviewOptions,
    MessageEntity,
    ReplyKeyboardMarkup,
    ReplyParameters,
)

from orchestrator.channels.chat.agent_text import caption_text
from orchestrator.channels.chat.message import AttachedFile, MessageBody, MessageButton
from orchestrator.channels.chat.rich_text import RichText, utf16_len
from orchestrator.channels.chat.send_errors import FileTooBig, SendRefused
from orchestrator.channels.telegram.api_errors import APP
from orchestrator.channels.telegram.client_types import UPLOAD_BYTES

PHOTO_BYTES = 10 * 1000 * 1000
NO_PREVIEW = {"link_preview_options": LinkPreviewOptions(is_disabled=True)}
"""For every text that goes out; Telegram may know it one day where it now leaves it unread (drafts)."""
_MEDIA = {"photo": InputMediaPhoto, "video": InputMediaVideo, "audio": InputMediaAudio}
_TOGETHER = (frozenset(("photo", "video")), frozenset(("audio",)), frozenset(("document",)))
"""Kinds that may stand in one album."""
_KINDS = frozenset(("photo", "video", "animation", "audio", "voice", "document"))


@dataclass(frozen=True, slots=True)
class UploadFiles:
    """Files that are open, ready to go in one call."""

    files: tuple[AttachedFile, ...]
    handles: tuple[IO[bytes], ...]

    @classmethod
    def open_files(cls, files: tuple[AttachedFile, ...], opened: ExitStack) -> UploadFiles:
        """The files, opened as long as ``opened`` is. Raises TooBig, and Refused when one can't be read."""
        try:
            handles = tuple(opened.enter_context(file.path.open("rb")) for file in files)
            sizes = [file.path.stat().st_size for file in files]
        except OSError:
            raise SendRefused("the file is no longer there", app=APP) from None
        if sum(sizes) > UPLOAD_BYTES:
            raise FileTooBig(app=APP)
        kinds = [_kind(file, size) for file, size in zip(files, sizes, strict=True)]
        if len(files) > 1 and not any(set(kinds) <= together for together in _TOGETHER):
            kinds = ["document"] * len(files)
        return cls(tuple(replace(f, kind=kind) for f, kind in zip(files, kinds, strict=True)), handles)

    @property
    def is_plain(self) -> bool:
        """All go as documents, which Telegram doesn't look into."""
        return all(file.kind == "document" for file in self.files)

    def as_documents(self) -> UploadFiles:
        """The same as documents, from their beginnings."""
        for handle in self.handles:
            handle.seek(0)
        return replace(self, files=tuple(replace(file, kind="document") for file in self.files))

    def single_input(self) -> dict[str, Any]:
        """The one file, as its method takes it."""
        kind = self.files[0].kind
        more = {"document": {"disable_content_type_detection": True}, "video": {"supports_streaming": True}}
        return {kind: self._inputs(attach=False)[0], **more.get(kind, {})}

    def album_inputs(self) -> list[InputMediaAudio | InputMediaDocument | InputMediaPhoto | InputMediaVideo]:
        """All of them, as an album takes them."""
        return [
            _MEDIA[file.kind](one)
            if file.kind in _MEDIA
            else InputMediaDocument(one, disable_content_type_detection=True)
            for file, one in zip(self.files, self._inputs(attach=True), strict=True)
        ]

    def _inputs(self, *, attach: bool) -> list[InputFile]:
        return [
            InputFile(handle, filename=well_formed(file.name) or "file", attach=attach, read_file_handle=False)
            for file, handle in zip(self.files, self.handles, strict=True)
        ]


def well_formed(text: str) -> str:
    """The text without half characters, as long as before."""
    return text.encode("utf-8", "replace").decode("utf-8")


def shorten_text(text: str, most: int) -> str:
    """The text, well-formed, in at most so many UTF-16 units."""
    while utf16_len(text) > most:
        text = text[: min(most, len(text) - 1)]
    return well_formed(text)


def ptb_entities(rich: RichText) -> list[MessageEntity]:
    """The stretches of the text; none hides a link."""
    return [MessageEntity(one.type, one.offset, one.length, language=one.language) for one in rich.entities]


def text_arguments(body: MessageBody) -> dict[str, Any]:
    """Its text, as the methods for text take it; never with a preview of a link."""
    return {"text": well_formed(body.rich.text), "entities": ptb_entities(body.rich), **NO_PREVIEW}


def caption_arguments(body: MessageBody) -> dict[str, Any]:
    """Its text as it fits under a file, as the methods for files take it."""
    fitting = caption_text(body.rich)
    if not fitting.text:
        return {}
    return {"caption": well_formed(fitting.text), "caption_entities": ptb_entities(fitting)}


def send_options(body: MessageBody) -> dict[str, Any]:
    """How it is sent: where within the chat, in answer to what, how loudly."""
    reply = None
    if body.reply_to is not None:
        reply = ReplyParameters(body.reply_to, allow_sending_without_reply=True)
    return {
        "reply_parameters": reply,
        "message_thread_id": body.thread,
        "disable_notification": body.is_silent or None,
    }


def reply_markup(body: MessageBody) -> InlineKeyboardMarkup | ReplyKeyboardMarkup | None:
    """The buttons under the message, else the keyboard beneath the chat."""
    if body.buttons:
        return InlineKeyboardMarkup([[_button(button) for button in row] for row in body.buttons])
    if body.keyboard:
        return ReplyKeyboardMarkup(body.keyboard, resize_keyboard=True)
    return None


def _button(button: MessageButton) -> InlineKeyboardButton:
    text = well_formed(button.text)
    if button.url:
        return InlineKeyboardButton(text, url=button.url)
    return InlineKeyboardButton(text, callback_data=button.data)


def _kind(file: AttachedFile, size_bytes: int) -> str:
    if file.kind not in _KINDS or (file.kind == "photo" and size_bytes > PHOTO_BYTES):
        return "document"
    return file.kind
