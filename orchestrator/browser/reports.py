"""What the agent is told: a page, what changed on it, or that a dialog waits. Everything a page wrote in it is made
safe to look at. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from orchestrator.browser.dialogs import DialogView
from orchestrator.core.text import in_quotes, one_line


class ReportKind(StrEnum):
    """What the body of a report is."""

    PAGE = "page"
    """The page, or a piece of it."""
    CHANGES = "changes"
    """The lines that went and came since the agent last saw the page."""
    FOUND = "found"
    """The lines that hold what was looked for."""
    DIALOG = "dialog"
    """Nothing: a dialog waits, and until it is answered the page tells nothing."""


@dataclass(frozen=True)
class BrowserReport:
    """Of the tab in front."""

    kind: ReportKind
    title: str
    url: str
    tab: int
    tab_count: int
    body: str
    total_chars: int = 0
    """Of the whole page's text."""
    next_from: int | None = None
    """Where what is not in the body begins, in characters; None where nothing is left."""
    notes: tuple[str, ...] = ()
    pending_dialogs: tuple[DialogView, ...] = ()
    recent_dialogs: tuple[DialogView, ...] = ()
    """Closed since the last report, the oldest first."""

    @property
    def text(self) -> str:
        """For the agent to read."""
        tab = f"[tab {self.tab} of {self.tab_count}] " if self.tab_count > 1 else ""
        head = [f"{tab}{one_line(self.title) or '(no title)'}", one_line(self.url, 500)]
        head += [f"({note})" for note in self.notes]
        head += [_closed(one) for one in self.recent_dialogs] + [_waiting(one) for one in self.pending_dialogs]
        return "\n".join([*head, *self._body_lines()])

    def _body_lines(self) -> list[str]:
        if self.kind is ReportKind.DIALOG:
            return []
        if self.kind is ReportKind.CHANGES:
            return ["", "Changed on the page:", self.body] if self.body else ["", "Nothing changed that can be read."]
        if self.kind is ReportKind.FOUND:
            return ["", self.body or "Nothing like it is on the page."]
        lines = ["", self.body or "(The page is empty.)"]
        if self.next_from is not None:
            lines += ["", f"[{self.total_chars:,} characters in all; the rest: --from {self.next_from}]"]
        return lines

    def to_json(self) -> dict[str, Any]:
        """For a program to read."""
        return {**asdict(self), "kind": str(self.kind)}


def _waiting(dialog: DialogView) -> str:
    preset = f", with {in_quotes(dialog.default)} in it" if dialog.default else ""
    return f"(Dialog {dialog.id} waits: {one_line(dialog.kind)} {in_quotes(dialog.message, 500)}{preset})"


def _closed(dialog: DialogView) -> str:
    how = {True: "accepted", False: "dismissed", None: "gone"}[dialog.accepted]
    said = in_quotes(dialog.message, 300)
    return f"(Dialog {dialog.id}, {one_line(dialog.kind)} {said}, was {how} by {dialog.closed_by})"
