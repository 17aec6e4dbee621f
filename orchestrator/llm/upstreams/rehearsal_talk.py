"""What scenes of the rehearsal are made of: where a conversation stands, what a scene says next, and how what came of a
command is read and told. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

SHOWN_CHARS = 3000


@dataclass(frozen=True, slots=True)
class Reply:
    """What a scene wants next; nothing but a message ends the turn."""

    message: str
    terminal: str = ""
    action: str = ""
    panel_actions: tuple[str, ...] = ()
    is_slow: bool = False
    """Speak slowly, so that streaming and stopping can be seen."""

    @property
    def is_last(self) -> bool:
        """The turn ends with it."""
        return not self.terminal and not self.panel_actions

    def as_json(self) -> str:
        """The object that every model answers with."""
        return json.dumps(
            {
                "userId": "",
                "message": self.message,
                "action": self.action,
                "terminal": self.terminal,
                "panelActions": list(self.panel_actions),
            },
            ensure_ascii=False,
        )


@dataclass(frozen=True, slots=True)
class Talk:
    """Where the conversation stands."""

    text: str
    """What the person wrote, without the line that says what time it is."""
    what: str
    """The part of it that the scene is about, e.g. the command behind ``run``."""
    now: datetime
    results: tuple[str, ...]
    """What came of the commands and actions of this turn, in order."""
    is_first: bool
    """Nothing was answered before this turn."""


Scene = Callable[[Talk], Reply]


_ENDED = re.compile(r"Exit code (-?\d+) after [\d.]+ s\.(.*)", re.DOTALL)
_ACTION = re.compile(r"^\d+\. (?:ok|error): ", re.MULTILINE)


def was_refused(result: str) -> bool:
    return not result.startswith("Exit code") and re.search(r"not run|denied|refused|said no", result[:300]) is not None


def went_well(result: str) -> bool:
    return not was_refused(result) and re.match(r"Exit code (?!0\b)|Panel actions:\s+\d+\. error", result) is None


def report_text(result: str) -> str:
    if was_refused(result):
        return f"The command did not run. I was told:\n\n{quote_markdown(result)}"
    output, code = output_text(result), _ENDED.match(result)
    if code is None or code[1] == "0":
        return f"Result:\n\n{quote_markdown(output)}" if output else "Done. The command printed nothing."
    ended = f"The command ended with exit code {code[1]}"
    return f"{ended}:\n\n{quote_markdown(output)}" if output else f"{ended} and printed nothing."


def output_text(result: str) -> str:
    """What a command printed, and why it was ended, without the words that tell a model so."""
    ended = _ENDED.match(result)
    said = ended[2].strip() if ended else result.strip()
    return "" if said == "No output." else said.removeprefix("Output:\n")


def result_text(what: str, result: str) -> str:
    said = _ACTION.sub("", result.removeprefix("Panel actions:\n"))
    return f"{what}\n\n{quote_markdown(said)}" if went_well(result) else f"That did not work:\n\n{quote_markdown(said)}"


def quote_markdown(text: str) -> str:
    shown = text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}\n[… and more]"
    return f"```\n{shown.strip().replace('```', '` ` `')}\n```"


def quote_for_shell(text: str) -> str:
    """As one word of a shell."""
    return "'" + re.sub(r"\s+", " ", text).replace("'", "'\\''") + "'"


def panel_command(name: str, *fields: str) -> str:
    escaped = (re.sub(r"\s+", " ", field).replace("\\", "\\\\").replace("|", "\\|") for field in fields)
    return f"{name}:{'|'.join(escaped)}"
