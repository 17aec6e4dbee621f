"""What goes out to a chat, as frozen data that can be kept in a row: a text or a file, with its buttons. Pure.

A message has a ``ref``: posting the same ref again is posting nothing, so whoever posts may do it again after a crash.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.channels.chat.rich_text import RichText


@dataclass(frozen=True, slots=True)
class MessageButton:
    """One button under a message: it carries either an opaque id of ours, or a link to the dashboard."""

    text: str
    data: str = ""
    """At most 64 bytes; made by ``Buttons``, never by an agent."""
    url: str = ""


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file that goes out: a private copy which no agent can reach."""

    path: Path
    name: str
    """What the person sees it called."""
    kind: str
    """``photo``, ``video``, ``animation``, ``audio``, ``voice`` or ``document``."""


@dataclass(frozen=True, slots=True)
class MessageBody:
    """What a message says. With files, ``rich`` is the caption; several files are an album."""

    rich: RichText
    buttons: tuple[tuple[MessageButton, ...], ...] = ()
    """Rows of buttons under the message."""
    keyboard: tuple[tuple[str, ...], ...] = ()
    """Rows of a reply keyboard: what a tap sends as the person's own message."""
    files: tuple[AttachedFile, ...] = ()
    reply_to: int | None = None
    """The message of this chat that it answers; where that is gone, it is sent all the same."""
    thread: int | None = None
    """The topic, in a chat that has some."""
    is_silent: bool = False
    """No sound on the phone."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message for one chat of one agent's bot."""

    agent: str
    chat: int
    ref: str
    """What it is about, once and for all: ``turn:17:1``, ``approval:abcd2345``, ``update:7000000001:42``."""
    body: MessageBody
