"""Reading a cubicle's model call: the allow-listed parts of it, checked. Pure; everything else in it is dropped.

Only chat messages of text and inline pictures, and three bounded numbers, come through: no tools, no URLs, no keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.core.errors import BadInput, TooLarge
from orchestrator.core.models import ModelRequest

MAX_MESSAGES = 2_000
MAX_MESSAGES_BYTES = 6 * 1024 * 1024
DEFAULT_MAX_TOKENS = 4_096
MAX_TOKENS = 16_384
_ROLES = ("system", "user", "assistant")
_INLINE = re.compile(r"data:image/(?:png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}")


def read_request(body: Mapping[str, Any]) -> ModelRequest:
    """The allow-listed parts of a call, checked; everything else in it is dropped. Raises BadInput or TooLarge."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or len(messages) > MAX_MESSAGES:
        raise BadInput(f"messages: send a list of 1 to {MAX_MESSAGES:,} messages.")
    read = tuple(_check_message(index, message) for index, message in enumerate(messages))
    if sum(size_of(message["content"]) for message in read) > MAX_MESSAGES_BYTES:
        raise TooLarge(f"messages: together they are over {MAX_MESSAGES_BYTES // 2**20} MiB.")
    return ModelRequest(
        model="",
        messages=read,
        max_tokens=_max_tokens(body.get("max_tokens")),
        temperature=_check_temperature(body.get("temperature")),
        stop=_check_stop(body.get("stop")),
    )


def _check_message(index: int, message: object) -> dict[str, Any]:
    if not isinstance(message, dict) or message.get("role") not in _ROLES:
        raise BadInput(f"messages[{index}]: send an object with role {', '.join(_ROLES)} and content.")
    content = message.get("content")
    if isinstance(content, str):
        return {"role": message["role"], "content": content}
    if isinstance(content, list) and content and len(content) <= 100:
        return {"role": message["role"], "content": [_check_part(index, part) for part in content]}
    raise BadInput(f"messages[{index}].content: send a text or a list of parts.")


def _check_part(index: int, part: object) -> dict[str, Any]:
    if isinstance(part, dict):
        if part.get("type") == "text" and isinstance(part.get("text"), str):
            return {"type": "text", "text": part["text"]}
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else None
        if part.get("type") == "image_url" and isinstance(url, str) and _INLINE.fullmatch(url):
            return {"type": "image_url", "image_url": {"url": url}}
    raise BadInput(f"messages[{index}].content: send text or inline pictures (data:image/…;base64,…), never a URL.")


def size_of(content: Any) -> int:
    """A message's content, in bytes of UTF-8."""
    if isinstance(content, str):
        return len(content.encode())
    return sum(len(part.get("text", "").encode()) + len(part.get("image_url", {}).get("url", "")) for part in content)


def _max_tokens(value: object) -> int:
    if value is None:
        return DEFAULT_MAX_TOKENS
    if type(value) is not int or value < 1:
        raise BadInput("max_tokens: send a whole number above 0.")
    return min(value, MAX_TOKENS)


def _check_temperature(value: object) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value <= 2:  # type: ignore[operator]  # the type was just checked
        raise BadInput("temperature: send a number from 0 to 2.")
    return float(value)  # type: ignore[arg-type]  # as above


def _check_stop(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value if value is not None else []
    if not isinstance(texts, list) or len(texts) > 4 or any(not isinstance(t, str) or len(t) > 100 for t in texts):
        raise BadInput("stop: send at most 4 short texts.")
    return tuple(texts)
