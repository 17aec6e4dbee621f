"""What is said of points of time, to an agent and to the person who is asked. Names of files and points are the
agent's own words: each stands on one line, with everything invisible written out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from orchestrator.checkpoints.models import Change, Checkpoint, EntryKind, Parts, PointKind, RestoreResult
from orchestrator.core.text import in_quotes, one_line
from orchestrator.files.names import display_path

MOST_LISTED = 100
_MOST_ASKED = 8
_MOST_NAMED = 20
LOOKED_UP = "This is being looked up; the outcome comes here."
GOING_BACK = "For a point before this turn a person is asked first. The outcome comes here."
REASON = "This point is from before the agent's turn, so more than its own work may be lost."
DENIED = "The person said no, so no file was changed. Go on with the files as they are, or ask them why."
EXPIRED = "Nobody answered in time, so no file was changed."
CANCELLED = "The question was withdrawn, so no file was changed."
CHANGED = "Files were changed since the person was asked, so none was put back. Ask again."
GAVE_UP = "It was started several times and never finished. Look at your files, then try again."
_BACK = {"made": "is deleted", "changed": "goes back", "deleted": "is there again"}
_WORDS = {"made": "new", "changed": "changed", "deleted": "deleted"}


def format_moment(at: float) -> str:
    """``2026-03-02 09:00:05 UTC``."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"


def describe_point(point: Checkpoint) -> str:
    """Why it was taken, in a few words."""
    turn = "" if point.turn is None else f" turn {point.turn}"
    match point.kind:
        case PointKind.BEFORE:
            return f"before{turn}"
        case PointKind.COMMAND:
            return f"after command {point.step} of{turn}"
        case PointKind.AFTER:
            return f"after{turn}"
        case PointKind.PERSON:
            return "the person changed files"
        case PointKind.RESTORE:
            return one_line(point.label, 120) or "files were put back"
        case PointKind.NAMED:
            return in_quotes(point.label, 100)


def list_text(points: Sequence[Checkpoint], *, has_more: bool) -> str:
    """The points, one a line."""
    if not points:
        return "There is no point yet."
    lines = [f"{point.id}  {format_moment(point.at)}  {describe_point(point)}" for point in points]
    return "\n".join([*lines, *(["There are older ones: --limit shows more."] if has_more else [])])


def list_result(points: Sequence[Checkpoint], *, has_more: bool) -> dict[str, Any]:
    """The same for programs."""
    listed = [
        {
            "id": point.id,
            "kind": str(point.kind),
            "name": one_line(point.label, 120),
            "turn": point.turn,
            "at": datetime.fromtimestamp(point.at, UTC).isoformat(timespec="seconds"),
        }
        for point in points
    ]
    return {"checkpoints": listed, "has_more": has_more}


def diff_text(older: int, newer: int, changes: Sequence[Change]) -> str:
    """What differs, one path a line."""
    if not changes:
        return f"Nothing differs between the points {older} and {newer}."
    shown = [f"{_WORDS[change.kind]:8}{_path(change)}" for change in changes[:MOST_LISTED]]
    head = f"From point {older} to point {newer}, the newest:"
    return "\n".join([head, *shown, *_more(len(changes), MOST_LISTED)])


def diff_result(older: int, newer: int, changes: Sequence[Change]) -> dict[str, Any]:
    """The same for programs."""
    listed = [{"path": display_path(*change.path), "kind": change.kind} for change in changes[:MOST_LISTED]]
    return {"from": older, "to": newer, "total": len(changes), "changes": listed}


def question_text(point: Checkpoint, paths: Sequence[Parts], changes: Sequence[Change]) -> str:
    """The exact words that a person decides: which point, of when, and what it does to how many files."""
    what = "all files" if not paths else ", ".join(display_path(*path) for path in paths)
    head = f"Put back {what} as at point {point.id} ({describe_point(point)}), taken {format_moment(point.at)}."
    shown = [f"  {_path(change)} {_BACK[change.kind]}" for change in changes[:_MOST_ASKED]]
    return "\n".join([head, f"{_count(len(changes))}:", *shown, *_more(len(changes), _MOST_ASKED, "  ")])


def created_text(point: Checkpoint) -> str:
    """For the agent, which may want to go back to it."""
    return f"Point {point.id} is {describe_point(point)}. `hermit checkpoint restore {point.id}` goes back to it."


def restored_text(point: int, done: RestoreResult) -> str:
    """What was put back, what was left and why."""
    if not done.changed and not done.left:
        return f"Nothing had to change: files are as at point {point}."
    lines = [f"{_count(len(done.changed))}, back to point {point}."]
    lines += [f"  {display_path(*path)}" for path in done.changed[:_MOST_NAMED]]
    lines += _more(len(done.changed), _MOST_NAMED, "  ")
    lines += [f"left: {display_path(*one.path)}: {one.why}" for one in done.left[:_MOST_NAMED]]
    lines += _more(len(done.left), _MOST_NAMED)
    return "\n".join([*lines, f"`hermit checkpoint restore {done.before.id}` takes that back."])


def restored_result(done: RestoreResult) -> dict[str, Any]:
    """The same for programs."""
    return {
        "before": done.before.id,
        "after": done.after.id,
        "changed": len(done.changed),
        "left": [{"path": display_path(*one.path), "why": one.why} for one in done.left[:MOST_LISTED]],
    }


def too_many_text(agent: str, most: int, oldest: int) -> str:
    """There is no room for another name."""
    return (
        f"You have named {most} points, and more are not kept. The person can delete one, such as the oldest: "
        f"./hermit checkpoints {agent} rm {oldest}"
    )


def nothing_text(point: int) -> str:
    """Nobody is asked about nothing."""
    return f"Nothing had to change: files are as at point {point}."


def _count(files: int) -> str:
    return f"{files:,} {'file changes' if files == 1 else 'files change'}"


def _path(change: Change) -> str:
    facts = change.new or change.old
    return display_path(*change.path) + ("/" if facts is not None and facts.kind is EntryKind.FOLDER else "")


def _more(count: int, shown: int, begin: str = "") -> list[str]:
    return [f"{begin}and {count - shown:,} more"] if count > shown else []
