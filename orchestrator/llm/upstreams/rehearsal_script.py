"""The script of the rehearsal: what it answers to a conversation. No model, no network, no clock, no dice.

Pure: ``reply_to(messages)`` is a function of the messages alone, so the same talk always goes the same way. A scene is
a function of what the person wrote and of the results seen so far in this turn; it says the next thing to do. It reads
nothing else and runs nothing: commands and panel actions go the way that any model's go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from orchestrator.files.attachments import split_prompt
from orchestrator.llm.first_tasks import find_task
from orchestrator.llm.memory_block import HEAD
from orchestrator.llm.upstreams.lenient_json import json_object, text_of
from orchestrator.llm.upstreams.rehearsal_talk import (
    Reply,
    Scene,
    Talk,
    output_text,
    panel_command,
    quote_for_shell,
    quote_markdown,
    report_text,
    result_text,
    was_refused,
    went_well,
)
from orchestrator.llm.upstreams.rehearsal_tasks import TASK_SCENES
from orchestrator.llm.upstreams.rehearsal_texts import APP, GREETING, LONG, MENU, NOTICE, REMINDER, SLOW

_TO_SUM_UP = "You keep the record of a conversation"
"""So begins the program's own question (``summaries``)."""
_TO_LOOK = "You look at a picture"
"""And so the one about a picture (``page_looks``)."""
SIGHT = "The rehearsal can't see pictures. A model that can would describe this one."
SUMMARY = "The person and the rehearsal talked for a while, and tried some of what it can show."


def reply_to(messages: Sequence[dict[str, Any]]) -> Reply:
    """The next answer. The last one of a conversation's first turn says that all this is a rehearsal."""
    if messages and text_of(messages[0].get("content")).startswith(_TO_SUM_UP):
        return Reply(SUMMARY)
    if messages and text_of(messages[0].get("content")).startswith(_TO_LOOK):
        return Reply(SIGHT)
    start, results = _find_turn(messages)
    said = text_of(messages[start].get("content")) if messages else ""
    stamp = _STAMP.match(said)
    text, files = split_prompt(_BEFORE.sub("", said[stamp.end() :] if stamp else said).strip())
    is_first = not any(message.get("role") == "assistant" for message in messages[:start])
    scene, what = (_reply_files, "") if files and not text else _scene_for(text)
    reply = scene(Talk(text, what, _parse_now(stamp), results, is_first))
    if is_first and reply.is_last:
        return Reply(f"{NOTICE}\n\n{reply.message}", action=reply.action, is_slow=reply.is_slow)
    return reply


# --- the scenes ------------------------------------------------------------------------------------------------


def _reply_greeting(talk: Talk) -> Reply:
    return Reply(f"{GREETING}\n\n{MENU}" if talk.is_first else f"I know only a few words.\n\n{MENU}")


def _reply_run(talk: Talk) -> Reply:
    if not talk.results:
        return Reply("I am running your command.", terminal=talk.what)
    return Reply(report_text(talk.results[-1]))


def _reply_files(talk: Talk) -> Reply:
    if not talk.results:
        return Reply("I am looking into my folders.", terminal="ls -l . ../in ../out ../www")
    return Reply(report_text(talk.results[-1]))


def _reply_danger(talk: Talk) -> Reply:
    if not talk.results:
        command = "mkdir -p rehearsal-scratch && echo 'Nothing of value.' > rehearsal-scratch/note.txt"
        return Reply("I am making a folder that nobody will miss.", terminal=command)
    if was_refused(talk.results[-1]):
        return Reply(f"All right, nothing was deleted. I was told:\n\n{quote_markdown(talk.results[-1])}")
    if len(talk.results) == 1:
        return Reply("Now I want to delete it. I need your approval for that.", terminal="rm -r rehearsal-scratch")
    if not went_well(talk.results[-1]):
        return Reply(report_text(talk.results[-1]))
    return Reply("Deleted: `rehearsal-scratch` is gone. Try it again and say no, to see what happens then.")


def _reply_file(talk: Talk) -> Reply:
    if not talk.results:
        command = "echo 'Hello from the cubicle!' > hello.txt && mv hello.txt ../out/hello.txt"
        return Reply("I am writing a file and putting it into my `out/` folder.", terminal=command)
    if not went_well(talk.results[-1]):
        return Reply(report_text(talk.results[-1]))
    return Reply(
        "Here is your file, `hello.txt`: everything in my `out/` folder is sent to you.", action="FILE:hello.txt"
    )


def _reply_app(talk: Talk) -> Reply:
    if not talk.results:
        command = f"mkdir -p ../www/hello && cat > ../www/hello/index.html <<'PAGE'\n{APP}PAGE"
        return Reply("I am building a small web app.", terminal=command)
    if not went_well(talk.results[-1]):
        return Reply(report_text(talk.results[-1]))
    return Reply("Your page is ready: `www/hello/index.html` in my workspace.")


def _reply_remind(talk: Talk) -> Reply:
    if talk.results:
        return Reply(result_text("The reminder is in your calendar.", talk.results[-1]))
    delay = _DELAY.search(talk.what)
    what = _DELAY.sub("", talk.what).strip().removeprefix("to ").strip(" .") or "stand up and stretch"
    # The time in a conversation has no seconds, so a minute more makes sure that it is never too early.
    start = talk.now + _delay_of(delay) + timedelta(minutes=1)
    fields = (what[:60], f"{REMINDER} {what}", start.strftime("%Y-%m-%dT%H:%M:%SZ"), "")
    return Reply("I am putting it into your calendar.", panel_actions=(panel_command("CALENDAR_CREATE", *fields),))


def _reply_reminded(talk: Talk) -> Reply:
    return Reply(f"Your reminder: {talk.what or 'it is time'}")


def _reply_remember(talk: Talk) -> Reply:
    if talk.results:
        return Reply(result_text("I will remember it.", talk.results[-1]))
    return Reply("I am making a note of it.", panel_actions=(panel_command("MEMORY_ADD", talk.what),))


def _reply_recall(talk: Talk) -> Reply:
    if not talk.results:
        return Reply(
            "I am looking through what I know.",
            terminal=f"hermit memory search -- {quote_for_shell(talk.what or 'you')}",
        )
    return Reply(report_text(talk.results[-1]))


def _reply_ask(talk: Talk) -> Reply:
    if not talk.results:
        command = "hermit ask 'Tea or coffee?' --choices Tea,Coffee --free-text"
        return Reply("I am asking you something, and my command waits for your answer.", terminal=command)
    if not went_well(talk.results[-1]):
        return Reply(report_text(talk.results[-1]))
    return Reply(f"Thank you. My command got your answer:\n\n{quote_markdown(output_text(talk.results[-1]))}")


def _reply_fetch(talk: Talk) -> Reply:
    if talk.results:
        return Reply(result_text("The download waits for your approval.", talk.results[-1]))
    kind = re.search(r"//[^/?#]+/[^?#]*\.([A-Za-z0-9]{1,10})(?:[?#]|$)", talk.what)
    fields = ("A file for the rehearsal", talk.what, kind[1] if kind else "html")
    return Reply("I am asking for a file from the internet.", panel_actions=(panel_command("ASSET_REQUEST", *fields),))


def _reply_long(_talk: Talk) -> Reply:
    return Reply(LONG)


def _reply_slow(_talk: Talk) -> Reply:
    return Reply(SLOW, is_slow=True)


_SCENES: tuple[tuple[re.Pattern[str], Scene], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), scene)
    for pattern, scene in (
        (rf"^{re.escape(REMINDER)}\s*(?P<what>.*)", _reply_reminded),
        (r"^(?:please\s+)?run[:\s]\s*(?P<what>\S.*)", _reply_run),
        (r"\bremind me\b[:,\s]*(?P<what>.*)", _reply_remind),
        (r"\bwhat do you (?:know|remember)\b(?:\s+about\b)?(?P<what>[^?]*)", _reply_recall),
        (r"^(?:please\s+)?ask\b(?P<what>)", _reply_ask),
        (r"\bremember\b(?:\s+that\b)?[:,\s]*(?P<what>\S.*)", _reply_remember),
        (r"\b(?:fetch|download)\s+(?P<what>https?://\S+)", _reply_fetch),
        (r"\b(?:danger|dangerous|delete)\b(?P<what>)", _reply_danger),
        (r"\b(?:which|what|list|show)\b.*\bfiles\b(?P<what>)", _reply_files),
        (r"\bfile\b(?P<what>)", _reply_file),
        (r"\bapp\b(?P<what>)", _reply_app),
        (r"\blong\b(?P<what>)", _reply_long),
        (r"\bslow(?:ly)?\b(?P<what>)", _reply_slow),
    )
)
"""In order: the first that fits plays."""


# --- reading the conversation -----------------------------------------------------------------------------------

_STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d) (\d\d:\d\d) ([A-Za-z0-9_+/-]{1,64})(?:,[^\]\n]*)?\]\s*")
_BEFORE = re.compile(rf"\A(?:\[[^\n]*\]\n)*(?:{re.escape(HEAD)}.*?\n\n)?", re.DOTALL)
"""What the host had to say before the message: notes, and what is remembered."""
_DELAY = re.compile(r"\bin\s+(?:(\d{1,4})|an?|one)\s*(second|minute|hour|day)s?\b", re.IGNORECASE)
_UNITS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}
_NO_TIME = datetime(2030, 1, 1, 9, tzinfo=UTC)
"""For a conversation that does not say what time it is."""


def _find_turn(messages: Sequence[dict[str, Any]]) -> tuple[int, tuple[str, ...]]:
    """Where the present turn starts, and the results since. A message that follows an answer with a command or a panel
    action in it is a result; every other is a person's."""
    at, results = len(messages) - 1, list[str]()
    while at >= 2 and messages[at - 1].get("role") == "assistant" and _is_question(messages[at - 1]):
        results.append(text_of(messages[at].get("content")))
        at -= 2
    return max(at, 0), tuple(reversed(results))


def _is_question(message: dict[str, Any]) -> bool:
    answer = json_object(text_of(message.get("content")).encode("utf-8", "replace"))
    return answer is not None and bool(answer.get("terminal") or answer.get("panelActions"))


def _scene_for(text: str) -> tuple[Scene, str]:
    if task := find_task(text):
        return TASK_SCENES[task.id], ""
    for pattern, scene in _SCENES:
        if match := pattern.search(text):
            return scene, match["what"].strip()
    return _reply_greeting, ""


def _parse_now(stamp: re.Match[str] | None) -> datetime:
    if stamp is None:
        return _NO_TIME
    try:
        local = datetime.fromisoformat(f"{stamp[1]}T{stamp[2]}").replace(tzinfo=ZoneInfo(stamp[3]))
        return local.astimezone(UTC)
    except (ValueError, OverflowError, OSError, ZoneInfoNotFoundError):
        return _NO_TIME


def _delay_of(found: re.Match[str] | None) -> timedelta:
    return int(found[1] or 1) * _UNITS[found[2].lower()] if found else timedelta()
