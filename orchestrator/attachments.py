"""Files that come with a message, as the agent is told of them: where each lies, how large it is and what it seems to
be. Pure; the files themselves were stored before.

A name is data: it stands quoted on a line of its own, so that it can't be taken for words of the person who sent it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.text import one_line

MOST = 20
"""Files that one message may have."""
_HERE = "/app/workspace"
_HEAD = "[Files that came with this message: "
_ALONE = ("Here is a file.", "Here are some files.")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in the workspace."""

    path: str
    """Within the workspace: ``in/report.pdf``."""
    size_bytes: int
    type: str
    """MIME type, as far as its name and its beginning tell."""


def told(text: str, attachments: Sequence[Attachment]) -> str:
    """The message as the agent gets it: the text, or a few words where there is none, then a line for each file."""
    if not attachments:
        return text
    text = text if text.strip() else _ALONE[len(attachments) > 1]
    head = f"{_HEAD}{len(attachments)}]"
    return "\n".join([text.rstrip(), "", head, *(_line(attachment) for attachment in attachments)])


def retold(text: str, before: str) -> str:
    """The message ``before``, which :func:`told` made, with another text and the files that it had."""
    at = before.rfind(f"\n\n{_HEAD}")
    return (text.rstrip() or _ALONE[0]) + (before[at:] if at >= 0 else "")


def _line(attachment: Attachment) -> str:
    path = json.dumps(one_line(f"{_HERE}/{attachment.path}", 1_000), ensure_ascii=False)
    return f"- {path} ({attachment.size_bytes:,} bytes, {attachment.type})"
