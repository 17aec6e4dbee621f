"""The rehearsal: every feature by plain words, the same way each time, and honest about being a script."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from crab.answer import read_answer
from dashboard.pages.chat import DEMO_WORDS
from orchestrator.core.errors import Stopped
from orchestrator.core.models import ModelRequest
from orchestrator.llm.first_tasks import FIRST_TASKS
from orchestrator.llm.memory_block import PromptFact, block_of
from orchestrator.llm.upstreams.rehearsal import Rehearsal
from orchestrator.llm.upstreams.rehearsal_script import SUMMARY, reply_to
from orchestrator.llm.upstreams.rehearsal_texts import LONG, MENU, SLOW
from orchestrator.turns.summaries import TASK

STAMP = "[2026-02-28 10:00 Europe/Vienna, Saturday]\n"
OK = "Exit code 0 after 0.1 s. Output:\nhello.txt"
FAILED = "Exit code 1 after 0.1 s. Output:\nno such file"
DENIED = "The command was not run. The person was asked and said no. The command was not run."
DONE = "Panel actions:\n1. ok: 7"
REFUSED = "Panel actions:\n1. error: start: no such time"
NOTICE = "This is a rehearsal"


def talk(text: str, *results: str, history: tuple[dict[str, Any], ...] = ()) -> list[dict[str, Any]]:
    """All answers of one turn, each result given to the command or action before it."""
    messages = [{"role": "system", "content": "JSON"}, *history, {"role": "user", "content": STAMP + text}]
    answers = []
    for result in (*results, None):
        said = "".join(Rehearsal().complete(ModelRequest("", tuple(messages), 100)))
        answers.append(json.loads(said))
        if result is not None:
            messages += [{"role": "assistant", "content": said}, {"role": "user", "content": result}]
    return answers


EARLIER = ({"role": "user", "content": "hello"}, {"role": "assistant", "content": "Hello! I am a rehearsal."})


@pytest.mark.parametrize("text", ["hello", "", "what can you do?", "help", "🦀"])
def test_anything_else_gets_the_menu(text: str) -> None:
    """A greeting says what this is and what one can type."""
    (answer,) = talk(text)
    assert NOTICE in answer["message"]
    assert "`run ls -la`" in answer["message"]
    assert not answer["terminal"]


@pytest.mark.parametrize("text", ["run ls -la /", "Run: ls -la /", "please run ls -la /", "run\nls -la /"])
def test_run(text: str) -> None:
    """The command is run as it was typed, then its output is reported."""
    first, last = talk(text, OK)
    assert first["terminal"] == "ls -la /"
    assert last["terminal"] == ""
    assert "hello.txt" in last["message"]


@pytest.mark.parametrize("result", [FAILED, DENIED])
def test_run_reports_failure_and_refusal(result: str) -> None:
    """What did not work is told as it is."""
    last = talk("run ls", result)[-1]
    assert result.splitlines()[-1] in last["message"]


FILES = '\n\n[Files that came with this message: 1]\n- "/app/workspace/in/tide.csv" (12 bytes, text/csv)'


def test_files_that_come_along_are_no_part_of_a_command() -> None:
    """The command is what the person typed; files alone are looked at where they lie."""
    assert talk(f"run wc -l ../in/tide.csv{FILES}", OK)[0]["terminal"] == "wc -l ../in/tide.csv"
    assert talk(f"Here is a file.{FILES}", OK)[0]["terminal"].startswith("ls ")


@pytest.mark.parametrize("text", ["Which files do you have?", "what files are there", "list your files"])
def test_files(text: str) -> None:
    """It looks into all of its folders."""
    first, last = talk(text, OK)
    assert first["terminal"] == "ls -l . ../in ../out ../www"
    assert "hello.txt" in last["message"]


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (OK, "Result:\n\n```\nhello.txt\n```"),
        ("Exit code 0 after 0.1 s. No output.", "Done. The command printed nothing."),
        (FAILED, "The command ended with exit code 1:\n\n```\nno such file\n```"),
        ("Exit code 1 after 0.1 s. No output.", "The command ended with exit code 1 and printed nothing."),
        ("Exit code 124 after 9.0 s. It ran out of time.", "exit code 124:\n\n```\nIt ran out of time.\n```"),
    ],
)
def test_a_result_is_told_in_words(result: str, said: str) -> None:
    """Without what only a model needs to hear."""
    assert talk("run x", result, history=EARLIER)[-1]["message"].endswith(said)


@pytest.mark.parametrize("text", ["remind me to drink tea", "remember tea", "fetch https://example.org/a.pdf"])
@pytest.mark.parametrize("result", [DONE, REFUSED])
def test_no_protocol_reaches_a_person(text: str, result: str) -> None:
    """What came of a panel action is told, its form is not."""
    message = talk(text, result)[-1]["message"]
    assert re.search(r"Panel actions|\d\. (ok|error)", message) is None
    assert ("7" if result == DONE else "start: no such time") in message


@pytest.mark.parametrize("words", [*DEMO_WORDS, *(task.prompt for task in FIRST_TASKS)])
def test_the_words_on_the_buttons_are_understood(words: str) -> None:
    """None of them gets the menu."""
    assert "You can type" not in talk(words)[0]["message"]


@pytest.mark.parametrize("text", [LONG, MENU, SLOW])
def test_texts_are_not_wrapped(text: str) -> None:
    """Each line end is shown as one, so within a paragraph there is none."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert re.findall(r"[^\n]\n(?![\n|#-]|\d+\. ).*", prose) == []


def test_danger_approved() -> None:
    """A folder is made, its deletion asks, and the approval is seen."""
    make, delete, last = talk("do something dangerous", OK, OK)
    assert make["terminal"].startswith("mkdir -p rehearsal-scratch")
    assert delete["terminal"] == "rm -r rehearsal-scratch"
    assert "is gone" in last["message"]


@pytest.mark.parametrize("results", [(OK, DENIED), (DENIED,)])
def test_danger_denied(results: tuple[str, ...]) -> None:
    """A no is respected: nothing more is tried."""
    last = talk("delete something", *results)[-1]
    assert last["terminal"] == ""
    assert "nothing was deleted" in last["message"]


def test_file() -> None:
    """A file lands in out/ and is named in the action."""
    first, last = talk("make me a file", OK)
    assert "../out/hello.txt" in first["terminal"]
    assert last["action"] == "FILE:hello.txt"
    assert talk("make me a file", FAILED)[-1]["action"] == ""


def test_app() -> None:
    """A page that needs nothing from elsewhere lands in www/."""
    first, last = talk("an app please", OK)
    assert "../www/hello/index.html" in first["terminal"]
    assert first["terminal"].rstrip().endswith("PAGE")
    assert "http" not in first["terminal"]
    assert "hello" in last["message"]


@pytest.mark.parametrize(
    ("text", "title", "start"),
    [
        ("remind me to drink tea", "drink tea", "2026-02-28T09:01:00Z"),
        ("remind me in 5 minutes to drink tea.", "drink tea", "2026-02-28T09:06:00Z"),
        ("Remind me to drink tea in 2 hours", "drink tea", "2026-02-28T11:01:00Z"),
        ("remind me in an hour to drink tea", "drink tea", "2026-02-28T10:01:00Z"),
        ("remind me to run rm -rf a|b in 1 day", r"run rm -rf a\|b", "2026-03-01T09:01:00Z"),
        ("remind me", "stand up and stretch", "2026-02-28T09:01:00Z"),
    ],
)
def test_remind(text: str, title: str, start: str) -> None:
    """An entry in the calendar, its time counted from the conversation's own clock, its bars escaped."""
    first, last = talk(text, DONE)
    name, _, fields = first["panelActions"][0].partition(":")
    assert name == "CALENDAR_CREATE"
    assert fields.startswith(f"{title}|")
    assert fields.endswith(f"|{start}|")
    assert "in your calendar" in last["message"]
    assert "did not work" in talk(text, REFUSED)[-1]["message"]


def test_the_reminder_comes_back() -> None:
    """The prompt of the calendar entry is answered with the reminder, whatever words are in it."""
    fields = talk("remind me to run the dangerous app", DONE)[0]["panelActions"][0].split("|")
    (answer,) = talk(f"[This turn comes from the calendar.]\n[Disk: full]\n{fields[1]}", history=EARLIER)
    assert answer["message"] == "Your reminder: run the dangerous app"
    assert answer["terminal"] == ""


def test_what_is_remembered_plays_no_scene() -> None:
    """Facts that the host puts before the message are not the message."""
    facts = block_of(
        [PromptFact(1, "run ls and remember the dangerous file", "crab", 0.0), PromptFact(2, "a", "ada", 0.0)]
    )
    first, _ = talk(f"[Disk: full]\n{facts}\n\nrun pwd", OK)
    assert first["terminal"] == "pwd"
    assert "You can type" in talk(f"{facts}\n\nhello")[0]["message"]


def test_remember() -> None:
    """A memory is added."""
    first, last = talk("remember that I like tea", DONE)
    assert first["panelActions"] == ["MEMORY_ADD:I like tea"]
    assert "remember it" in last["message"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("what do you remember about tea?", "tea"),
        ("What do you know about Ada's cat", r"Ada'\''s cat"),
        ("what do you remember", "you"),
    ],
)
def test_recall(text: str, words: str) -> None:
    """It looks by the command, with what the person wrote as one word of it."""
    first, last = talk(text, "Exit code 0 after 0.1 s. Output:\n3. I like tea")
    assert first["terminal"] == f"hermit memory search -- '{words}'"
    assert "I like tea" in last["message"]


def test_ask() -> None:
    """A command asks, and its answer is told."""
    first, last = talk("ask me something", "Exit code 0 after 2.0 s. Output:\nTea")
    assert first["terminal"].startswith("hermit ask ")
    assert "Tea" in last["message"]
    assert "Nobody answered" in talk("ask", "Exit code 3 after 9.0 s. Output:\nhermit: Nobody answered.")[-1]["message"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/a/report.pdf", "pdf"), ("/prices.csv?day=1.5#top", "csv"), ("/", "html"), ("", "html"), ("/v1.2/list", "html")],
)
def test_fetch(path: str, kind: str) -> None:
    """A download is asked for, with what its address says of its type."""
    first, _ = talk(f"fetch https://example.org{path}", DONE)
    assert first["panelActions"] == [f"ASSET_REQUEST:A file for the rehearsal|https://example.org{path}|{kind}"]


def test_long() -> None:
    """Headings, lists, tables and code, longer than a chat message may be."""
    (answer,) = talk("a long answer")
    assert len(answer["message"]) > 4096
    assert {"# A walk", "| what |", "```bash", "- First"} <= {
        mark for mark in ("# A walk", "| what |", "```bash", "- First") if mark in answer["message"]
    }


@pytest.mark.parametrize("text", ["hello", "run ls", "dangerous", "file", "app", "remember x", "long"])
def test_the_notice_is_in_the_first_reply_and_only_there(text: str) -> None:
    """The first turn's reply says that no model speaks; later turns do not repeat it."""
    results = {"run ls": (OK,), "dangerous": (OK, OK), "file": (OK,), "app": (OK,), "remember x": (DONE,)}.get(text, ())
    first = talk(text, *results)
    assert [NOTICE in answer["message"] for answer in first] == [False] * len(results) + [True]
    later = talk(text, *results, history=EARLIER)
    assert not any(NOTICE in answer["message"] for answer in later)


def test_an_earlier_answer_with_json_in_it_is_no_command() -> None:
    """A reply in the history that speaks of JSON does not make the next message a result."""
    history = ({"role": "user", "content": "x"}, {"role": "assistant", "content": 'Use {"terminal": "ls"} for that.'})
    assert talk("run pwd", history=history)[0]["terminal"] == "pwd"


@pytest.mark.parametrize(
    "text", ["hello", "run ls", "app", "remind me to x|y", "long", "slow", 'remember "quotes" \\ and {}']
)
def test_the_crab_reads_every_answer(text: str) -> None:
    """Each answer is one object in the form that the crab reads without an error."""
    answer = read_answer(reply_to([{"role": "user", "content": text}]).as_json())
    assert answer.errors == []
    assert not answer.is_empty


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "user", "content": ""}],
        [{"role": "user", "content": None}],
        [{"role": "user"}],
        [{"role": "assistant", "content": '{"terminal": "x"}'}],
        [{"role": "system", "content": "x"}],
        [{"role": "user", "content": [{"type": "text", "text": "run ls"}]}],
        [{"role": "user", "content": "[2026-99-99 10:00 Nowhere/Land, X]\nremind me"}],
        [{"role": "user", "content": "remind me in 9999 days to retire"}],
    ],
)
def test_odd_conversations_are_answered(messages: list[dict[str, Any]]) -> None:
    """Whatever the messages are, there is an answer."""
    assert json.loads(reply_to(messages).as_json())


def test_the_same_talk_goes_the_same_way() -> None:
    """The script depends on the messages alone."""
    assert talk("dangerous", OK, OK) == talk("dangerous", OK, OK)


def test_slow_speaks_slowly_and_can_be_stopped() -> None:
    """Only the slow answer waits between words; closing wakes it in the middle."""
    request = ModelRequest("", ({"role": "user", "content": "slow"},), 100)
    speech = Rehearsal(slow_word_s=30).complete(request)
    words: list[str] = []
    opened = Rehearsal(slow_word_s=0.001).complete(request)
    assert "slowly" in "".join(opened)
    speech.close()
    with pytest.raises(Stopped):
        words.extend(speech)
    assert words == []


def test_it_costs_nothing() -> None:
    """Its own figure is zero, so no price table is asked."""
    speech = Rehearsal().complete(ModelRequest("", ({"role": "user", "content": "hello"},), 100))
    assert list(speech)
    assert speech.use.cost_micro == 0


def test_it_sums_a_conversation_up() -> None:
    """When the install asks it to; a person who says the same words is answered as ever."""
    asked = reply_to([{"role": "system", "content": TASK}, {"role": "user", "content": "PERSON: hello"}])
    assert asked.message == SUMMARY
    assert SUMMARY not in reply_to([{"role": "system", "content": "You."}, {"role": "user", "content": TASK}]).message
