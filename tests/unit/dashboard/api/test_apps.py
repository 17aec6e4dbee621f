"""Web apps over the API and on their pages: found by looking, framed by one page alone, shared one by one, known by the
turn that made them; and whatever an agent calls them is text.
"""

from __future__ import annotations

import html
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
import requests
from flask import Flask

from dashboard import headers, origin
from orchestrator.core.models import CubicleKey, Turn
from tests.support.app_fixture import AppFixture, Scene
from tests.unit.conftest import Api, Browser, logged_in
from tests.unit.dashboard.api.test_deliveries import eventually
from tests.unit.dashboard.test_pages import EVIL, checked

PATH = "/agents/crab/apps"
ODD = "a&b '\"<i>#?% ü"
FRAME = {"Sec-Fetch-Dest": "iframe"}


@dataclass(frozen=True)
class Www:
    """Somebody's ``www/``."""

    folder: Path

    def app(self, name: str, page: str = "<title>A title</title>") -> Path:
        """An app made of one page."""
        return self.write(f"{name}/index.html", page)

    def write(self, path: str, text: str) -> Path:
        """One file."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


def www_of(webapp: AppFixture, user: int) -> Www:
    """A person's ``www/`` with the agent crab."""
    mounts = webapp.services.workspaces.prepare_folders(CubicleKey("crab", user), uid=os.getuid(), gid=os.getgid())
    return Www(mounts.www)


@pytest.fixture
def www(webapp: AppFixture) -> Www:
    """The operator's."""
    return www_of(webapp, 1)


def names(operator: Api, path: str = PATH) -> list[str]:
    """The apps that are listed."""
    return [app["name"] for app in operator.get(path)["apps"]]


def without_frame(page: str) -> str:
    """A page but for the address of its frame, which is the one thing from elsewhere."""
    return re.sub(r'<iframe class="app-frame" src="http://[^"]+"', "<iframe", page, count=1)


def policy_of(browser: Browser, path: str) -> str:
    """A page's own policy."""
    answer = browser.client.get(path)
    assert answer.status_code == 200, path
    return answer.headers["Content-Security-Policy"]


def test_apps_are_found_by_looking(operator: Api, www: Www) -> None:
    """Each folder is one, with what it lacks; nothing before there is any."""
    assert names(operator) == []
    www.app("to-do", "<title>To do</title>")
    www.write("chart/app.json", '{"port": 8080, "title": "Chart"}')
    www.write("draft/notes.txt", "x")
    www.write("loose.html", "x")
    chart, draft, todo = operator.get(PATH)["apps"]
    assert (todo["title"], todo["kind"], todo["port"], todo["missing"]) == ("To do", "static", None, None)
    assert (chart["title"], chart["kind"], chart["port"]) == ("Chart", "live", 8080)
    assert (draft["kind"], draft["frame_url"], draft["changed_at"]) == ("incomplete", None, None)
    assert "index.html" in draft["missing"] == draft["reason"]
    assert operator.get(f"{PATH}/chart")["title"] == "Chart"
    assert operator.refused("GET", f"{PATH}/nothing")[0] == 404
    assert operator.refused("GET", "/agents/nobody/apps")[0] == 404
    assert names(operator, "/apps") == ["chart", "draft", "to-do"]


def test_the_frame_shows_the_app_and_nobody_else_may(operator: Api, www: Www) -> None:
    """In a frame of the dashboard that asked; at top level there is a word about how to open it."""
    www.app("to-do", "<title>To do</title><p>milk")
    app = operator.get(f"{PATH}/to-do")
    assert app["view_url"] == "http://localhost/agents/crab/apps/to-do"
    found = requests.get(app["frame_url"], headers=FRAME, timeout=10)
    assert "milk" in found.text
    assert "frame-ancestors http://localhost;" in found.headers["Content-Security-Policy"]
    alone = requests.get(app["frame_url"], headers={"Sec-Fetch-Dest": "document"}, timeout=10)
    assert alone.status_code == 403
    assert "open it there" in alone.text


def test_the_dashboard_s_own_name_behind_a_proxy(webapp: AppFixture, app: Flask) -> None:
    """What the operator said under that name, else what the browser asked for."""
    for host, https, own in (
        ("127.0.0.1:3000", False, "http://127.0.0.1:3000"),
        ("Localhost", True, "https://localhost"),
        ("hermit.example", False, "https://hermit.example"),
        ("hermit.example:80", False, "https://hermit.example"),
    ):
        sent = {"Host": host, **({"X-Forwarded-Proto": "https"} if https else {})}
        with app.test_request_context("/", headers=sent):
            assert origin.own_origin("https://hermit.example") == own


DIAGRAMS = re.compile(r"(?:; frame-src)? http://localhost/static/[0-9a-f]{16}/diagram\.html")
"""What a page's policy says of the frame that diagrams are drawn in."""


def test_without_previews_there_is_the_reason(webapp: AppFixture, operator: Api, www: Www, browser: Browser) -> None:
    """The rest of the install goes on, and says so where one looks."""
    www.app("to-do")
    assert operator.get("/status")["previews"] == "ok"
    webapp.services.previews._why_not = "Apps can't be shown: the port is taken."
    assert operator.get("/status")["previews"] == "Apps can't be shown: the port is taken."
    app = operator.get(f"{PATH}/to-do")
    assert (app["frame_url"], app["reason"]) == (None, "Apps can't be shown: the port is taken.")
    for path in ("/agents/crab/apps", "/agents/crab/apps/to-do", "/agents/crab?app=to-do"):
        page = browser.client.get(path)
        assert "<iframe" not in page.get_data(as_text=True)
        assert "the port is taken" in page.get_data(as_text=True)
        assert DIAGRAMS.sub("", page.headers["Content-Security-Policy"]) == headers.CONTENT_SECURITY_POLICY


def test_one_page_may_hold_one_app(operator: Api, www: Www, browser: Browser) -> None:
    """Its policy names that app's URL; every other page may hold that in which diagrams are drawn."""
    www.app("to-do")
    www.app("other")
    for path in ("/agents/crab/apps/to-do", "/agents/crab?app=to-do"):
        rest, _, framed = policy_of(browser, path).rpartition("; ")
        checked(without_frame(browser.client.get(path).get_data(as_text=True)))
        assert rest == headers.CONTENT_SECURITY_POLICY
        assert framed.startswith("frame-src http://127.0.0.1:")
        assert len(DIAGRAMS.sub("", f"; {framed}").split()) == 3
    assert policy_of(browser, "/parts/apps/crab") == headers.CONTENT_SECURITY_POLICY
    for path in ("/", "/agents/crab", "/agents/crab/apps", "/agents/crab/settings", "/agents/crab?app=nothing"):
        rest, _, framed = policy_of(browser, path).rpartition("; ")
        assert rest == headers.CONTENT_SECURITY_POLICY
        assert DIAGRAMS.fullmatch(f"; {framed}")
    for path in ("/agents/crab/apps/nothing", "/agents/nobody?app=to-do"):
        missing = browser.client.get(path)
        assert (missing.status_code, "frame-src" in missing.headers["Content-Security-Policy"]) == (404, False)


def test_the_frame_is_as_narrow_as_can_be(www: Www, browser: Browser) -> None:
    """Scripts run in an origin of their own; no feature, no referrer."""
    www.app("to-do")
    page = browser.client.get("/agents/crab/apps/to-do").get_data(as_text=True)
    tag = page[page.index("<iframe") : page.index("</iframe>")]
    assert 'sandbox="allow-scripts allow-forms allow-pointer-lock"' in tag
    assert 'allow=""' in tag
    assert 'referrerpolicy="no-referrer"' in tag


@pytest.mark.parametrize("url", ["http://a/b c", "http://a/;x", "http://a/,x", "javascript:x", "//a/b", "http://a/'x'"])
def test_a_policy_takes_no_odd_url(url: str, app: Flask) -> None:
    """Nothing that could say more than where a frame comes from."""
    with app.test_request_context("/"), pytest.raises(ValueError, match="can't stand"):
        headers.allow_frame(url)


def test_what_an_agent_calls_them_is_text(operator: Api, www: Www, browser: Browser, webapp: AppFixture) -> None:
    """Folders, titles and descriptions with markup, in cards, frames, replies and forms."""
    www.app(ODD, f"<title>{html.escape(EVIL)}</title>")
    www.write("live-" + ODD + "/app.json", '{"port": 1, "title": "' + EVIL.replace('"', '\\"') + '"}')
    www.write(EVIL.replace("/", "") + "/x", "")

    def play(scene: Scene) -> None:
        scene.run(1, "make it", output="made")
        www.app(ODD, f"<title>{html.escape(EVIL)}</title>")

    webapp.plays["make"] = play
    operator.post("/agents/crab/messages", {"text": "make", "wait": True})
    assert len(names(operator)) == 3
    for app in operator.get(PATH)["apps"]:
        path = urlsplit(app["view_url"]).path
        assert operator.get(f"{PATH}/{quote(app['name'], safe='')}") is not None
        for shown in (path, f"/agents/crab?app={quote(app['name'])}"):
            text = browser.client.get(shown).get_data(as_text=True)
            assert "<script>alert" not in text
            assert "<i>" not in text
            assert "&lt;" in text
            checked(without_frame(text))
    for path in ("/agents/crab", "/agents/crab/apps", "/", "/parts/turns/1"):
        text = browser.client.get(path).get_data(as_text=True)
        checked(text)
        assert "<script>alert" not in text


def test_sharing_is_for_one_app_alone(webapp: AppFixture, app: Flask, operator: Api, member: Api, www: Www) -> None:
    """The guest opens it as it is, with its memory, and sees nothing else of its owner; an end is an end."""
    www.app("to-do", "<p>milk")
    www.app("diary")
    whose = f"?user={operator.user.id}"
    assert member.refused("GET", f"{PATH}/to-do{whose}")[0] == 403
    shared = operator.post(f"{PATH}/to-do/share", {"user": "Ben"})
    assert shared["shared_with"] == [{"id": member.user.id, "name": "ben"}]
    assert operator.post(f"{PATH}/to-do/share", {"user": member.user.id}) == {
        **shared,
        "frame_url": operator.get(f"{PATH}/to-do")["frame_url"],
    }
    seen = member.get(f"{PATH}/to-do{whose}")
    assert (seen["owner"], seen["shared_with"], seen["user"]) == ("ada", [], operator.user.id)
    assert names(member, "/apps") == ["to-do"]
    assert "milk" in requests.get(seen["frame_url"], headers=FRAME, timeout=10).text
    guest = logged_in(webapp, app, member.user)
    page = guest.client.get(f"/agents/crab/apps/to-do{whose}").get_data(as_text=True)
    assert "<iframe" in page
    assert "data-log=" not in page
    assert 'name="user"' not in page
    assert "ada’s" in guest.client.get("/agents/crab/apps").get_data(as_text=True)
    assert "Apps shared with you" in guest.client.get("/").get_data(as_text=True)
    for path in (f"{PATH}/diary", PATH, "/agents/crab/log", "/agents/crab/files/www/to-do"):
        assert member.refused("GET", f"{path}{whose}")[0] == 403, path
    for method in ("POST", "DELETE"):
        assert member.refused(method, f"{PATH}/to-do/share{whose}", {"user": 2})[0] == 403
    for path in (f"/parts/app-log/crab{whose}", f"/parts/app-guests/crab/to-do{whose}"):
        assert guest.client.get(path).status_code == 403, path
    assert "<iframe" not in guest.client.get("/agents/crab?app=to-do").get_data(as_text=True)
    assert operator.call("DELETE", f"{PATH}/to-do/share", {"user": member.user.id}).status_code == 204
    assert member.refused("GET", f"{PATH}/to-do{whose}")[0] == 403
    assert names(member, "/apps") == []
    assert requests.get(seen["frame_url"], headers=FRAME, timeout=10).status_code == 404
    kinds = [row["kind"] for row in operator.get("/audit?q=to-do")["rows"]]
    assert {"app.shared", "app.unshared"} <= set(kinds)


@pytest.mark.parametrize("end", ["logout", "everybody out", "no longer shared", "another agent of the same name"])
def test_an_address_ends_with_what_it_was_given_for(
    webapp: AppFixture, operator: Api, member: Api, www: Www, end: str
) -> None:
    """Its login, its person's right to the app, and the agent itself."""
    www.app("to-do", "<p>milk")
    operator.post(f"{PATH}/to-do/share", {"user": "ben"})
    users = webapp.services.users
    session = users.use_link(users.make_link(member.user.id))
    seen = webapp.services.previews.get_app(CubicleKey("crab", operator.user.id), "to-do")
    url = webapp.services.previews.frame_url(seen, dashboard=webapp.url, login=users.login_of(session))
    assert "milk" in requests.get(url, headers=FRAME, timeout=10).text
    if end == "logout":
        users.log_out(session)
    elif end == "everybody out":
        users.log_everybody_out(by="test")
    elif end == "no longer shared":
        operator.call("DELETE", f"{PATH}/to-do/share", {"user": member.user.id})
    else:
        assert operator.call("DELETE", "/agents/crab").status_code in (202, 204)
        eventually(lambda: "crab" not in [agent.name for agent in webapp.services.agents.list_agents()])
        assert requests.get(url, headers=FRAME, timeout=10).status_code == 404
        operator.post("/agents", {"name": "crab"})
        www_of(webapp, operator.user.id).app("to-do", "<p>secret")
        operator.post(f"{PATH}/to-do/share", {"user": "ben"})
    answer = requests.get(url, headers=FRAME, timeout=10)
    assert (answer.status_code, "has expired" in answer.text) == (404, True)


def test_a_member_shares_their_own(webapp: AppFixture, operator: Api, member: Api) -> None:
    """With anybody whose name they know; the list of people is the operator's."""
    www_of(webapp, member.user.id).app("game")
    assert names(member) == ["game"]
    assert names(operator) == []
    assert names(operator, f"{PATH}?user={member.user.id}") == ["game"]
    shared = member.post(f"{PATH}/game/share", {"user": "ada"})
    assert [guest["name"] for guest in shared["shared_with"]] == ["ada"]
    assert names(operator, "/apps") == ["game"]
    assert operator.get(f"{PATH}/game?user={member.user.id}")["owner"] == "ben"
    assert operator.refused("GET", f"{PATH}/game")[0] == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"user": ""}, 400),
        ({"user": True}, 400),
        ({"user": [1]}, 400),
        ({"user": "nobody"}, 404),
        ({"user": 77}, 404),
        ({"user": 1}, 400),
        ({"user": "ada"}, 400),
        ({"user": 1, "app": "x"}, 400),
    ],
)
def test_sharing_with_nobody(body: object, status: int, operator: Api, www: Www) -> None:
    """Neither with oneself; the answer says what is wrong."""
    www.app("to-do")
    assert operator.refused("POST", f"{PATH}/to-do/share", body)[0] == status


def turn_of(operator: Api, text: str) -> dict[str, object]:
    """A turn that has ended."""
    number = operator.post("/agents/crab/messages", {"text": text, "wait": True})["turn"]
    found: dict[str, object] = operator.get(f"/turns/{number}")
    return found


def test_a_turn_knows_which_apps_it_changed(operator: Api, www: Www, webapp: AppFixture, browser: Browser) -> None:
    """Those that can be opened, however deep the change; its reply leads there, until they are gone."""
    www.app("old")
    www.write("deep/app.json", '{"port": 8080, "title": "Deep"}')
    www.write("deep/a/b/c.txt", "x")
    time.sleep(0.05)

    def play(scene: Scene) -> None:
        scene.run(1, "touch")
        time.sleep(0.03)
        www.app("new", "<title>Brand <b>new</b></title>")
        www.write("deep/a/b/c.txt", "y")
        www.write("half/x.txt", "x")
        scene.say("Here it is.")

    webapp.plays["make"] = play
    assert turn_of(operator, "make")["apps"] == ["deep", "new"]
    reply = browser.client.get("/parts/turns/1").get_data(as_text=True)
    assert 'href="/agents/crab/apps/new"' in reply
    assert "Open <bdi>Deep</bdi>" in reply
    (www.folder / "new" / "index.html").unlink()
    assert "apps/new" not in browser.client.get("/parts/turns/1").get_data(as_text=True)


def test_a_turn_without_commands_changed_none(operator: Api, www: Www, webapp: AppFixture) -> None:
    """Nothing is looked for then, whoever wrote there meanwhile."""

    def play(scene: Scene) -> None:
        www.app("new")
        scene.say("hm")

    webapp.plays["chat"] = play
    assert turn_of(operator, "chat")["apps"] == []


def test_a_turn_ends_whatever_lies_in_www(operator: Api, www: Www, webapp: AppFixture) -> None:
    """Links, pipes, and names that are no text are no apps and no trouble."""

    def play(scene: Scene) -> None:
        scene.run(1, "touch")
        (www.folder / "link").symlink_to("/etc")
        os.mkfifo(www.folder / "pipe")
        (Path(os.fsdecode(os.fsencode(www.folder) + b"/\xff"))).mkdir()
        www.app("fine")
        scene.say("done")

    webapp.plays["make"] = play
    assert turn_of(operator, "make")["apps"] == ["fine"]


def test_everybody_has_apps_of_their_own(webapp: AppFixture, app: Flask, operator: Api, member: Api, www: Www) -> None:
    """On pages, too: a member finds none of the operator's; nobody finds any without a login."""
    www.app("to-do")
    theirs = logged_in(webapp, app, member.user)
    assert "No apps yet." in theirs.client.get("/agents/crab/apps").get_data(as_text=True)
    assert theirs.client.get("/agents/crab/apps/to-do").status_code == 404
    assert theirs.client.get("/agents/crab/apps/to-do?user=1").status_code == 403
    assert app.test_client().get("/agents/crab/apps/to-do").status_code == 303


def test_the_operator_opens_what_a_turn_of_somebody_else_made(
    webapp: AppFixture, member: Api, browser: Browser
) -> None:
    """The way there says whose it is."""
    theirs = www_of(webapp, member.user.id)

    def play(scene: Scene) -> None:
        scene.run(1, "touch")
        theirs.app("game")
        scene.say("done")

    webapp.plays["make"] = play
    turn: Turn = webapp.services.turns.submit(CubicleKey("crab", member.user.id), "make", source="api")
    webapp.services.turns.wait_for_end(turn.id, 10)
    deadline = time.monotonic() + 10
    while not webapp.services.turns.get(turn.id).apps and time.monotonic() < deadline:
        time.sleep(0.02)
    reply = browser.client.get(f"/parts/turns/{turn.id}").get_data(as_text=True)
    assert f'href="/agents/crab/apps/game?user={member.user.id}"' in reply
    assert "data-beside" not in reply
