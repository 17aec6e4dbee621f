"""Conversations as files: Markdown, a web page of one file, JSON, and JSON read back into a new conversation."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.__main__ import parser
from orchestrator.cli.context import Context
from orchestrator.core.errors import BadInput, Conflict
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture, Scene
from tests.unit.conftest import Api
from tests.unit.dashboard.api.test_deliveries import eventually

PATH = "/agents/crab/conversations"
ROOT = Path(__file__).resolve().parents[4]
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 64


@pytest.fixture
def place(webapp: AppFixture, operator: Api) -> int:
    """A conversation with a command, hostile words, a branch and files."""

    def work(scene: Scene) -> None:
        steps, key, turn = scene.install.steps, scene.key, scene.turn.id
        steps.start_step(key, turn, 1, thought="Look first.", command="echo '```'; ls", approval=None)
        steps.end_step(key, turn, 1, exit_code=0, output="```\n</pre><script>alert(1)</script>\n", ended="exited")
        scene.say("**Done**, see <script>alert(2)</script> and ![x](https://evil.example/x.png)")

    webapp.plays["work"] = work
    for text in ("hello", "work"):
        operator.post("/agents/crab/messages", {"text": text, "wait": True})
    first = operator.get("/agents/crab/history")["turns"][0]
    key = CubicleKey("crab", operator.user.id)
    conversation = int(first["conversation"])
    turn = operator.post(f"{PATH}/{conversation}/branch", {"turn": first["id"], "text": "bonjour"})["turn"]
    webapp.services.turns.wait_for_end(turn, 10)
    assert len(webapp.services.turns.list_history(key)) == 1
    operator.call("PATCH", f"{PATH}/{conversation}", {"turn": first["id"]})
    return conversation


def fetch(api: Api, place: int, how: str) -> Any:
    """The file, as it is sent."""
    answer = api.call("GET", f"{PATH}/{place}/export?format={how}")
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"] == f'attachment; filename="crab-hello.{how}"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    return answer


def test_markdown_has_what_was_said_and_done(operator: Api, place: int) -> None:
    """The branch that is shown; nothing in a command or its output ends its block."""
    text = fetch(operator, place, "md").get_data(as_text=True)
    assert text.startswith("# hello\n")
    assert "bonjour" not in text
    assert "````sh\necho '```'; ls\n````" in text
    assert "Look first." in text
    assert re.search(r"Exit code 0\.\n\n````\n```\n</pre><script>", text)
    assert text.index("You said: hello") < text.index("**Done**")


def test_a_web_page_runs_and_loads_nothing(operator: Api, place: int) -> None:
    """Whatever the agent wrote; it says so itself to the browser that opens it."""
    page = fetch(operator, place, "html").get_data(as_text=True)
    assert "default-src 'none'; img-src data:" in page
    assert "<script" not in page
    assert "<strong>Done</strong>" in page
    assert not re.search(r"""(?:src|href)=["'](?!data:|https://evil\.example/x\.png)""", page)
    assert "<img" not in page
    assert "bonjour" not in page


def test_json_has_every_branch_and_is_read_back(webapp: AppFixture, operator: Api, place: int) -> None:
    """With other ids, and nothing is run, asked or counted again."""
    told = json.loads(fetch(operator, place, "json").get_data())
    assert [turn["prompt"] for turn in told["turns"]] == ["hello", "work", "bonjour"]
    spent = operator.get("/agents/crab")["spent_today_usd"]
    asked = len(operator.get("/audit?kind=turn.asked&limit=200")["rows"])
    answer = operator.call("POST", f"{PATH}/import", told)
    assert answer.status_code == 201
    made = answer.get_json()
    assert (made["name"], made["unread"], made["is_named"]) == ("hello", 0, False)
    back = json.loads(operator.call("GET", f"{PATH}/{made['id']}/export?format=json").get_data())
    kept = ("prompt", "reply", "error", "status", "source", "created_at", "started_at", "ended_at", "steps")
    assert [[turn[field] for field in kept] for turn in back["turns"]] == [
        [turn[field] for field in kept] for turn in told["turns"]
    ]
    shown = operator.get(f"/agents/crab/history?conversation={made['id']}")["turns"]
    assert [turn["prompt"] for turn in shown] == ["hello", "work"]
    assert [len(turn["siblings"]) for turn in shown] == [2, 1]
    assert operator.get("/agents/crab")["spent_today_usd"] == spent
    assert len(operator.get("/audit?kind=turn.asked&limit=200")["rows"]) == asked
    found = operator.get(f"/agents/crab/history?q=bonjour&conversation={made['id']}")["turns"]
    assert [turn["prompt"] for turn in found] == ["bonjour"]
    key = CubicleKey("crab", operator.user.id)
    assert webapp.services.turns.submit(key, "on", source="api", conversation=made["id"]).parent == shown[-1]["id"]


def test_an_import_that_makes_no_sense_changes_nothing(operator: Api, place: int) -> None:
    """With the field's name; only JSON is taken, and only one's own conversations are given."""
    before = operator.get(PATH)
    status, why = operator.refused("POST", f"{PATH}/import", {"format": "x"})
    assert (status, why.startswith("format: ")) == (400, True)
    told = json.loads(fetch(operator, place, "json").get_data())
    told["turns"][1]["steps"][0]["output"] = 5
    assert "turns.1.steps.0.output" in operator.refused("POST", f"{PATH}/import", told)[1]
    assert operator.refused("GET", f"{PATH}/{place}/export?format=pdf")[0] == 400
    assert operator.get(PATH) == before


def test_nobody_saves_another_s(member: Api, place: int) -> None:
    """As with every route of a conversation."""
    assert member.refused("GET", f"{PATH}/{place}/export")[0] == 404


def test_in_the_terminal(
    webapp: AppFixture, place: int, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """``conversations export`` to standard output or a file that is new, and ``import`` of it."""

    def hermit(*arguments: str) -> bytes:
        options = parser(arguments[0]).parse_args(list(arguments))
        assert options.run(Context(ROOT, {}, webapp.services.settings), options) == 0
        return capfdbinary.readouterr().out

    assert hermit("conversations", "crab", "export", str(place)).startswith(b"# hello\n")
    target = tmp_path / "hello.json"
    save = ("conversations", "crab", "export", str(place), "--format", "json", "--out", str(target))
    assert hermit(*save) == f"Saved as {target}.\n".encode()
    with pytest.raises(Conflict, match="exists already"):
        hermit(*save)
    assert hermit("conversations", "crab", "import", str(target)).startswith(b"Imported as conversation ")
    with pytest.raises(BadInput, match="can't be read"):
        hermit("conversations", "crab", "import", str(tmp_path / "none"))
    target.write_text("not JSON")
    with pytest.raises(BadInput, match="is no JSON"):
        hermit("conversations", "crab", "import", str(target))


def test_what_was_delivered_is_in_it(webapp: AppFixture, operator: Api) -> None:
    """A picture is shown, another file can be saved from the page; a page that an agent made is a file like others."""
    home = Path(webapp.services.settings.home)
    files = {"boat.png": PNG, "page.html": b"<script>alert(1)</script>"}

    def work(scene: Scene) -> None:
        out = home / "workspaces" / scene.key.agent / str(scene.key.user) / "out"
        for name, content in files.items():
            (out / f".{name}").write_bytes(content)
            (out / f".{name}").rename(out / name)
        scene.say("Here.")

    webapp.plays["hello"] = work
    turn = operator.post("/agents/crab/messages", {"text": "hello", "wait": True})["turn"]
    eventually(lambda: len(operator.get(f"/agents/crab/deliveries?turn={turn}")["deliveries"]) == 2)
    place = operator.get(f"/turns/{turn}")["conversation"]
    told = json.loads(fetch(operator, place, "json").get_data())["turns"][0]["files"]
    assert {one["name"]: base64.b64decode(one["content"]) for one in told} == files
    page = fetch(operator, place, "html").get_data(as_text=True)
    picture = base64.b64encode(PNG).decode()
    assert f'<img src="data:image/png;base64,{picture}" alt="boat.png">' in page
    assert f'href="data:application/octet-stream;base64,{base64.b64encode(files["page.html"]).decode()}"' in page
    assert "- Delivered: boat.png" in fetch(operator, place, "md").get_data(as_text=True)
    for kept in (home / "outbox").iterdir():
        kept.unlink()
    assert [one["content"] for one in json.loads(fetch(operator, place, "json").get_data())["turns"][0]["files"]] == [
        None,
        None,
    ]
    assert "boat.png (not in this file)" in fetch(operator, place, "html").get_data(as_text=True)
