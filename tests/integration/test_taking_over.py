"""A person watches a real live browser of an agent in a real cubicle, takes it over, goes where they like, types what
the agent is not told, and gives it back.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest

from orchestrator.browser.screencast import is_small_jpeg
from tests.integration.test_browsing import (  # noqa: F401 - fixtures, used by their names
    heads,
    install,
    talker,
    town,
)
from tests.support.browsing import approved, ref_of, run
from tests.support.fake_internet import FakeInternet
from tests.support.real_app import Ran, RealApp, Talker, eventually
from tests.support.view_watcher import watching

pytestmark = pytest.mark.docker

SECRET = "correct horse battery"


def path(agent: Talker, what: str = "") -> str:
    """Of the API."""
    return f"/agents/{agent.name}/browser{what}"


def put_in(install: RealApp, agent: Talker, *deeds: Mapping[str, object]) -> None:  # noqa: F811 - the fixture
    """A person's hands."""
    answer = install.api.call("POST", path(agent, "/input"), json={"deeds": list(deeds)})
    assert answer.status_code == 204, answer.text


def go(install: RealApp, agent: Talker, url: str) -> None:  # noqa: F811 - the fixture
    """A person's own way to an address."""
    answer = install.api.call("POST", path(agent, "/go"), json={"url": url})
    assert answer.status_code == 204, answer.text


def click(x: float, y: float) -> tuple[dict[str, object], ...]:
    """At a place of the picture."""
    at = {"do": "point", "x": x, "y": y}
    return ({**at, "kind": "move"}, *({**at, "kind": kind, "button": "left"} for kind in ("down", "up")))


def background(install: RealApp, agent: Talker, *words: str) -> tuple[threading.Thread, list[Ran]]:  # noqa: F811
    """A command of the agent's that may have to wait."""
    ran: list[Ran] = []
    thread = threading.Thread(target=lambda: ran.append(run(install, agent, *words)))
    thread.start()
    return thread, ran


def taken_over(install: RealApp, agent: Talker) -> None:  # noqa: F811 - the fixture
    """The person has it."""
    assert install.api.post(path(agent, "/take-over"))["held"] is True


def test_nothing_is_shown_where_no_browser_is_open(install: RealApp, talker: Talker) -> None:  # noqa: F811
    """Its state says so, and everything else that there is none."""
    assert install.api.get(path(talker))["open"] is False
    assert install.api.call("GET", path(talker, "/frames")).status_code == 404
    for what in ("/take-over", "/close"):
        assert install.api.call("POST", path(talker, what), json={}).status_code == 404, what
    assert (
        install.api.call("POST", path(talker, "/input"), json={"deeds": [{"do": "key", "keys": "a"}]}).status_code
        == 409
    )


def test_a_view_shows_pictures_and_state(install: RealApp, talker: Talker) -> None:  # noqa: F811
    """JPEGs of the page, and its address; nothing can be put in before it is taken over."""
    approved(install, talker, "open", "http://shop.test/")
    with watching(install.api, talker.name) as view:
        eventually(lambda: view.frames and view.state.get("title") == "Shop")
        assert all(is_small_jpeg(one) for one in view.frames)
        assert (view.state["url"], view.state["title"], view.state["held"]) == ("http://shop.test/", "Shop", False)
        assert view.state["sites"] == ["shop.test"]
        deeds = {"deeds": [{"do": "paste", "text": "x"}]}
        assert install.api.call("POST", path(talker, "/input"), json=deeds).status_code == 409
        with watching(install.api, talker.name) as other:
            eventually(lambda: other.frames)
            assert eventually(lambda: view.over)["elsewhere"] is True
        count = len(view.frames)
    assert len(view.frames) == count


def test_a_slow_window_is_sent_three_pictures(install: RealApp, talker: Talker) -> None:  # noqa: F811
    """And the news of the page all the same."""
    approved(install, talker, "open", "http://shop.test/")
    with watching(install.api, talker.name, lags=True) as view:
        taken_over(install, talker)
        eventually(lambda: view.state.get("held"))
        for x in range(30):
            put_in(install, talker, {"do": "key", "keys": "Tab"}, *click(0.2 + x / 100, 0.1))
        go(install, talker, "http://shop.test/cart")
        eventually(lambda: view.state["title"] == "Cart")
        assert 1 <= len(view.frames) <= 3
        install.api.post(path(talker, "/give-back"))


def test_the_agent_waits_and_is_not_told_what_was_typed(
    install: RealApp,  # noqa: F811
    talker: Talker,  # noqa: F811
) -> None:
    """What looks at the page waits for its end; what was meant for the page of before is not done."""
    opened, _ = approved(install, talker, "open", "http://shop.test/")
    look = ref_of(opened.out, "Look")
    taken_over(install, talker)
    clicking, clicked = background(install, talker, "click", look)
    looking, looked = background(install, talker, "tabs")
    put_in(install, talker, {"do": "key", "keys": "Tab"}, {"do": "key", "keys": "Tab"}, {"do": "paste", "text": SECRET})
    put_in(install, talker, *({"do": "key", "keys": key} for key in ("Control+a", "Backspace", "4", "2")))
    clicking.join(2)
    assert clicked == looked == []
    assert install.api.post(path(talker, "/give-back"))["held"] is False
    clicking.join(60)
    looking.join(60)
    assert "A person had the browser" in clicked[0].err
    assert "shop.test" in looked[0].out
    shown = run(install, talker, "snapshot", "--full").out
    assert "42" in shown
    assert SECRET not in str(clicked + looked) + shown
    said = [(row["kind"], row["text"]) for row in install.api.get("/audit", agent=talker.name)["rows"]]
    assert [kind for kind, _ in said if kind in ("browser.taken", "browser.given_back")] == [
        "browser.given_back",
        "browser.taken",
    ]
    assert SECRET not in str(said)
    words = {"deeds": [{"do": "key", "keys": "a"}]}
    assert install.api.call("POST", path(talker, "/input"), json=words).status_code == 409


def test_a_person_goes_to_another_site_by_a_yes_of_their_own(
    install: RealApp,  # noqa: F811
    talker: Talker,  # noqa: F811
    town: FakeInternet,  # noqa: F811
) -> None:
    """A link to it is kept back and asked about; then the agent goes on there."""
    opened, _ = approved(install, talker, "open", "http://shop.test/")
    link = ref_of(opened.out, "Elsewhere")
    looked_up = len(town.looked_up)
    taken_over(install, talker)
    for _ in range(4):
        put_in(install, talker, {"do": "key", "keys": "Tab"})
    put_in(install, talker, {"do": "key", "keys": "Enter"})
    wanted = eventually(lambda: install.api.get(path(talker))["wanted"])
    assert (wanted["host"], wanted["url"]) == ("other.test", "http://other.test/")
    assert "other.test" not in town.looked_up[looked_up:]
    go(install, talker, wanted["url"])
    now = install.api.get(path(talker))
    assert (now["title"], now["wanted"]) == ("Other", None)
    install.api.post(path(talker, "/give-back"))
    assert "Another site" in run(install, talker, "snapshot", "--full").out
    assert link
    assert install.api.get(path(talker))["sites"] == ["other.test"]


def test_a_person_answers_a_dialog_and_closes(install: RealApp, talker: Talker) -> None:  # noqa: F811
    """It is in the state; the answer reaches the page. Closed, the agent is told why."""
    opened, _ = approved(install, talker, "open", "http://shop.test/cart")
    asked = run(install, talker, "click", ref_of(opened.out, "Pay"))
    assert "Sure?" in asked.out
    taken_over(install, talker)
    (dialog,) = install.api.get(path(talker))["dialogs"]
    assert (dialog["kind"], dialog["message"]) == ("confirm", "Sure?")
    answer = install.api.call("POST", path(talker, "/dialog"), json={"dialog": dialog["id"], "accept": True})
    assert answer.status_code == 204, answer.text
    eventually(lambda: install.api.get(path(talker))["title"] == "true")
    with watching(install.api, talker.name) as view:
        eventually(lambda: view.frames)
        assert install.api.call("POST", path(talker, "/close"), json={}).status_code == 204
        assert "closed the browser" in eventually(lambda: view.over)["why"]
    assert "A person closed the browser" in run(install, talker, "snapshot").err
