"""The past of a workspace: its points of time, what differs between two, what a turn changed, and the way back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from flask import Blueprint, Response, redirect, render_template, request
from werkzeug import Response as WerkzeugResponse

from dashboard import bodies
from dashboard.auth import own_turn
from dashboard.contents import read_lines
from dashboard.glimpses import PICTURE_BYTES, PICTURES
from dashboard.languages import say, size, to_say
from dashboard.pages.frame import agent_frame, own_key
from dashboard.pages.glimpse import held_picture
from dashboard.paths import asked_for, encode_path
from dashboard.services import get_services
from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.checkpoints.models import Change, Checkpoint, EntryFacts, EntryKind, PointKind
from orchestrator.checkpoints.readable import DiffLine
from orchestrator.core.errors import NotFound, UnsafePath
from orchestrator.core.models import CubicleKey, Turn
from orchestrator.core.text import one_line
from orchestrator.files.attachments import split_prompt
from orchestrator.files.magic import content_of
from orchestrator.files.names import display_path

pages = Blueprint("history", __name__)

PAGE = 40
MOST_SHOWN = 200
"""Changes on a page."""
MOST_FOLDERS = 8
"""That are offered to be put back as a whole."""
MOST_READ = 20
"""Of these, so many are compared line by line, the first ones."""
_BEFORE_PICTURE = len(("", "agents", "NAME", "history", "POINT", "picture"))


@dataclass(frozen=True, slots=True)
class PointView:
    """A point of time in the list."""

    point: Checkpoint
    what: str
    """Why it was taken, as a person says it."""
    command: str
    """The command that it was taken after; mostly empty."""
    previous: int | None
    """The point before it, where there is one."""


@dataclass(frozen=True, slots=True)
class ChangeView:
    """A file that differs, and how that is shown."""

    change: Change
    name: str
    path: str
    """Percent-encoded."""
    lines: tuple[DiffLine, ...] | None
    """None where it is no text, is too long, or was left out."""
    old_picture: str
    new_picture: str
    """Where the pictures are, for what is one."""

    @property
    def sizes(self) -> str:
        """How large it was and is."""
        old, new = _size(self.change.old), _size(self.change.new)
        return " → ".join(filter(None, (old, new))) if old != new else new

    @property
    def why_not(self) -> str:
        """Why its content can't be shown or put back; empty where it can."""
        facts = (self.change.old, self.change.new)
        return say("too large to be kept") if any(one is not None and not one.is_kept for one in facts) else ""


@pages.get("/agents/<name>/history")
def history(name: str) -> str:
    """The points of time, newest first."""
    return render_template("history.html", **agent_frame(name, "files"), **_listed(name))


@pages.get("/parts/history/<name>")
def history_now(name: str) -> str:
    """The list as it stands."""
    return render_template("parts/history.html", agent=get_services().agents.get(name), **_listed(name))


def _listed(name: str) -> dict[str, object]:
    key, before = own_key(name), bodies.whole_arg("before")
    found = get_services().checkpoints.list_checkpoints(key, limit=PAGE + 1, before=before)
    views = [
        _point_view(point, found[n + 1].id if n + 1 < len(found) else None) for n, point in enumerate(found[:PAGE])
    ]
    return {"points": views, "before": before, "older": found[PAGE - 1].id if len(found) > PAGE else None}


@pages.get("/agents/<name>/history/<id:point>")
def one_point(name: str, point: int) -> str:
    """What came with a point, the changes since the one before it, and what is different by now."""
    key, checkpoints = own_key(name), get_services().checkpoints
    found = checkpoints.get_checkpoint(key, point)
    earlier = checkpoints.list_checkpoints(key, limit=1, before=point)
    changes = checkpoints.diff(key, earlier[0].id, point) if earlier else []
    newest = checkpoints.list_checkpoints(key, limit=1)[0]
    since = checkpoints.diff(key, point, newest.id)
    return render_template(
        "point.html",
        **agent_frame(name, "files"),
        view=_point_view(found, earlier[0].id if earlier else None),
        changes=change_views(key, earlier[0].id, point, changes) if earlier else [],
        count=len(changes),
        is_newest=newest.id == point,
        since=change_views(key, point, newest.id, since),
        since_count=len(since),
        folders=_list_folders(since),
    )


@pages.get("/agents/<name>/history/<id:point>/picture/<any_path:path>")
def picture_then(name: str, point: int, path: str) -> Response:  # noqa: ARG001 - the path is read as it was sent
    """A picture as it was at a point."""
    parts = asked_for(_BEFORE_PICTURE)
    try:
        body = get_services().checkpoints.read_content(own_key(name), point, parts, max_bytes=PICTURE_BYTES + 1)
    except UnsafePath as error:
        raise NotFound(error.message) from error
    return held_picture(body)


@pages.get("/agents/<name>/turns/<id:turn>/changes")
def turn_changes(name: str, turn: int) -> str:
    """What a turn did to files, and what taking it back would do."""
    found, services = own_turn(turn), get_services()
    if found.cubicle != own_key(name):
        raise NotFound(f"There is no turn {turn} here.")
    span = services.undo.get_span(turn)
    plan = services.undo.preview(turn)
    changes: list[Change] = []
    if span is not None and span.after is not None:
        changes = services.checkpoints.diff(found.cubicle, span.before, span.after)
    return render_template(
        "changes.html",
        **agent_frame(name, "chat"),
        turn=found,
        words=_words(found),
        changes=change_views(found.cubicle, span.before, span.after, changes) if span and span.after else [],
        count=len(changes),
        plan=plan,
        conflicts=[(display_path(*change.path), encode_path(*change.path)) for change in plan.conflicts],
    )


@pages.get("/agents/<name>/compare")
def compare(name: str) -> str | WerkzeugResponse:
    """Two branches side by side: their last answers, and the files as they were then."""
    key, services = own_key(name), get_services()
    if not ("a" in request.args and "b" in request.args):
        return redirect(f"/agents/{name}/branches")
    one, other = (_asked_turn(key, field) for field in ("a", "b"))
    spans = services.undo.find_span(one.id), services.undo.find_span(other.id)
    changes: list[Change] = []
    views: list[ChangeView] = []
    if spans[0] is not None and spans[1] is not None and spans[0].after and spans[1].after:
        changes = services.checkpoints.diff(key, spans[0].after, spans[1].after)
        views = change_views(key, spans[0].after, spans[1].after, changes)
    return render_template(
        "compare.html",
        **agent_frame(name, "chat"),
        sides=[(one, _words(one)), (other, _words(other))],
        changes=views,
        count=len(changes),
        has_files=None not in spans,
    )


def _list_folders(changes: Sequence[Change]) -> list[tuple[str, str, int]]:
    """Folders in which several files differ, those with the most first: name, encoded path, how many."""
    counts: Counter[tuple[bytes, ...]] = Counter()
    for change in filter(_is_file, changes):
        counts.update(change.path[:depth] for depth in range(2, len(change.path)))
    found = [(parts, count) for parts, count in counts.most_common() if count > 1][:MOST_FOLDERS]
    return [(display_path(*parts), encode_path(*parts), count) for parts, count in found]


def _asked_turn(key: CubicleKey, field: str) -> Turn:
    found = own_turn(bodies.whole_arg(field) or 0)
    if found.cubicle != key:
        raise NotFound("There is no such message here.")
    return found


def change_views(key: CubicleKey, older: int, newer: int, changes: Sequence[Change]) -> list[ChangeView]:
    """The files among these, as they are shown; with ``?path=`` that one alone is compared, however many there are."""
    wanted = request.args.get("path", "")
    files = [change for change in changes if _is_file(change)]
    views, left = [], MOST_READ
    for change in files[:MOST_SHOWN] if not wanted else files:
        path = encode_path(*change.path)
        if wanted and path != wanted:
            continue
        left -= 1
        views.append(_change_view(key, older, newer, change, is_read=left >= 0))
    return views


def _change_view(key: CubicleKey, older: int, newer: int, change: Change, *, is_read: bool) -> ChangeView:
    path = encode_path(*change.path)
    old_picture = _picture_path(key, older, change, change.old) if is_read else ""
    new_picture = _picture_path(key, newer, change, change.new) if is_read else ""
    has_picture = bool(old_picture or new_picture)
    lines = read_lines(change, key, older, newer) if is_read and not has_picture else None
    return ChangeView(change, display_path(*change.path), path, lines, old_picture, new_picture)


def _picture_path(key: CubicleKey, point: int, change: Change, facts: EntryFacts | None) -> str:
    if facts is None or facts.kind is not EntryKind.FILE or not facts.is_kept or facts.size_bytes > PICTURE_BYTES:
        return ""
    head = get_services().checkpoints.read_content(key, point, change.path, max_bytes=1024)
    if content_of(head) not in PICTURES:
        return ""
    return f"/agents/{key.agent}/history/{point}/picture/{encode_path(*change.path)}"


def _is_file(change: Change) -> bool:
    facts = change.new or change.old
    return facts is not None and facts.kind is not EntryKind.FOLDER


def _size(facts: EntryFacts | None) -> str:
    return "" if facts is None or facts.kind is not EntryKind.FILE else size(format_size(facts.size_bytes))


_WHY = {
    PointKind.BEFORE: to_say("Before a message"),
    PointKind.COMMAND: to_say("A command in a message"),
    PointKind.AFTER: to_say("The end of a message"),
    PointKind.PERSON: to_say("Changes of your own"),
    PointKind.RESTORE: to_say("Files were put back"),
}
_WHY_WITH_WORDS = {
    PointKind.BEFORE: to_say("Before “%(message)s”"),
    PointKind.COMMAND: to_say("A command in “%(message)s”"),
    PointKind.AFTER: to_say("The end of “%(message)s”"),
}


def _point_view(point: Checkpoint, previous: int | None) -> PointView:
    turn, command = None, ""
    if point.turn is not None:
        try:
            turn = get_services().turns.get(point.turn)
        except NotFound:
            turn = None  # the retention let it go; the point outlives it
    if turn is not None and point.step is not None:
        steps = get_services().turns.list_steps(turn.id)
        command = next((step.command for step in steps if step.n == point.step), "")
    return PointView(point, _say_why(point, turn), command, previous)


def _say_why(point: Checkpoint, turn: Turn | None) -> str:
    if point.kind is PointKind.NAMED:
        return point.label
    if turn is None or point.kind not in _WHY_WITH_WORDS:
        return say(_WHY[point.kind])
    return say(_WHY_WITH_WORDS[point.kind], message=_words(turn))


def _words(turn: Turn) -> str:
    words, files = split_prompt(turn.prompt)
    return one_line(words, 80) if words.strip() or not files else files[0].path.removeprefix("in/")
