"""What differs between two points, and what has to be done to go back to one. It asks the database alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from orchestrator.checkpoints import history_rows as rows
from orchestrator.checkpoints.models import Change, EntryKind, Parts, RevertPlan

Stamps = Mapping[Parts, tuple[int, int]]


def list_differences(db: sqlite3.Connection, older: int, newer: int) -> dict[Parts, Change]:
    """Every path that differs in anything, by path; ``old`` is how it is at the point that was named first."""
    if older > newer:
        return {
            path: Change(path, change.new, change.old) for path, change in list_differences(db, newer, older).items()
        }
    known: dict[int, Parts] = {}
    old = {(row.folder, row.name): row.facts for row in rows.list_ended(db, older, newer)}
    new = {(row.folder, row.name): row.facts for row in rows.list_begun(db, older, newer)}
    found: dict[Parts, Change] = {}
    for key in old.keys() | new.keys():
        if old.get(key) != new.get(key):
            path = (*rows.get_parts(db, key[0], known), key[1])
            found[path] = Change(path, old.get(key), new.get(key))
    return found


def list_stamps(db: sqlite3.Connection, older: int) -> Stamps:
    """By path, by which signs of the kernel one sees that what began since a point is still as it was looked at."""
    known: dict[int, Parts] = {}
    return {
        (*rows.get_parts(db, folder, known), name): (changed, inode)
        for folder, name, changed, inode in rows.list_stamps(db, older)
    }


def list_changes(db: sqlite3.Connection, older: int, newer: int) -> list[Change]:
    """What a person calls a change, by path: that a file was only written again, with the same content, is none."""
    found = list_differences(db, older, newer).values()
    return sorted((change for change in found if not _is_alike(change)), key=lambda change: change.path)


def plan_revert(db: sqlite3.Connection, before: int, after: int, newest: int) -> RevertPlan:
    """What goes back when what happened between two points is undone now."""
    made = {change.path: change for change in list_changes(db, before, after)}
    since = {change.path: change for change in list_changes(db, after, newest)}
    changes: list[Change] = []
    conflicts: list[Change] = []
    for path, change in made.items():
        again = since.get(path)
        now = change.new if again is None else again.new
        planned = Change(path, change.old, now)
        if (planned.old is None and planned.new is None) or _is_alike(planned):
            continue
        (changes if again is None else conflicts).append(planned)
    return RevertPlan(tuple(changes), tuple(conflicts))


def choose_steps(differences: dict[Parts, Change], paths: Iterable[Parts], *, is_exact: bool) -> list[Change]:
    """The differences that are meant, by path: all of them without paths; else those at the paths, with what lies
    beneath them unless it is exact, and the folders above them that are missing."""
    meant = set(paths)
    if not meant:
        return sorted(differences.values(), key=lambda change: change.path)
    chosen = {path: change for path, change in differences.items() if _is_meant(path, meant, is_exact=is_exact)}
    for path in [path for path, change in chosen.items() if change.old is not None]:
        for depth in range(1, len(path)):
            above = differences.get(path[:depth])
            if above is not None and above.new is None and above.old is not None:
                chosen[above.path] = above
    return [chosen[path] for path in sorted(chosen)]


def _is_meant(path: Parts, meant: set[Parts], *, is_exact: bool) -> bool:
    if is_exact:
        return path in meant
    return any(path[:depth] in meant for depth in range(1, len(path) + 1))


def _is_alike(change: Change) -> bool:
    return change.old is not None and change.new is not None and change.old.is_like(change.new)


def split_steps(steps: Iterable[Change]) -> tuple[list[Change], list[Change], list[Change]]:
    """What has to be taken away, deepest first; what has to be put there, those above first; and whose folders' modes
    have to be set at the end, deepest first. ``old`` of a step is how it will be, ``new`` how it is."""
    ordered = list(steps)
    away = [step for step in reversed(ordered) if step.new is not None and _must_go(step)]
    there = [step for step in ordered if step.old is not None]
    return away, there, [step for step in reversed(there) if step.old and step.old.kind == EntryKind.FOLDER]


def _must_go(step: Change) -> bool:
    """There will be nothing, or something that no rename puts in its place."""
    if step.old is None or step.new is None:
        return True
    return step.old.kind != step.new.kind and EntryKind.FOLDER in (step.old.kind, step.new.kind)
