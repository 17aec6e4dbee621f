"""A conversation as a file: Markdown and a web page of the branch that is shown, for people, and JSON of all of it, for
other programs and to be imported. Written turn by turn, so that a long one needs little memory.

The web page is one file that loads nothing: pictures are in it, and no script.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import render_template

from dashboard.services import get_services
from dashboard.shapes import conversation_json, turn_json
from dashboard.times import iso_time
from orchestrator.core.errors import NotFound
from orchestrator.core.models import Conversation, Delivery, Step, Turn, TurnStatus
from orchestrator.core.text import one_line
from orchestrator.files.attachments import split_prompt
from orchestrator.files.magic import content_of
from orchestrator.turns.serialize import came_from
from orchestrator.turns.transcripts import FORMAT, MOST_TURNS, VERSION

MAX_FILE_BYTES, MAX_BYTES = 4 << 20, 32 << 20
"""Of one delivered file, and of all in one export: what is beyond is named and left out."""
TYPES = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "json": "application/json; charset=utf-8",
}
_PICTURES = {name: f"image/{name}" for name in ("png", "jpeg", "gif", "webp")}
_PAGE = 50


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file that the agent delivered."""

    delivery: Delivery
    content: bytes | None
    """None where it is no longer kept, or too large for an export."""

    @property
    def address(self) -> str:
        """The content as an address that a page can hold; empty without content."""
        if self.content is None:
            return ""
        kind = _PICTURES.get(content_of(self.content[:1024]), "application/octet-stream")
        return f"data:{kind};base64,{base64.b64encode(self.content).decode()}"

    @property
    def is_picture(self) -> bool:
        """A browser shows it."""
        return self.content is not None and content_of(self.content[:1024]) in _PICTURES


@dataclass(frozen=True, slots=True)
class ExportedTurn:
    """A turn with all that is exported of it."""

    turn: Turn
    words: str
    sent: tuple[str, ...]
    """The names of the files that came with the message."""
    steps: tuple[Step, ...]
    files: tuple[ExportedFile, ...]


class _Room:
    """What may still be put into the export."""

    def __init__(self) -> None:
        self._left = MAX_BYTES

    def read(self, delivery: Delivery) -> bytes | None:
        """The delivered file's content, where it is kept and fits."""
        if not delivery.copy or delivery.size_bytes > min(MAX_FILE_BYTES, self._left):
            return None
        try:
            content = Path(get_services().deliveries.copy_of(delivery)).read_bytes()
        except (NotFound, OSError):  # it was removed meanwhile
            return None
        self._left -= len(content)
        return content


def export_conversation(conversation: Conversation, how: str) -> Iterator[bytes]:
    """The whole file, piece by piece; ``how`` is one of ``TYPES``."""
    pieces = {"md": _markdown, "html": _page, "json": _json}[how]
    return (piece.encode("utf-8", "replace") for piece in pieces(conversation))


def file_name(conversation: Conversation, how: str) -> str:
    """What to call it: plain letters of its name, and which agent's it is."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", conversation.shown_name).strip("-").lower()[:60].strip("-")
    return f"{conversation.cubicle.agent}-{words or f'conversation-{conversation.id}'}.{how}"


def _markdown(conversation: Conversation) -> Iterator[str]:
    agent = get_services().agents.called(conversation.cubicle.agent)
    yield f"# {one_line(conversation.shown_name, 200)}\n\nA conversation with {agent}.\n"
    for told in _shown_turns(conversation):
        yield f"\n## You, {iso_time(told.turn.created_at)}{_source(told.turn)}\n\n{told.words.strip()}\n"
        yield "".join(f"\n- File: {one_line(name, 200)}\n" for name in told.sent)
        yield f"\n## {agent}\n"
        for step in told.steps:
            yield f"\n{step.thought.strip()}\n" if step.thought.strip() else ""
            yield f"\n{_fenced(step.command, 'sh')}\n{_result(step)}\n"
        yield f"\n{_outcome(told.turn)}\n"
        yield "".join(f"\n- Delivered: {one_line(one.delivery.name, 200)}\n" for one in told.files)


def _page(conversation: Conversation) -> Iterator[str]:
    page = render_template("transcript.html", conversation=conversation)
    head, _, tail = page.partition("<!-- turns -->")
    yield head
    for told in _shown_turns(conversation):
        yield render_template(
            "parts/transcript_turn.html",
            told=told,
            turn=told.turn,
            agent=get_services().agents.called(conversation.cubicle.agent),
            source=_source(told.turn),
            at=iso_time(told.turn.created_at),
            outcome=_outcome(told.turn),
        )
    yield tail


def _json(conversation: Conversation) -> Iterator[str]:
    services, room = get_services(), _Room()
    about = {
        "format": FORMAT,
        "version": VERSION,
        "conversation": conversation_json(conversation, first=services.conversations.get(conversation.cubicle).id),
    }
    yield json.dumps(about, ensure_ascii=False)[:-1] + ', "turns": ['
    for n, number in enumerate(services.branches.list_turns(conversation)[-MOST_TURNS:]):
        turn = services.turns.get(number)
        siblings = services.branches.list_siblings([turn], conversation).get(turn.id, (turn.id,))
        children = services.branches.list_children(turn.id)
        body = turn_json(turn, services.turns.list_steps(turn.id), siblings=siblings, children=children)
        body["files"] = [_file_json(one) for one in _files_of(turn, room)]
        yield (", " if n else "") + json.dumps(body, ensure_ascii=False)
    yield "]}\n"


def _file_json(file: ExportedFile) -> dict[str, Any]:
    return {
        "name": file.delivery.name,
        "size": file.delivery.size_bytes,
        "sha256": file.delivery.sha256,
        "content": None if file.content is None else base64.b64encode(file.content).decode(),
    }


def _shown_turns(conversation: Conversation) -> Iterator[ExportedTurn]:
    """The branch that is shown, oldest first."""
    services, room = get_services(), _Room()
    ids: list[int] = []
    before: int | None = None
    while page := services.turns.list_history(
        conversation.cubicle, conversation=conversation.id, limit=_PAGE, before=before
    ):
        ids[:0] = [turn.id for turn in page]
        before = page[0].id
    for number in ids:
        turn = services.turns.get(number)
        words, sent = split_prompt(turn.prompt)
        yield ExportedTurn(
            turn,
            words,
            tuple(file.path.removeprefix("in/") for file in sent),
            tuple(services.turns.list_steps(turn.id)),
            tuple(_files_of(turn, room)),
        )


def _files_of(turn: Turn, room: _Room) -> list[ExportedFile]:
    found = get_services().deliveries.of_turns([turn.id])
    return [ExportedFile(delivery, room.read(delivery)) for delivery in found if delivery.sha256]


def _source(turn: Turn) -> str:
    return "" if turn.source == "dashboard" else f", {came_from(turn.source)}"


def _result(step: Step) -> str:
    if step.exit_code is None:
        return f"Not run: {step.status}."
    return f"Exit code {step.exit_code}.\n\n{_fenced(step.output)}" if step.output else f"Exit code {step.exit_code}."


def _outcome(turn: Turn) -> str:
    reply = (turn.reply or "").strip()
    if turn.status is TurnStatus.DONE:
        return reply or "(Done.)"
    if not turn.status.is_final:
        return "(Not answered yet.)"
    why = "(This answer was stopped.)" if turn.status is TurnStatus.STOPPED else f"(It failed: {turn.error})"
    return f"{reply}\n\n{why}" if reply else why


def _fenced(text: str, language: str = "") -> str:
    """Text in a block of code that nothing in it ends."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"
