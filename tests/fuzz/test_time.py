"""Time: whatever is repeated however often, no reader of strangers' texts takes more than a moment for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from crab.answer import read_answer, split_action
from dashboard.hosts import name_of
from dashboard.markdown import render_markdown as as_html
from dashboard.origin import is_own
from orchestrator.approvals.bash.parser import read_script
from orchestrator.approvals.policy.judge import judge_command
from orchestrator.approvals.policy.languages import read_code
from orchestrator.apps.previews.origins import is_own_host
from orchestrator.apps.previews.proxy_headers import rewrite_location, with_prefix
from orchestrator.apps.previews.shim_loader import with_shim
from orchestrator.apps.previews.signed_urls import Tickets
from orchestrator.apps.previews.static_files import parts_below
from orchestrator.capabilities.actions.parse import read_action
from orchestrator.capabilities.calendar.recurrence.expand import read_repeat
from orchestrator.capabilities.delivery.media_types import judge_file
from orchestrator.capabilities.table import REGISTRY
from orchestrator.channels.chat.agent_text import add_header, agent_messages, as_file, quote_text, split_text
from orchestrator.channels.telegram.format.markdown import render_markdown
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.fts_query import match_of
from orchestrator.core.models import ApprovalPolicy
from orchestrator.core.strict_json import read_object
from orchestrator.core.text import chat_safe, escape_invisible, one_line, terminal_safe
from orchestrator.files.names import archived_name, parts_of, safe_name
from orchestrator.llm.partial_reply import PartialReply
from orchestrator.llm.upstreams.sse import read_events
from orchestrator.web.urls import parse_url
from tests.fuzzing import bounded

LONG = 24_000
"""Characters; the judge of commands takes 100,000, but of what is no here-document only 8,000."""
MOST_S = 3.0
"""Of the processor, for each; ordinary text takes milliseconds. What takes the square of its length is over it."""
_BASE = "http://127.0.0.1:3001/a/ticket/"


def _drafted(text: str) -> None:
    draft = PartialReply()
    for at in range(0, len(text), 50):
        draft.add_piece(text[at : at + 50])
        assert len(draft.text) <= len(text)


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "answer": read_answer,
        "draft": _drafted,
        "action": split_action,
        "panel": lambda text: read_action(text, REGISTRY.actions),
        "judge": lambda text: judge_command(text, ApprovalPolicy.DANGEROUS),
        "judge of code": lambda text: judge_command(f"python3 -c '{text}'", ApprovalPolicy.DANGEROUS),
        "shell": lambda text: read_script(text.encode("utf-8", "replace").decode()),
        "judge of scripts": lambda text: judge_command(
            f"perl -e '{text}'; node -e '{text}'; awk '{text}'", ApprovalPolicy.DANGEROUS
        ),
        "python": lambda text: list(read_code("python", text)),
        "javascript": lambda text: list(read_code("javascript", text)),
        "perl": lambda text: list(read_code("perl", text)),
        "ruby": lambda text: list(read_code("ruby", text)),
        "awk": lambda text: list(read_code("awk", text)),
        "sql": lambda text: list(read_code("sql", text)),
        "json": lambda text: read_object(_raw(text)),
        "html": as_html,
        "telegram": lambda text: [add_header("crab", piece) for piece in split_text(render_markdown(text))],
        "telegram messages": lambda text: (
            agent_messages("crab", render_markdown(text)),
            as_file(render_markdown(text)),
        ),
        "quote": quote_text,
        "visible": escape_invisible,
        "one line": one_line,
        "terminal": terminal_safe,
        "chat": chat_safe,
        "name": safe_name,
        "archived name": lambda text: archived_name(_raw(text)),
        "path": lambda text: parts_of(_raw(text)),
        "repeat": read_repeat,
        "url": parse_url,
        "host": name_of,
        "preview host": lambda text: is_own_host(text, allowed=frozenset({"localhost"}), configured=""),
        "origin": lambda text: is_own(text, "localhost:3000", https=False),
        "redirect": lambda text: rewrite_location(text, base=_BASE),
        "page": lambda text: with_shim(with_prefix(_raw(text), _BASE), _BASE),
        "app path": lambda text: parts_below(_raw(text)),
        "ticket": lambda text: Tickets("key").decode_ticket(text, now=0.0),
        "search": match_of,
        "events": lambda text: list(read_events([_raw(text)])),
        "file": lambda text: judge_file(_raw(text)[:255], _raw(text), len(text)),
    }
)
_WRITTEN = (
    "{ } [ ] ( ) < > \" ' ` \\ / | & ; : , . = - + * # ~ ! ? @ $ % ^ _ a b 0 1 \n \t \r é 中 😀 \u0301 \u202e \ufeff "
    '\ud800 \\" \\u " :  \' ``` ~~~ ** __ ~~ ![ ]( [^ <a <!-- --> &amp; &# http:// // /* */ -- || && << <<E '
    '\nE\n $( ${ $(( <think> </think> ACTION: COMMAND: \nCOMMAND: {" ":" "terminal": |-| |a|b|\n > - 1. 2#3 FREQ= '
    "BYDAY= MO, data: data:\n event: @ :// %41 %00 %2e .. ../ <script <head <base src=\" href='/ \0 eval bash -c ' x= "
    "if then case in"
)
_BITS = st.sampled_from([" ", *filter(None, _WRITTEN.split(" "))])
_UNITS = st.one_of(_BITS, st.lists(_BITS, min_size=1, max_size=4).map("".join), st.text(min_size=1, max_size=4))


@bounded(120)
@given(st.sampled_from(sorted(READERS)), _UNITS, _UNITS | st.just(""), _UNITS | st.just(""))
def test_no_repetition_slows_a_reader(name: str, unit: str, before: str, after: str) -> None:
    """A short piece repeated up to tens of thousands of characters is read, or refused in words, within seconds."""
    text = before + unit * (LONG // len(unit)) + after
    started = time.thread_time()
    with suppress(OrchestratorError):
        READERS[name](text)
    assert time.thread_time() - started < MOST_S, name
