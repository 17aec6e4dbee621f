"""What an agent reads of a result, and which parts of it become files in ``in/``. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.core.text import escape_invisible, one_line
from orchestrator.mcp.models import McpContent, McpResult

MOST_TEXT_BYTES = 15_000
"""Of a result that is printed; a command's output ends soon after."""
HEAD_CHARS = 2_000
MOST_FILES = 20
_ENDINGS = {
    b"\x89PNG\r\n\x1a\n": "png",
    b"\xff\xd8\xff": "jpg",
    b"GIF8": "gif",
    b"%PDF-": "pdf",
    b"ID3": "mp3",
    b"OggS": "ogg",
    b"fLaC": "flac",
    b"PK\x03\x04": "zip",
}


@dataclass(frozen=True, slots=True)
class ResultPart:
    """Something to be put into ``in/``."""

    ending: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ResultDigest:
    """A result, sorted."""

    text: str
    """What is printed."""
    parts: tuple[ResultPart, ...]
    structured: Any | None


def digest_result(result: McpResult) -> ResultDigest:
    """What is printed of a tool's result, and what becomes a file."""
    return _digest(result.content, result.structured)


def digest_contents(contents: Sequence[McpContent]) -> ResultDigest:
    """The same of a resource."""
    return _digest(contents, None)


def list_said(result: ResultDigest, contents: Iterable[McpContent]) -> list[bytes]:
    """Every byte that the server said, to be looked through."""
    said = [result.text.encode("utf-8", "surrogatepass"), *(part.data for part in result.parts)]
    for one in contents:
        said += [text.encode("utf-8", "surrogatepass") for text in (one.text, one.uri, one.name, one.mime_type) if text]
    if result.structured is not None:
        said.append(json.dumps(result.structured, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return said


def _digest(contents: Sequence[McpContent], structured: Any | None) -> ResultDigest:
    lines, parts, dropped = list[str](), list[ResultPart](), 0
    for one in contents:
        if one.kind == "text":
            lines.append(escape_invisible(one.text))
        elif one.kind == "link":
            lines.append(f"Link: {one_line(escape_invisible(f'{one.uri} {one.name} {one.text}'), 500)}")
        elif len(parts) < MOST_FILES:
            parts.append(ResultPart(_ending_of(one.data), one.data))
        else:
            dropped += 1
    if structured is not None and not any(line.strip() for line in lines):
        lines.append(json.dumps(structured, ensure_ascii=False, indent=1))
    if dropped:
        lines.append(f"{dropped} more files came and were left out.")
    text = "\n".join(lines).strip()
    whole = text.encode("utf-8", "replace")
    if len(whole) > MOST_TEXT_BYTES:
        parts.insert(0, ResultPart("txt", whole))
        text = f"{text[:HEAD_CHARS].rstrip()}\n… ({len(whole):,} bytes in all; the whole is in a file)"
        structured = None
    elif structured is not None and len(json.dumps(structured)) > MOST_TEXT_BYTES:
        parts.append(ResultPart("json", json.dumps(structured, ensure_ascii=False).encode("utf-8", "replace")))
        structured = None
    return ResultDigest(text, tuple(parts), structured)


def _ending_of(data: bytes) -> str:
    """By its first bytes; what the server says of its type is a claim."""
    for head, ending in _ENDINGS.items():
        if data.startswith(head):
            return ending
    if data[:4] == b"RIFF":
        return {b"WAVE": "wav", b"WEBP": "webp"}.get(data[8:12], "bin")
    return "bin"
