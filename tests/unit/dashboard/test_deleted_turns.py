"""A message that was deleted, wherever a page could still lead to it."""

from __future__ import annotations

from tests.support.app_fixture import AppFixture, Scene
from tests.support.delivered_files import await_deliveries, put_out
from tests.unit.conftest import Api, Browser


def test_no_page_has_it_any_more(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """Neither by its own address nor where it stood; a file that it delivered stays, without the way back."""

    def make(scene: Scene) -> None:
        put_out(scene, {"a.txt": b"words\n"})
        scene.say("a quite singular answer")

    webapp.plays["a quite singular question"] = make
    turn = operator.post("/agents/crab/messages", {"text": "a quite singular question", "wait": True})["turn"]
    (delivery,) = await_deliveries(webapp, turn, 1)
    assert "quite singular" in browser.client.get("/agents/crab").get_data(as_text=True)
    assert "Where it came from" in browser.client.get(f"/agents/crab/delivered/{delivery.id}").get_data(as_text=True)
    assert operator.call("DELETE", f"/turns/{turn}").status_code == 204
    for path in (
        "/agents/crab",
        "/",
        "/agents/crab/turns?conversation=1",
        f"/agents/crab/turns/{turn}",
        f"/parts/turns/{turn}",
        "/search?q=singular",
    ):
        answer = browser.client.get(path)
        assert answer.status_code in (200, 404), path
        assert "quite singular" not in answer.get_data(as_text=True), path
    assert browser.client.get(f"/agents/crab/turns/{turn}").status_code == 404
    page = browser.client.get(f"/agents/crab/delivered/{delivery.id}")
    assert page.status_code == 200
    assert "words" in page.get_data(as_text=True)
    assert "Where it came from" not in page.get_data(as_text=True)
