"""Files that come with a message, as the agent is told of them: where each lies, how large it is and what it seems to
be. Pure; the files themselves were stored before.

A name is data: it stands quoted on a line of its own, so that it can't be taken for words of the person who sent it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.core.text import one_line

MOST = 20
"""Files that one message may have."""
_HERE = "/app/workspace"
_HEAD = "[Files that came with this message: "
_ALONE = ("Here is a file.", "Here are some files.")
_BLOCK = re.compile(rf"\n\n{re.escape(_HEAD)}([1-9][0-9]?)\]((?:\n[^\n]+)+)\Z")
_FILE = re.compile(r'- ("(?:[^"\\]|\\.)+") \(([0-9]{1,3}(?:,[0-9]{3}){0,5}) bytes, ([^()\s]{1,200})\)')


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in the workspace."""

    path: str
    """Within the workspace: ``in/report.pdf``."""
    size_bytes: int
    type: str
    """MIME type, as far as its name and its beginning tell."""


def prompt_with_files(text: str, attachments: Sequence[Attachment]) -> str:
    """The message as the agent gets it: the text, or a few words where there is none, then a line for each file."""
    if not attachments:
        return text
    text = text if text.strip() else _ALONE[len(attachments) > 1]
    head = f"{_HEAD}{len(attachments)}]"
    return "\n".join([text.rstrip(), "", head, *(_format_line(attachment) for attachment in attachments)])


def replace_text(text: str, before: str) -> str:
    """The message ``before``, which :func:`told` made, with another text and the files that it had."""
    at = before.rfind(f"\n\n{_HEAD}")
    return (text.rstrip() or _ALONE[0]) + (before[at:] if at >= 0 else "")


def split_prompt(prompt: str) -> tuple[str, tuple[Attachment, ...]]:
    """What :func:`told` was given, for a person to look at: an empty text where there was none, and no files unless all
    of the block reads as ours. Whoever types such a block gets the same, so nothing may be opened by it.
    """
    block = _BLOCK.search(prompt, max(0, prompt.rfind(f"\n\n{_HEAD}")))
    if block is None:
        return prompt, ()
    files = tuple(filter(None, map(_parse_line, block[2][1:].split("\n"))))
    if len(files) > MOST or not len(files) == int(block[1]) == block[2].count("\n"):
        return prompt, ()
    text = prompt[: block.start()]
    return "" if text == _ALONE[len(files) > 1] else text, files


def _parse_line(line: str) -> Attachment | None:
    found = _FILE.fullmatch(line)
    if found is None:
        return None
    try:
        path = json.loads(found[1])
    except ValueError:
        return None
    if not path.startswith(f"{_HERE}/") or len(path) == len(_HERE) + 1:
        return None
    return Attachment(one_line(path[len(_HERE) + 1 :], 1_000), int(found[2].replace(",", "")), found[3])


def _format_line(attachment: Attachment) -> str:
    path = json.dumps(one_line(f"{_HERE}/{attachment.path}", 1_000), ensure_ascii=False)
    return f"- {path} ({attachment.size_bytes:,} bytes, {attachment.type})"
