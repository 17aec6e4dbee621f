"""What a message to an agent may be."""

from __future__ import annotations

from orchestrator.core.errors import BadInput, TooLarge

MAX_PROMPT_CHARS = 200_000


def check_prompt(text: str) -> None:
    """Raises BadInput or TooLarge for what is no message."""
    if not text.strip():
        raise BadInput("text: the message is empty. Write something.")
    if len(text) > MAX_PROMPT_CHARS:
        raise TooLarge(
            f"text: the message has {len(text):,} characters and at most {MAX_PROMPT_CHARS:,} fit. Send it as a file."
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput("text: the message holds half a character (a lone surrogate). Send plain Unicode.") from error
