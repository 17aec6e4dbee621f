"""Points of time and undo over the API: what a turn did is seen, taken back, and come back to; one's own alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture, Scene
from tests.unit.conftest import Api
from tests.unit.dashboard.api.test_deliveries import eventually

POINTS = "/agents/crab/checkpoints"
Work = Callable[[Path], object]


class Desk:
    """An agent whose commands change files, and who looks at them."""

    def __init__(self, webapp: AppFixture, api: Api) -> None:
        self.webapp, self.api = webapp, api
        key = CubicleKey("crab", api.user.id)
        mounts = webapp.services.workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid())
        self.top = Path(mounts.work).parent
        self.work = Path(mounts.work)

    def turn(self, text: str, *commands: Work) -> int:
        """A turn with these commands; its number, once its last point is taken."""

        def play(scene: Scene) -> None:
            for n, command in enumerate(commands, 1):
                steps, key, turn = scene.install.steps, scene.key, scene.turn.id
                steps.start_step(key, turn, n, thought="", command=f"step {n}", approval=None)
                command(self.top)
                steps.end_step(key, turn, n, exit_code=0, output="", ended="exited")
            scene.say("Done.")

        self.webapp.plays[text] = play
        turn = int(self.api.post("/agents/crab/messages", {"text": text, "wait": True})["turn"])
        undo = self.webapp.services.undo
        if commands:
            eventually(lambda: (span := undo.get_span(turn)) is not None and span.after is not None)
        return turn

    def prompts(self) -> list[str]:
        """What the shown branch asked."""
        return [turn["prompt"] for turn in self.api.get("/agents/crab/history")["turns"]]

    def plan(self, turn: int, query: str = "") -> dict[str, Any]:
        """What its undo would do."""
        return dict(self.api.get(f"/turns/{turn}/undo{query}"))

    def undo(self, turn: int, **body: object) -> dict[str, Any]:
        """It is taken back."""
        return dict(self.api.post(f"/turns/{turn}/undo", body or None))

    def note(self) -> list[str]:
        """What the agent is told before its next turn."""
        told: list[str] = []
        key = CubicleKey("crab", self.api.user.id)

        def play(scene: Scene) -> None:
            told.append(self.webapp.services.restores.turn_note(key, scene.turn.id))
            scene.say("ok")

        self.webapp.plays["?"] = play
        self.api.post("/agents/crab/messages", {"text": "?", "wait": True})
        return [text for text in told if text]


@pytest.fixture
def desk(webapp: AppFixture, operator: Api) -> Desk:
    """The operator's."""
    return Desk(webapp, operator)


def write(path: str, text: str) -> Work:
    """A command that writes a file."""

    def work(top: Path) -> None:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)

    return work


def delete(path: str) -> Work:
    """A command that deletes one."""
    return lambda top: (top / path).unlink()


def paths(changes: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Each change in short."""
    return [(change["path"], change["kind"]) for change in changes]


def test_a_turn_is_taken_back(desk: Desk) -> None:
    """Its files are as before, byte by byte; the conversation is, too; the agent is told; and it can be done again."""
    desk.turn("one", write("work/a.txt", "first\n"))
    (desk.work / "mine.txt").write_text("mine")
    turn = desk.turn("two", write("work/a.txt", "second\n"), write("work/sub/b.txt", "b"), write("www/c.txt", "c"))
    plan = desk.plan(turn)
    assert (plan["turns"], plan["conflicts"], plan["stays"], plan["undone_at"]) == ([turn], [], [], None)
    assert ("work/a.txt", "changed") in paths(plan["changes"])
    assert ("work/mine.txt", "made") not in paths(plan["changes"])
    done = desk.undo(turn)
    assert (desk.work / "a.txt").read_text() == "first\n"
    assert (desk.work / "mine.txt").read_text() == "mine"
    assert not (desk.work / "sub").exists()
    assert not (desk.top / "www/c.txt").exists()
    assert (done["conversation_moved"], done["files"]["left"]) == (True, [])
    assert desk.prompts() == ["one"]
    (told,) = desk.note()
    assert "took back what you did for “two”" in told
    assert desk.note() == []
    assert desk.api.refused("POST", f"/turns/{turn}/undo")[0] == 409
    assert desk.plan(turn)["undone_at"] is not None
    before = done["files"]["before"]
    desk.api.post(f"{POINTS}/{before}/restore")
    assert (desk.work / "a.txt").read_text() == "second\n"
    assert (desk.work / "sub/b.txt").read_text() == "b"


def test_a_change_by_hand_is_seen_before_it_is_undone(desk: Desk) -> None:
    """Although no point was taken of it: the file is asked about, and the rest goes back."""
    desk.turn("zero", write("work/a.txt", "0"), write("work/b.txt", "0"))
    turn = desk.turn("one", write("work/a.txt", "1"), write("work/b.txt", "1"))
    (desk.work / "a.txt").write_text("by hand")
    assert paths(desk.plan(turn)["conflicts"]) == [("work/a.txt", "changed")]
    desk.undo(turn)
    assert ((desk.work / "a.txt").read_text(), (desk.work / "b.txt").read_text()) == ("by hand", "0")
    assert [point["kind"] for point in desk.api.get(POINTS)["checkpoints"]].count("person") == 1


def test_a_turn_without_an_end_is_not_undone_alone(desk: Desk) -> None:
    """Where its last point could not be taken: nothing changes, and it is said what can be done."""
    turn = desk.turn("one", write("work/a.txt", "1"))
    with desk.webapp.app._store.writing() as db:
        db.execute("UPDATE turn_points SET after = NULL WHERE turn = ?", (turn,))
    status, why = desk.api.refused("POST", f"/turns/{turn}/undo")
    assert (status, "everything since" in why) == (409, True)
    assert (desk.work / "a.txt").exists()
    desk.undo(turn, since=True)
    assert not (desk.work / "a.txt").exists()


def test_what_was_changed_again_is_asked_about(desk: Desk) -> None:
    """It stays, unless it is named; later turns stay too, and so does the conversation."""
    desk.turn("zero", write("work/a.txt", "0"), write("work/b.txt", "0"))
    turn = desk.turn("one", write("work/a.txt", "1"), write("work/b.txt", "1"))
    desk.turn("two", write("work/a.txt", "2"))
    plan = desk.plan(turn)
    assert (paths(plan["changes"]), paths(plan["conflicts"])) == (
        [("work/b.txt", "changed")],
        [("work/a.txt", "changed")],
    )
    done = desk.undo(turn)
    assert [one["path"] for one in done["files"]["left"]] == ["work/a.txt"]
    assert (done["conversation_moved"], desk.prompts()) == (False, ["zero", "one", "two"])
    assert ((desk.work / "a.txt").read_text(), (desk.work / "b.txt").read_text()) == ("2", "0")


def test_a_file_that_is_named_goes_back_all_the_same(desk: Desk) -> None:
    """Although it was changed again."""
    desk.turn("zero", write("work/a b.txt", "0"))
    turn = desk.turn("one", write("work/a b.txt", "1"))
    desk.turn("two", write("work/a b.txt", "2"))
    desk.undo(turn, including=["work/a%20b.txt"])
    assert (desk.work / "a b.txt").read_text() == "0"


def test_everything_since_is_taken_back(desk: Desk) -> None:
    """Also what a person changed meanwhile, and the turns that followed are on a branch of their own."""
    desk.turn("one", write("work/a.txt", "1"))
    turn = desk.turn("two", write("work/a.txt", "2"))
    desk.turn("words")
    desk.turn("three", write("work/b.txt", "3"))
    (desk.work / "mine.txt").write_text("mine")
    assert desk.plan(turn, "?since=1")["turns"][0] == turn
    done = desk.undo(turn, since=True)
    assert done["conversation_moved"] is True
    assert sorted(path.name for path in desk.work.iterdir() if not path.name.startswith(".")) == ["a.txt"]
    assert ((desk.work / "a.txt").read_text(), desk.prompts()) == ("1", ["one"])
    assert len(desk.api.get("/agents/crab/history")["turns"][0]["children"]) == 1


def test_a_turn_of_words_only_moves_the_conversation(desk: Desk) -> None:
    """There is nothing else to take back."""
    desk.turn("one")
    turn = desk.turn("two")
    assert (desk.plan(turn)["changes"], desk.undo(turn)["files"]) == ([], None)
    assert desk.prompts() == ["one"]
    first = desk.api.get("/agents/crab/history")["turns"][0]["id"]
    desk.undo(first)
    assert desk.prompts() == []
    assert desk.turn("anew")
    assert desk.prompts() == ["anew"]


def test_what_can_not_be_taken_back_is_named(desk: Desk) -> None:
    """A delivered file, a memory: each in words, with a way to delete it where there is one."""
    services, key = desk.webapp.services, CubicleKey("crab", desk.api.user.id)

    def work(top: Path) -> None:
        (top / "out/.r").write_text("report")
        (top / "out/.r").rename(top / "out/report.txt")

    turn = desk.turn("work", work)
    services.memories.add_fact(key, "Likes tea", by="agent", turn=turn)
    eventually(lambda: desk.api.get(f"/agents/crab/deliveries?turn={turn}")["deliveries"])
    stays = desk.plan(turn)["stays"]
    assert [(one["kind"], one["text"]) for one in stays] == [
        ("delivery", "report.txt was delivered, and stays so."),
        ("memory", "Remembered: Likes tea"),
    ]
    assert desk.api.call("DELETE", stays[1]["remove"].removeprefix("/api")).status_code == 204


def test_an_edited_message_puts_the_files_back(desk: Desk) -> None:
    """Where its person wants that: words and files in one act; a message that is refused changes nothing."""
    desk.turn("one", write("work/a.txt", "1"))
    turn = desk.turn("two", write("work/a.txt", "2"))
    desk.turn("three", write("work/b.txt", "3"))
    place = desk.api.get(f"/turns/{turn}")["conversation"]
    at = f"/agents/crab/conversations/{place}/branch"
    assert desk.api.refused("POST", at, {"turn": turn, "text": " ", "files": True})[0] == 400
    assert (desk.work / "b.txt").exists()
    desk.api.post(at, {"turn": turn, "text": "zwei", "files": True})
    assert ((desk.work / "a.txt").read_text(), (desk.work / "b.txt").exists()) == ("1", False)
    assert desk.prompts() == ["one", "zwei"]


def test_points_are_listed_and_compared(desk: Desk) -> None:
    """One before the first command, one after each, line by line where it is text."""
    turn = desk.turn("work", write("work/a.txt", "one\ntwo\n"), write("work/a.txt", "one\n2\nthree\n"))
    found = desk.api.get(POINTS)["checkpoints"]
    assert [(point["kind"], point["turn"], point["step"]) for point in reversed(found)] == [
        ("before", turn, None),
        ("command", turn, 1),
        ("command", turn, 2),
    ]
    first, last = found[-1]["id"], found[0]["id"]
    diff = desk.api.get(f"{POINTS}/{first}/diff")
    assert (diff["to"], paths(diff["changes"])) == (last, [("work/a.txt", "made")])
    lines = desk.api.get(f"{POINTS}/{found[1]['id']}/diff?to={last}&path=work/a.txt")["changes"][0]["lines"]
    assert lines == ["@@@ -1,2 +1,3 @@", " one", "-two", "+2", "+three"]
    content = desk.api.call("GET", f"{POINTS}/{last}/files/work/a.txt")
    assert (content.data, content.headers["Content-Disposition"].split(";")[0]) == (b"one\n2\nthree\n", "attachment")
    page = desk.api.get(f"{POINTS}?limit=1")
    assert (page["checkpoints"][0]["id"], page["next"]) == (last, last)
    assert desk.api.get(f"{POINTS}?limit=1&before={last}")["checkpoints"][0]["id"] == found[1]["id"]


def test_a_name_keeps_a_point(desk: Desk) -> None:
    """Until it is let go; what is restored by it may be one file or one folder."""
    desk.turn("one", write("work/a/x.txt", "1"), write("work/b.txt", "1"))
    made = desk.api.post(POINTS, {"name": "  before the\n move "})
    assert (made["kind"], made["name"]) == ("named", "before the move")
    desk.turn("two", write("work/a/x.txt", "2"), write("work/a/y.txt", "2"), delete("work/b.txt"))
    done = desk.api.post(f"{POINTS}/{made['id']}/restore", {"paths": ["work/a"]})
    assert sorted(done["changed"]) == ["work/a/x.txt", "work/a/y.txt"]
    assert ((desk.work / "a/x.txt").read_text(), (desk.work / "b.txt").exists()) == ("1", False)
    desk.api.post(f"{POINTS}/{made['id']}/restore")
    assert (desk.work / "b.txt").read_text() == "1"
    assert desk.api.call("DELETE", f"{POINTS}/{made['id']}").status_code == 204
    assert desk.api.refused("POST", f"{POINTS}/{made['id']}/restore")[0] == 404


def test_nothing_goes_back_under_a_turn(desk: Desk) -> None:
    """The agent is asked to stop first; nothing has changed."""
    desk.turn("one", write("work/a.txt", "1"))
    point = desk.api.get(POINTS)["checkpoints"][-1]["id"]
    desk.webapp.plays["long"] = lambda scene: scene.wait_for_stop()
    running = desk.api.post("/agents/crab/messages", {"text": "long"})["turn"]
    eventually(desk.webapp.services.turns.list_running)
    status, why = desk.api.refused("POST", f"{POINTS}/{point}/restore")
    assert (status, "is working" in why) == (409, True)
    assert desk.api.refused("GET", f"/turns/{running}/undo")[0] == 409
    desk.api.post(f"/turns/{running}/stop")
    desk.webapp.services.turns.wait_for_end(running, 10)
    assert (desk.work / "a.txt").read_text() == "1"
    assert desk.note() == []


def test_nobody_reaches_another_s(desk: Desk, member: Api) -> None:
    """Neither points nor turns."""
    turn = desk.turn("one", write("work/secret.txt", "s3cret"))
    point = desk.api.get(POINTS)["checkpoints"][0]["id"]
    assert member.refused("GET", f"/turns/{turn}/undo")[0] == 404
    assert member.refused("POST", f"/turns/{turn}/undo")[0] == 404
    assert member.refused("GET", f"{POINTS}/{point}/files/work/secret.txt")[0] == 404
    assert member.refused("POST", f"{POINTS}/{point}/restore")[0] == 404
    assert member.get(POINTS)["checkpoints"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", f"{POINTS}/99/diff", None, 404),
        ("POST", f"{POINTS}/99/restore", None, 404),
        ("POST", POINTS, {"name": ""}, 400),
        ("POST", POINTS, {"name": "a\u202eb"}, 400),
        ("POST", POINTS, {"name": "x" * 101}, 400),
        ("POST", f"{POINTS}/1/restore", {"paths": "work"}, 400),
        ("POST", f"{POINTS}/1/restore", {"paths": [""]}, 400),
        ("POST", f"{POINTS}/1/restore", {"paths": ["work/../../etc"]}, 409),
        ("POST", f"{POINTS}/1/restore", {"paths": ["data/x"]}, 400),
        ("GET", f"{POINTS}/1/diff?path=work/none", None, 404),
        ("GET", f"{POINTS}/1/files/work", None, 404),
        ("GET", f"{POINTS}/1/files/work/../../etc/passwd", None, 404),
        ("POST", "/turns/99/undo", None, 404),
    ],
)
def test_what_makes_no_sense_is_refused(desk: Desk, method: str, path: str, body: object, status: int) -> None:
    """With a sentence, and no file is touched."""
    desk.turn("one", write("work/a.txt", "1"))
    assert desk.api.refused(method, path, body)[0] == status
    assert (desk.work / "a.txt").read_text() == "1"
