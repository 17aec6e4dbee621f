"""A message's body as text for a row, and back. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from orchestrator.channels.chat.message import AttachedFile, MessageBody, MessageButton
from orchestrator.channels.chat.rich_text import RichText, TextEntity


def body_to_json(body: MessageBody) -> str:
    """The body as JSON; the same body is always the same text."""
    fields = asdict(body)
    fields["files"] = [{**one, "path": str(one["path"])} for one in fields["files"]]
    return json.dumps(fields, separators=(",", ":"))


def body_from_json(text: str) -> MessageBody:
    """The body that :func:`packed` made this text of."""
    fields: dict[str, Any] = json.loads(text)
    rich = fields.pop("rich")
    return MessageBody(
        rich=RichText(rich["text"], tuple(TextEntity(**one) for one in rich["entities"])),
        buttons=tuple(tuple(MessageButton(**one) for one in row) for row in fields.pop("buttons")),
        keyboard=tuple(tuple(row) for row in fields.pop("keyboard")),
        files=tuple(AttachedFile(**{**one, "path": Path(one["path"])}) for one in fields.pop("files")),
        **fields,
    )
