"""Undo in words: what taking a message back would change, and what it has changed. Names of files and the person's own
words stand in it as code. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.chat.system_text import NoteLine, QuotedText, format_count, system_note, with_rest
from orchestrator.checkpoints.models import Change, EntryKind
from orchestrator.core.models import Turn
from orchestrator.files.names import display_path
from orchestrator.operations.undo import KeptDeed, UndoPlan, UndoResult

UNDONE = "This message was undone already."
_MOST_NAMED = 5
_BACK = {"made": " is deleted", "changed": " goes back", "deleted": " is there again"}


def preview_note(plan: UndoPlan) -> RichText:
    """What it would change, before anybody agrees."""
    files, conflicts = _only_files(plan.changes), _only_files(plan.conflicts)
    changed = [("– ", _name(one), _BACK[one.kind]) for one in files]
    lines: list[NoteLine] = [_asked(plan.turn)]
    lines += [f"{_count(len(files))}:", *with_rest(changed, _MOST_NAMED)] if files else ["No file changes."]
    lines += _conflict_lines([_name(one) for one in conflicts])
    return system_note("Undo this?", *lines, *_stay_lines(plan.stays))


def done_note(turn: Turn, done: UndoResult) -> RichText:
    """What was done, what was left and why, and what is not taken back."""
    lines: list[NoteLine] = [_asked(turn)]
    changed = () if done.files is None else done.files.changed
    left = () if done.files is None else done.files.left
    lines += [f"{format_count(len(changed), 'file')} put back."] if changed else ["No file had to change."]
    if left:
        told = [("– ", QuotedText(display_path(*one.path)), f": {one.why}") for one in left]
        lines += ["Left as it is:", *with_rest(told, _MOST_NAMED)]
    if done.has_moved:
        lines.append("The conversation goes on from before this message.")
    return system_note("Undone", *lines, *_stay_lines(done.stays))


def undone_note(turn: Turn) -> RichText:
    """It was undone in another place."""
    return system_note("Undone", _asked(turn), UNDONE)


def kept_note(turn: Turn) -> RichText:
    """The person did not want it."""
    return system_note("Nothing was undone", _asked(turn))


def offer_label(changed: int) -> str:
    """What the button under an answer says."""
    return f"Undo ({format_count(changed, 'file')} changed)"


def _asked(turn: Turn) -> NoteLine:
    return ("You wrote: ", QuotedText(turn.prompt, 60))


def _name(change: Change) -> QuotedText:
    return QuotedText(display_path(*change.path))


def _count(files: int) -> str:
    return f"{format_count(files, 'file')} {'changes' if files == 1 else 'change'}"


def _conflict_lines(names: Sequence[QuotedText]) -> list[NoteLine]:
    if not names:
        return []
    return ["Changed again since, so these stay:", *with_rest([("– ", name) for name in names], _MOST_NAMED)]


def _stay_lines(stays: Sequence[KeptDeed]) -> list[NoteLine]:
    if not stays:
        return []
    told = [("– ", QuotedText(deed.text, 160)) for deed in stays]
    return ["Not taken back:", *with_rest(told, _MOST_NAMED)]


def _only_files(changes: Sequence[Change]) -> list[Change]:
    facts = [(one, one.new or one.old) for one in changes]
    return [one for one, fact in facts if fact is not None and fact.kind is not EntryKind.FOLDER]
