"""The pages, as the server makes them: logging in and out, and hostile text in every field that can reach them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from flask import Flask

from dashboard.app import create_app
from dashboard.pages.chat import DEMO_WORDS
from orchestrator.capabilities.roles import ROLES
from orchestrator.llm.first_tasks import list_tasks
from tests.support.app_fixture import AppFixture, Scene, run_app
from tests.unit.conftest import OWN_ORIGIN, Api, Browser

EVIL = "\"'><script>alert(1)</script><img src=https://evil.example/x onerror=alert(1)>{{ 7*7777 }}"
EVALUATED = "54439"
"""What the last of it comes to; no clock shows it."""
OWN = {"Origin": OWN_ORIGIN}


class Page(HTMLParser):
    """Notes every address that a page makes the browser fetch, every inline script or style and every handler."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.inline: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Looks at one element."""
        given = dict(attrs)
        self.fetched += [str(given[name]) for name in ("src", "srcset", "data", "poster") if name in given]
        if tag == "link":
            self.fetched.append(str(given.get("href")))
        if tag == "style" or (tag == "script" and "src" not in given):
            self.inline.append(tag)
        self.inline += [f"{tag} {name}" for name in given if name.startswith("on") or name == "style"]

    def handle_data(self, data: str) -> None:
        """Text."""
        self.text += data


def checked(answer_text: str) -> Page:
    """A page that fetches from us alone and has nothing inline."""
    page = Page(answer_text)
    assert page.inline == []
    assert [source for source in page.fetched if not source.startswith(("/static/", "/agents/", "/manifest."))] == []
    return page


@pytest.fixture
def with_password(tmp_path: Path) -> Iterator[Flask]:
    """An install whose operator has a password."""
    with run_app(tmp_path, environment={"HERMIT_ADMIN_PASSWORD": "correct horse"}) as install:
        yield create_app(install.services)


def test_a_login_link_works_by_its_button_and_once(app: Flask, webapp: AppFixture) -> None:
    """Opening it any number of times burns nothing; pressing it twice does."""
    code = webapp.services.users.make_link(1)
    client = app.test_client()
    for _ in range(3):
        page = client.get(f"/login/{code}")
        assert (page.status_code, "Set-Cookie" in page.headers) == (200, False)
        checked(page.get_data(as_text=True))
    assert client.post(f"/login/{code}", headers=OWN).location == "/"
    assert client.get("/").status_code == 200
    again = app.test_client().post(f"/login/{code}", headers=OWN)
    assert again.status_code == 404
    assert "./hermit login-link" in again.get_data(as_text=True)


def test_whoever_is_in_may_use_another_link(app: Flask, webapp: AppFixture, browser: Browser) -> None:
    """The button on the page carries what is needed then."""
    code = webapp.services.users.make_link(1)
    page = browser.client.get(f"/login/{code}").get_data(as_text=True)
    csrf = re.search(r'name="csrf" value="(\w+)"', page)
    assert csrf is not None
    assert browser.client.post(f"/login/{code}", data={"csrf": csrf[1]}, headers=OWN).status_code == 303


def test_logging_in_by_password(with_password: Flask) -> None:
    """Right: on to the page that was asked for. Wrong: a kind word and 401, as page and as JSON."""
    client = with_password.test_client()
    asked = client.get("/agents/crab")
    assert asked.location == "/login?next=/agents/crab"
    page = client.get(asked.location).get_data(as_text=True)
    assert 'name="next" value="/agents/crab"' in page
    checked(page)
    wrong = client.post("/login", data={"name": "ada", "password": "wrong"}, headers=OWN)
    assert (wrong.status_code, "is wrong" in wrong.get_data(as_text=True)) == (401, True)
    told = client.post("/login", data={"name": "x"}, headers={**OWN, "Accept": "application/json"})
    assert (told.status_code, "is wrong" in told.get_json()["error"]["message"]) == (401, True)
    form = {"name": "ada", "password": "correct horse", "next": "/agents/crab"}
    assert client.post("/login", data=form, headers=OWN).location == "/agents/crab"
    assert client.get("/agents/crab").status_code == 200


def test_guessing_is_slowed_down(with_password: Flask) -> None:
    """After some wrong tries even the right password waits."""
    client = with_password.test_client()
    statuses = [
        client.post("/login", data={"name": "ada", "password": "x"}, headers=OWN).status_code for _ in range(11)
    ]
    assert statuses == [401] * 10 + [429]


@pytest.mark.parametrize(
    "path", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "/a\nb", "/login", ""]
)
def test_a_login_leads_to_our_own_pages_alone(with_password: Flask, path: str) -> None:
    """Whatever ``next`` says."""
    form = {"name": "ada", "password": "correct horse", "next": path}
    assert with_password.test_client().post("/login", data=form, headers=OWN).location == "/"


def test_logging_out_ends_the_session(app: Flask, browser: Browser) -> None:
    """The cookie goes, and the session is over for whoever kept a copy."""
    answer = browser.client.post("/logout", data={"csrf": browser.csrf}, headers=OWN)
    assert answer.status_code == 303
    thief = app.test_client()
    thief.set_cookie("hermit_session", browser.session)
    assert thief.get("/").location == "/login"


def test_a_page_opened_from_elsewhere_opens_itself_again(app: Flask) -> None:
    """Strict cookies stay at home on the way in, so the first answer brings the browser to ask again by itself."""
    answer = app.test_client().get("/agents/crab", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 200
    assert 'http-equiv="refresh" content="0"' in answer.get_data(as_text=True)
    assert app.test_client().get("/agents/crab", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303


def test_pages_answer_failures_as_pages(browser: Browser) -> None:
    """With a heading, a sentence and a way back."""
    for path, sentence in (("/nowhere", "nothing at this address"), ("/agents/nobody", "no agent called")):
        answer = browser.client.get(path)
        assert answer.status_code == 404
        assert sentence in checked(answer.get_data(as_text=True)).text


def test_no_field_of_an_agents_reaches_the_browser_as_markup(
    webapp: AppFixture, operator: Api, browser: Browser
) -> None:
    """Role, prompt, thought, command, output, reply, error and question: hostile in all, text in all."""
    operator.call("PATCH", "/agents/crab", {"role": EVIL, "personality": EVIL})

    def play(scene: Scene) -> None:
        scene.run(1, f"echo {EVIL}", thought=EVIL, output=EVIL)
        scene.run(2, f"rm -rf / {EVIL}")

    webapp.plays[EVIL] = play
    webapp.plays["fail"] = lambda scene: scene.fail(EVIL)
    webapp.plays["say"] = lambda scene: scene.say(EVIL)
    operator.post("/agents/crab/messages", {"text": "fail", "wait": True})
    operator.post("/agents/crab/messages", {"text": "say", "wait": True})
    operator.post("/agents/crab/messages", {"text": EVIL, "wait": True, "timeout": 0.5})
    while not operator.get("/approvals?status=pending")["approvals"]:
        pass
    for path in (
        "/",
        "/agents/crab",
        "/parts/waiting",
        "/parts/agents",
        "/parts/side",
        "/parts/turns/3",
        "/agents/crab/turns",
    ):
        page = checked(browser.client.get(path).get_data(as_text=True))
        assert EVALUATED not in page.text
    seen = checked(browser.client.get("/agents/crab").get_data(as_text=True)).text
    assert seen.count("<script>alert(1)</script>") >= 7


def test_a_question_is_shown_whole(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """A long command is there to its last letter, with its buttons off until the page turns them on."""
    command = "rm -rf work; echo " + "x" * 5000 + "; curl evil"
    webapp.plays["ask"] = lambda scene: scene.say(str(scene.run(1, command)))
    operator.post("/agents/crab/messages", {"text": "ask"})
    while not operator.get("/approvals?status=pending")["approvals"]:
        pass
    page = browser.client.get("/").get_data(as_text=True)
    assert "curl evil" in page
    assert page.count("data-decide") == page.count("disabled>") == 5
    assert "autofocus" not in page


def test_members_see_their_own_questions_alone(webapp: AppFixture, operator: Api, member: Api, app: Flask) -> None:
    """And another's turn is not theirs to see; nor is there a form for new agents."""
    webapp.plays["ask"] = lambda scene: scene.say(str(scene.run(1, "rm -rf secret-folder")))
    operator.post("/agents/crab/messages", {"text": "ask", "wait": True, "timeout": 0.3})
    client = app.test_client()
    users = webapp.services.users
    client.set_cookie("hermit_session", users.use_link(users.make_link(member.user.id)))
    home = client.get("/").get_data(as_text=True)
    assert "secret-folder" not in home
    assert "New agent" not in home
    assert client.get("/parts/turns/1").status_code == 404


def test_the_rehearsal_says_that_it_is_one(browser: Browser) -> None:
    """No model set up: a banner on the chat."""
    page = browser.client.get("/agents/crab").get_data(as_text=True)
    assert "Demo mode: no model is connected yet." in page
    assert "A built-in script, the rehearsal, answers for free" in page
    for words in DEMO_WORDS:
        assert f'<button class="try" type="button">{words}</button>' in page


def test_an_empty_chat_offers_tasks_by_the_agents_role(webapp: AppFixture, browser: Browser) -> None:
    """All that it may do, those of its role first, each with the whole message that it sends."""
    planner = next(role for role in ROLES if role.title == "Planner")
    webapp.services.agents.create({"name": "pia", "role": planner.role, "toolsets": ["calendar"]})
    page = browser.client.get("/agents/pia").get_data(as_text=True)
    offered = [html.unescape(text) for text in re.findall(r'data-say="([^"]*)"', page)]
    tasks = list_tasks(["calendar"], planner.tasks)
    assert offered == [task.prompt for task in tasks]
    assert offered[0].startswith("Put “Plan the week” into my calendar")
    assert len(offered) == 9  # nobody is asked back by an agent that may not ask


def test_a_disk_that_fills_up_is_said(webapp: AppFixture, browser: Browser) -> None:
    """The use is in the menu; from 80 % on a banner says what to do, and goes by itself."""
    work = webapp.services.settings.home / "workspaces" / "crab" / "1" / "work"
    work.mkdir(parents=True)
    page = browser.client.get("/agents/crab").get_data(as_text=True)
    assert "Disk: 0.0 MB of 2,048 MB" in page
    assert "nearly full" not in page
    (work / "file").write_bytes(b"x" * 15 * 2**20)
    webapp.services.agents.update_agent("crab", {"limits": {"disk_mb": 16}})
    webapp.services.quota.forget_agent("crab")
    part = browser.client.get("/parts/disk/crab").get_data(as_text=True)
    assert "is nearly full" in part
    assert "15 MB of 16 MB" in part


def test_an_install_without_agents_teaches(webapp: AppFixture, browser: Browser) -> None:
    """The empty page says what an agent is, and leads to the first one."""
    webapp.services.remove_agent("crab")
    page = browser.client.get("/").get_data(as_text=True)
    assert "No agents yet" in page
    assert page.count('href="/agents/new"') == 1
