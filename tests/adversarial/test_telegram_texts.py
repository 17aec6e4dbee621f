"""What an agent may write, as it arrives at Telegram: whole, under the agent's line, without a preview, a hidden link,
a button or a mark of the install, and within what Telegram takes.

Each text goes the whole way: a turn ends with it, its messages go over a real line to the test's Bot API server, and
what is judged are the requests that came there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from orchestrator.channels.chat.agent_text import MARK
from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.channels.chat.progress_text import TurnPhase, TurnProgress, so_far, status_line, unlink_text
from orchestrator.channels.chat.replies_to_turns import TurnReplies
from orchestrator.channels.telegram.client import TelegramClient
from orchestrator.channels.telegram.format.markdown import render_markdown
from orchestrator.core.models import TurnStatus
from orchestrator.core.text import chat_safe
from tests.support.bot_api import BotApi, Call
from tests.support.bot_api_rules import Json, units
from tests.support.chat_fakes import FakeOutbox, TurnsFixture, telegram_store
from tests.support.core_fixture import CoreFixture, core_fixture

_people = count(1_000)
LINKS = {"text_link", "text_mention", "url", "custom_emoji", "mention"}


@dataclass
class Bench:
    """An install, a bot, and the server that hears it."""

    fixture: TurnsFixture
    api: BotApi
    bot: str

    def arrives(self, reply: str | None, status: TurnStatus = TurnStatus.DONE, error: str | None = None) -> list[Call]:
        """What the server is asked when a turn ends like this; everything was accepted, and nothing breaks a rule."""
        person = self.api.person(next(_people))
        person.opens(self.bot)
        self.fixture.outbox.messages.clear()
        turn = self.fixture.asks(chat=person.id)
        self.fixture.ends(self.fixture.takes(), reply, status, error)
        before = len(self.api.calls())
        asyncio.run(self._answered())
        calls = self.api.calls()[before:]
        assert turn.id
        assert calls
        for call in calls:
            check(call)
        return calls

    async def _answered(self) -> None:
        install = self.fixture.install
        answers = TurnReplies(
            render=render_markdown,
            store=telegram_store(install.store),
            outbox=self.fixture.outbox,
            turns=install.turns,
            folder=install.home / "answers",
        )
        assert await answers.post_due() == 1
        await self.send(self.fixture.outbox.messages)

    async def send(self, messages: list[Message]) -> None:
        """The messages go over a line of their own."""
        wire = TelegramClient(self.bot, api_url=self.api.url)
        await wire.open()
        try:
            for stored in messages:
                await wire.send_message(stored.chat, stored.body)
        finally:
            await wire.close()

    def shows(self, text: str) -> list[Call]:
        """What the server is asked while an agent runs this as a command and writes it as its reply."""
        person = self.api.person(next(_people))
        person.opens(self.bot)
        before = len(self.api.calls())
        asyncio.run(self._shown(person.id, text))
        calls = self.api.calls()[before:]
        assert [call.method for call in calls] == ["sendMessage", "editMessageText", "sendMessageDraft"]
        for call in calls:
            check(call)
        return calls

    async def _shown(self, chat: int, text: str) -> None:
        wire = TelegramClient(self.bot, api_url=self.api.url)
        await wire.open()
        try:
            command = status_line(TurnProgress(1, "crab", TurnPhase.RUNNING, 1, text), 0)
            (message,) = await wire.send_message(chat, MessageBody(command, is_silent=True))
            await wire.edit_message(chat, message, MessageBody(so_far("crab", render_markdown, text + "\nmore")))
            await wire.send_draft(chat, 1, unlink_text(so_far("crab", render_markdown, text)))
        finally:
            await wire.close()


def check(call: Call) -> None:
    """What holds for everything that goes out."""
    given = call.parameters
    text, caption = str(given.get("text", "")), str(given.get("caption", ""))
    assert call.is_ok, (call.method, call.error, given)
    assert call.parse_modes == []
    assert call.named_files == []
    assert "reply_markup" not in given
    assert call.has_preview_off or call.method == "sendDocument"
    shown = text or caption
    assert shown.startswith(f"{MARK} "), shown[:80]
    assert shown.count(MARK) == 1
    assert units(text) <= 4096
    assert units(caption) <= 1024
    found: list[Json] = given.get("entities") or given.get("caption_entities") or []
    assert len(found) <= 100
    assert not {entity["type"] for entity in found} & LINKS
    assert all("url" not in entity for entity in found)
    if call.method == "sendMessageDraft":
        assert "://" not in text
        assert not any(dot in word[1:-1] for word in text.split() for dot in ".。．｡")


def body(calls: list[Call]) -> str:
    """The agent's words, without the lines of the install."""
    texts = [str(call.parameters["text"]) for call in calls]
    return "\n".join(text.partition("\n")[2] for text in texts)


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CoreFixture]:
    """An install for all of them."""
    with core_fixture(tmp_path_factory.mktemp("texts") / "home") as made:
        yield made


@pytest.fixture(scope="module")
def bench(install: CoreFixture) -> Iterator[Bench]:
    """The install with its bot."""
    with BotApi() as api:
        yield Bench(TurnsFixture(install, FakeOutbox(install.store)), api, api.bot())


# --- addresses -------------------------------------------------------------------------------------------------

URLS = (
    "https://evil.example/?d=c2VjcmV0", "http://evil.example", "HTTPS://EVIL.EXAMPLE/A", "evil.example",
    "evil.com/x?y=z#w",
    "www.evil.com", "https://www.evil.com:8443/p", "https://user:pass@evil.com/", "https://1.2.3.4/x", "1.2.3.4:80/x",
    "http://0x7f.1/", "http://2130706433/", "http://[::1]:80/", "http://[2001:db8::1]/x", "https://evil.com./",
    "t.me/evil", "https://t.me/evil?start=secret", "https://telegram.me/evil", "tg://resolve?domain=evil",
    "tg://user?id=42", "https://t.me/iv?url=https%3A%2F%2Fevil.com&rhash=1", "https://telegra.ph/x-01-01",
    "https://пример.рф/путь", "пример.рф", "https://xn--e1afmkfd.xn--p1ai/", "https://аррle.com/", "https://evil。com/x",
    "https://evil．com/x", "https://e\u200bvil.com/", "https://evil.com/\u202egnp.exe", "https://evil.com/\u2066a\u2069",
    "https://evil.com/a\u00adb", "https://evil.com/?q=" + "A" * 3000, "https://evil.com/" + "%41" * 50,
    "https://evil.com/?a=1&b=2&amp;c=3", "https://evil.com/a(b)c", "https://evil.com/a;b,c!d'e", "https://evil.com/~x/$y",
    "https://evil.com/a|b^c", "javascript:alert(1)", "data:text/html,x", "ftp://evil.com/x", "file:///etc/passwd",
    "mailto:a@evil.com?subject=s", "a@evil.com", "//evil.com/x", "ws://evil.com/", "evil.zip", "evil.py",
    "https://evil.com/?x=https://evil.org/?y=https://evil.net/", "@evilbot", "magnet:?xt=urn:btih:abc",
)  # fmt: skip


def test_there_are_fifty_kinds_of_address() -> None:
    """At least, and no two are the same."""
    assert len(set(URLS)) == len(URLS) >= 50


@pytest.mark.parametrize("url", URLS, ids=range(len(URLS)))
def test_an_address_goes_out_as_it_is_written(bench: Bench, url: str) -> None:
    """Bare, as a link with another text, as a picture, in brackets, as code, as a heading: the address can be read,
    nothing hides one, and Telegram is told to look at none."""
    safe = chat_safe(url)
    is_plain = not any(char in url for char in "&*_~<>[]()| ")
    bare = body(bench.arrives(f"See {url} now"))
    assert safe in bare or not is_plain
    for form in (f"[google.com]({url})", f"![]({url})", f"<{url}>", f"# {url}", f"> {url}", f"[x]: {url}"):
        assert safe in body(bench.arrives(form)) or not is_plain
    assert safe in body(bench.arrives(f"`{url}`"))
    assert safe in body(bench.arrives(f"```\n{url}\n```"))


@pytest.mark.parametrize("url", URLS, ids=range(len(URLS)))
def test_an_address_on_the_way_is_none(bench: Bench, url: str) -> None:
    """As a command that runs, in an edit, and in a draft: no preview, and in a draft nothing that is an address."""
    status, edit, draft = bench.shows(url)
    assert chat_safe(url[:160]) in str(status.parameters["text"]) or "\n" in url or url != chat_safe(url)
    assert status.has_preview_off
    assert edit.has_preview_off
    assert draft.parameters["text"].startswith(f"{MARK} crab:\n")


@pytest.mark.parametrize("url", URLS[:12])
def test_an_address_in_an_error_goes_out_the_same_way(bench: Bench, url: str) -> None:
    """The crab words errors, and the crab is the agent's."""
    assert url in body(bench.arrives(None, TurnStatus.FAILED, f"Ask at {url} please."))


# --- markup ----------------------------------------------------------------------------------------------------

VERBATIM = (
    "*_[]()~>#+-={}.!<b>&", "<b>bold</b> <i>it</i> <u>u</u> <s>s</s>", '<a href="https://evil.com">google.com</a>',
    '<a href="tg://user?id=42">Ada</a>', "<tg-spoiler>s</tg-spoiler>",
    '<tg-emoji emoji-id="5368324170671202286">x</tg-emoji>', '<pre><code class="language-python">x</code></pre>',
    "<blockquote expandable>q</blockquote>", "<script>alert(1)</script>",
    "<!-- comment -->", "<![CDATA[x]]>", "<?xml version='1.0'?>", "</b></i>", "<b", "||spoiler||", "[b]x[/b]",
    "{{template}} {% x %} ${y} #{z} %s %n {0}", "\\u202e \\x1b[31m \\n", "a_b_c 2 * 3 * 4", "snake_case_name",
    "1.", "-", "#", "#hashtag $CASH /command /stop@crab", "/start /approve abc", "'; DROP TABLE turns; --",
    "a | b | c", '{"ok":true,"result":[]}',
    "👩\u200d👩\u200d👧 \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "שלום עולם", "مرحبا بالعالم", "हिन्दी नमस्ते", "中文　全角", "ไทย", "e\u0301 n\u0303", "🇨🇭🇦🇹", "𝕳𝖊𝖑𝖑𝖔", "Straße ﬁ İ",
)  # fmt: skip


@pytest.mark.parametrize("text", VERBATIM, ids=range(len(VERBATIM)))
def test_what_is_no_markdown_arrives_letter_for_letter(bench: Bench, text: str) -> None:
    """No parse mode reads it, nothing is refused, nothing is left out."""
    assert body(bench.arrives(f"x {text}\ny")) == f"x {text}\ny"


MARKDOWN = {
    "**bold** *it* ~~s~~ `c`": "bold it s c",
    "[google.com](https://evil.com)": "google.com (https://evil.com)",
    "![alt](https://evil.com/x.png)": "alt (https://evil.com/x.png)",
    '[a](https://evil.com "title")': "a (https://evil.com title)",
    "***": "***",
    "```": "```",
    "[]()": "[]()",
    "&lt;b&gt; &#8238;x": "<b> \\u202ex",
}


@pytest.mark.parametrize("text", MARKDOWN)
def test_markdown_hides_nothing(bench: Bench, text: str) -> None:
    """Where a link leads stands beside it."""
    arrived = body(bench.arrives(f"x {text}"))
    assert all(word in arrived for word in MARKDOWN[text].replace("(", " ").replace(")", " ").split())


# --- what pretends to be the install -----------------------------------------------------------------------------

FORGED = (
    f"{MARK} crab asks: may this run?", f"ok\n\n{MARK} crab:\nforged", f"\n\n\n{MARK} house:\nApproved.", MARK * 50,
    f"```\n{MARK} crab asks: may this run?\n```", f"> {MARK} crab:", f"# {MARK} crab:", f"**{MARK}** crab:",
    "&#9670; crab:", f"|{MARK}|\n|-|\n|x|", f"`{MARK}` x", f"[{MARK}]({MARK})", f"\u202e{MARK}\u202c",
    f"{MARK}\ufe0f crab:", "\\◆ crab:", "[Approve] [Deny]",
    '{"reply_markup":{"inline_keyboard":[[{"text":"Approve","callback_data":"x"}]]}}',
    "[Approve](tg://callback?data=x)", "✅ Approved by you", "Telegram: your session was logged in.", "crab (2/2):\nx",
    "\u200b\n" * 300 + f"{MARK} crab asks: may this run?", " \n" * 900 + "forged", "/approve abcd2345",
)  # fmt: skip


@pytest.mark.parametrize("text", FORGED, ids=range(len(FORGED)))
def test_nothing_passes_for_the_install(bench: Bench, text: str) -> None:
    """One mark a message, the install's own, at its beginning; never a button."""
    assert bench.arrives(text)
    assert bench.arrives(None, TurnStatus.FAILED, text)
    bench.shows(text)


HIDING = (
    "\u202egnp.exe", "a\u200bb\u200cc\u200dd\ufeff", "\u2066x\u2069", "a\u0300" + "\u0301" * 500,
    "\x00\x07\x08\x1b[2J\x9b", "\u2028\u2029", "\U000e0041\U000e0042", "a\rb\r\nc", "\u3164\u115f\u1160\uffa0",
    "\u00ad" * 100, "\u061c\u200e\u200f", "\ufffe\uffff", "\u180e", "\u034f" * 50, "\ufff9a\ufffab\ufffb",
)  # fmt: skip


@pytest.mark.parametrize("text", HIDING, ids=range(len(HIDING)))
def test_what_hides_is_written_out(bench: Bench, text: str) -> None:
    """What reorders, hides or controls can be seen, and Telegram takes it."""
    arrived = body(bench.arrives(text))
    assert arrived == chat_safe(text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n").rstrip()
    bench.shows(text)


@pytest.mark.parametrize(
    "text", ["", " ", "\n\n", "\t", "\u00a0", "\u3000", "\u2800", "\u200b", "\ufeff", "```\n```", "#"]
)
def test_what_looks_empty_is_still_an_answer(bench: Bench, text: str) -> None:
    """There is one message, and Telegram takes it."""
    assert [call.method for call in bench.arrives(text)] == ["sendMessage"]


# --- long ones -------------------------------------------------------------------------------------------------

LONG = {
    "letters": "a" * 100_000,
    "words": "word " * 20_000,
    "lines": "a line\n" * 15_000,
    "families": "👩\u200d👩\u200d👧" * 20_000,
    "astral": "😀" * 100_000,
    "marks": "*" * 100_000,
    "brackets": "[" * 100_000,
    "quotes": "> " * 50_000,
    "hidden": "\u200b" * 100_000,
    "headers": f"{MARK} crab asks: may this run?\n" * 3_000,
    "addresses": "https://evil.com/?d=secret\n" * 4_000,
    "blank": "\n" * 99_999 + "x",
    "code": "```\n" + "x = 1\n" * 15_000 + "```",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_hundred_thousand_characters_are_a_beginning_and_a_file(bench: Bench, text: str) -> None:
    """Two messages, and the file has all of it."""
    calls = bench.arrives(text)
    bench.shows(text)
    if text.startswith("\n"):  # nothing but blank lines before it
        assert body(calls) == "x"
        return
    assert [call.method for call in calls] == ["sendMessage", "sendDocument"]
    (upload,) = calls[1].uploads.values()
    assert upload.filename.endswith(".md")
    assert upload.content.decode() == chat_safe(text).rstrip() + "\n"


def test_code_over_the_split_stays_code(bench: Bench) -> None:
    """Each message has a block of its own, and no line is lost."""
    lines = [f"print({n!r})  # {'x' * (n % 50)}" for n in range(500)]
    calls = bench.arrives("Before\n```python\n" + "\n".join(lines) + "\n```\nAfter")
    assert len(calls) > 3
    assert [line for line in body(calls).split("\n") if line.startswith("print")] == lines
    for call in calls:
        (block,) = [entity for entity in call.parameters["entities"] if entity["type"] == "pre"]
        assert block["language"] == "python"


@pytest.mark.parametrize("offset", range(12))
def test_no_character_is_cut(bench: Bench, offset: int) -> None:
    """Wherever the cut falls among emoji of several code points, each arrives whole."""
    family, flag = "👩\u200d👩\u200d👧", "🇨🇭"
    text = "a" * offset + (family + flag + "😀e\u0301") * 500
    arrived = body(bench.arrives(text)).replace("\n", "")
    assert arrived == text
    for call in bench.api.calls()[-2:]:
        piece = str(call.parameters["text"]).partition("\n")[2]
        assert not piece.startswith(("\u200d", "\u0301", "\udc00"))
        assert not piece.endswith("\u200d")


def test_many_styles_are_within_the_limit(bench: Bench) -> None:
    """More than a hundred entities are several messages."""
    calls = bench.arrives(" ".join(f"**b{n}**" for n in range(450)))
    assert body(calls).split() == [f"b{n}" for n in range(450)]
    assert len(calls) > 4


def test_the_files_are_private(bench: Bench) -> None:
    """What waits to be sent lies where nobody else looks."""
    folder: Path = bench.fixture.install.home / "answers"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
