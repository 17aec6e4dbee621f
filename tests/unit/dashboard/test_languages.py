"""Pages in other languages: nothing stays English, whatever it says; and who gets which language."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.pages.chat import DEMO_WORDS
from orchestrator.capabilities.search.engines import ENGINES
from orchestrator.llm.first_tasks import FIRST_TASKS
from tests.support import made_once, sample_data
from tests.support.all_pages import Sight, samples, sights
from tests.support.app_fixture import API_TOKEN, AppFixture, run_app
from tests.support.pseudo_language import PSEUDO, PseudoLanguages, pseudo
from tests.unit.conftest import Api, logged_in

SHOWN = ("title", "placeholder", "aria-label", "alt", "data-ask", "data-yes", "data-missing", "label")
"""Attributes that people read."""
QUIET = frozenset({"script", "style", "code", "pre", "kbd", "bdi", "time", "textarea", "datalist"})
"""Elements whose text is code, a time, or somebody's own words."""
OWN_WORDS = re.compile(r"\b(?:prose|bubble|thought|run-prompt|brand|fact-text|log-text|price-model|tries)\b")
VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr", "source", "path", "rect"})
WORD = re.compile(r"[A-Za-z]{2,}")
OUTSIDE_ASCII = re.compile(r"[À-ɏ]")
UNITS = "kB MB GB UTC CET CEST min CPU PDF CSV JSON SQLite DNS Nr"
NAMES = f"""HermitShell Telegram OpenRouter OpenAI Anthropic DeepSeek Groq Mistral xAI Google Gemini Ollama Docker
Engine Markdown Linux amd64 SHA rehearsal custom embeddings anthropic deepseek gemini groq mistral ollama openai xai
openrouter application pdf pip app Europe Amsterdam operator Chromium Firefox Chrome Edge on BotFather hermit crab ada
ben example bücher PC TD TA WAV Pocket calculator Crab run {UNITS}"""
NO_ZONE = "time_zone: write an IANA name such as Europe/Vienna."
STAYS_ENGLISH = (
    re.compile(r"The host looks like .*"),  # of an address: kept with the question, in English
    re.compile(r"Permission denied \(EACCES\)"),  # the system's own word
    re.compile(r"[a-z0-9.*/:-]*(?:claude|gpt|gemini|grok|llama|mistral|qwen|kimi|deepseek|stral|o[134]-)[\w.*/:-]*"),
    re.compile(r"\*[a-z-]+\*|\*?ft-\*|text-embedding-[\w-]+\*"),
    re.compile(r"report\.pdf|http://nas\.local:3000|Europe/Vienna"),  # examples of what may be typed
    re.compile(r"example\.com|shop\.example|shop-password"),  # the same
    re.compile(
        r"github|@modelcontextprotocol/[\w@.-]+|GITHUB_TOKEN|api\.github\.com|mcp-server-time==[\d.]+"
    ),  # the same
    re.compile(r"mcp-server-time==[\d.]+|https://mcp\.example\.com/mcp|Authorization"),  # the same
)
"""What is known to stay, each with its reason."""


_SAMPLES = (Path(sample_data.__file__), Path(made_once.__file__))


class Reader(HTMLParser):
    """What a page says to people, without what is code or their own."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self._quiet: list[bool] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        is_own = tag in QUIET or given.get("dir") == "auto" or ("lang" in given and tag != "html")
        is_own = is_own or OWN_WORDS.search(given.get("class") or "") is not None
        is_quiet = bool(self._quiet and self._quiet[-1]) or is_own
        if not is_quiet:
            self.said += [" ".join(text.split()) for name in SHOWN if (text := given.get(name))]
        if tag not in VOID:
            self._quiet.append(is_quiet)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and self._quiet:
            self._quiet.pop()

    def handle_data(self, data: str) -> None:
        if data.strip() and not (self._quiet and self._quiet[-1]):
            self.said.append(" ".join(data.split()))


class Known:
    """What stands on pages without being ours to translate: what the sample install was filled with."""

    def __init__(self) -> None:
        source = "\n".join(path.read_text(encoding="utf-8") for path in _SAMPLES)
        self.text = " ".join(re.sub(r'"\s*\n\s*f?"', "", source).split())
        self.text += " Pocket calculator Crab run To do - cover the boat on Tuesday " + " ".join(
            (*DEMO_WORDS, *(task.prompt for task in FIRST_TASKS))
        )
        self.text += " ".join(f" {engine.label} {engine.key_from}" for engine in ENGINES[1:])
        self.words = {*WORD.findall(self.text), *NAMES.split()}

    def is_english(self, said: str) -> bool:
        """Something in it should be in another language."""
        if any(pattern.fullmatch(said) for pattern in STAYS_ENGLISH):
            return False
        words = [word for word in WORD.findall(said) if word not in NAMES.split()]
        if OUTSIDE_ASCII.search(said):  # a message, with a name or somebody's words, perhaps cut, put into it
            return any(not any(word in known for known in self.words) for word in words)
        pieces = [piece.strip("…,- 0123456789") for piece in re.split(r"[·:“”]| – ", said) if WORD.search(piece)]
        return bool(words) and any(piece not in self.text for piece in pieces if set(WORD.findall(piece)) & set(words))


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Flask, list[Sight], FlaskClient]]:
    """An install with something of everything, in the language that nobody speaks."""
    with run_app(tmp_path_factory.mktemp("lived"), environment=sample_data.ALL_ON) as install:
        made = sample_data.fill_with_samples(install)
        app = create_app(install.services, PseudoLanguages())
        client = logged_in(install, app, install.services.users.get_operator()).client
        yield app, sights(app, client, samples(install, made)), client


def test_nothing_on_a_page_stays_english(lived: tuple[Flask, list[Sight], FlaskClient]) -> None:
    """Every text that a page shows or says to a screen reader is a message of the catalogues, or somebody's own."""
    app, every, client = lived
    stranger, known = app.test_client(), Known()
    wrong: dict[str, list[str]] = {}
    for sight in every:
        asker = client if sight.is_inside else stranger
        asker.set_cookie("hermit_language", PSEUDO.tag)
        page = asker.get(sight.url).get_data(as_text=True)
        assert '<html lang="xx"' in page
        reader = Reader()
        reader.feed(page)
        for text in dict.fromkeys(reader.said):
            if known.is_english(text):
                wrong.setdefault(text, []).append(sight.name)
    assert wrong == {}, json.dumps({text: names[:3] for text, names in wrong.items()}, indent=1, ensure_ascii=False)


@pytest.mark.parametrize(
    ("wishes", "cookie", "lang"),
    [
        ("", "", "en"),
        ("xx", "", "xx"),
        ("fr, xx;q=0.5", "", "xx"),
        ("xx", "en", "en"),
        ("en", "xx", "xx"),
        ("en", "q", "en"),
    ],
)
def test_strangers_get_what_they_chose_or_wish_for(
    lived: tuple[Flask, list[Sight], FlaskClient], wishes: str, cookie: str, lang: str
) -> None:
    """The cookie first, then the browser's wishes in their order, then English."""
    stranger = lived[0].test_client()
    if cookie:
        stranger.set_cookie("hermit_language", cookie)
    page = stranger.get("/login", headers={"Accept-Language": wishes}).get_data(as_text=True)
    assert f'<html lang="{lang}"' in page


def test_a_persons_choice_comes_first_and_programs_get_english(webapp: AppFixture) -> None:
    """On every browser of theirs; errors of the API are said to pages in their language, and to tokens in English."""
    app = create_app(webapp.services, PseudoLanguages())
    page = logged_in(webapp, app, webapp.services.users.get_operator())
    page.client.set_cookie("hermit_language", PSEUDO.tag)
    own = {"X-CSRF-Token": page.csrf, "Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    wrong = page.client.patch("/api/me", json={"time_zone": "Mars"}, headers=own).get_json()["error"]
    assert wrong == {"code": "bad_input", "message": pseudo(NO_ZONE)}
    token = {"Authorization": f"Bearer {API_TOKEN}", "Accept-Language": PSEUDO.tag}
    plain = app.test_client().patch("/api/me", json={"time_zone": "Mars"}, headers=token).get_json()["error"]
    assert plain == {"code": "bad_input", "message": NO_ZONE}
    assert '<html lang="xx"' in page.client.get("/you").get_data(as_text=True)
    webapp.services.users.update_user(page_user(webapp), {"language": "en"})
    assert '<html lang="en"' in page.client.get("/you").get_data(as_text=True)


def page_user(webapp: AppFixture) -> int:
    """The operator's number."""
    return webapp.services.users.get_operator().id


def test_the_api_takes_a_language_that_is_offered(operator: Api) -> None:
    """Or none; anything else is refused by name, and nothing has changed."""
    assert operator.call("PATCH", "/me", {"language": "en"}).get_json()["language"] == "en"
    assert operator.get("/me")["language"] == "en"
    status, said = operator.refused("PATCH", "/me", {"language": "tlh"})
    assert (status, said.partition(":")[0]) == (400, "language")
    assert operator.refused("PATCH", "/me", {})[0] == 400
    both = operator.call("PATCH", "/me", {"language": "", "time_zone": "Asia/Tokyo"}).get_json()
    assert (both["language"], both["time_zone"]) == ("", "Asia/Tokyo")


def test_a_first_task_is_sent_as_the_one_who_answers_understands_it(webapp: AppFixture) -> None:
    """The demo knows its tasks word by word, in English; a model reads any language."""
    app = create_app(webapp.services, PseudoLanguages())
    page = logged_in(webapp, app, webapp.services.users.get_operator()).client
    page.set_cookie("hermit_language", PSEUDO.tag)
    task = FIRST_TASKS[0]
    shown = page.get("/agents/crab").get_data(as_text=True)
    assert pseudo(task.title) in shown
    assert task.prompt in shown
