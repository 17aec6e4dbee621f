"""Telling the agent of a page: what it has not seen yet, what was refused, which dialogs closed; and never a secret."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, quote_plus

from orchestrator.browser.dialogs import DialogView
from orchestrator.browser.downloads import PageDownload
from orchestrator.browser.page_calls import PageCalls
from orchestrator.browser.reports import BrowserReport, ReportKind
from orchestrator.browser.snapshot_text import changed_lines, cut, find_lines
from orchestrator.browser.snapshots import PageText
from orchestrator.browser.supervisor import BrowserSupervisor
from orchestrator.browser.tabs import BrowserTab
from orchestrator.core.text import in_quotes

_MIN_HIDDEN = 4
"""Characters of a secret that is hidden wherever it appears; a shorter one would hide half of every page."""
_HIDDEN = "•••"
_MISSING_TOLD = 12


class PageTeller:
    """Makes reports, and remembers what was in them."""

    def __init__(self, supervisor: BrowserSupervisor, calls: PageCalls) -> None:
        self._tabs = supervisor.tabs
        self._dialogs = supervisor.dialogs
        self._downloads = supervisor.downloads
        self._calls = calls
        self._seen: dict[str, PageText] = {}
        """What the agent last saw of each tab."""
        self._secrets: set[str] = set()
        self._told_dialogs = 0
        self._told_files: dict[str, str] = {}
        """How each file that a page gave was told of last."""

    def add_secret(self, secret: str) -> None:
        """Hide it from now on, also as addresses, HTML and JSON spell it."""
        if len(secret) < _MIN_HIDDEN:
            return
        self._secrets |= {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), html.escape(secret)}
        self._secrets |= {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}

    @property
    def knows_secrets(self) -> bool:
        """Some were typed into pages of this browser."""
        return bool(self._secrets)

    def tell_page(self, tab: BrowserTab, page: PageText, *, start: int = 0, is_usual: bool = True) -> BrowserReport:
        """The page from character ``start`` on. Changes are told against one that ``is_usual``."""
        page = self._hidden(page)
        if is_usual:
            self._see(tab, page)
        shown = cut(page.text, start)
        return self._report(tab, page, ReportKind.PAGE, shown.text, shown.next_from)

    def tell_changes(self, tab: BrowserTab, page: PageText) -> BrowserReport:
        """What the agent has not seen: lines, or the page where it is another one or mostly new."""
        before, now = self._seen.get(tab.target), self._hidden(page)
        changes = None
        if before is not None and before.document == now.document:
            changes = changed_lines(before.text, now.text)
        if changes is None:
            return self.tell_page(tab, page)
        self._see(tab, now)
        return self._report(tab, now, ReportKind.CHANGES, cut(changes).text, None)

    def tell_found(self, tab: BrowserTab, page: PageText, words: str) -> BrowserReport:
        """The lines that hold these words."""
        page = self._hidden(page)
        return self._report(tab, page, ReportKind.FOUND, find_lines(page.text, words).text, None)

    def tell_dialogs(self, tab: BrowserTab) -> BrowserReport:
        """That the page waits for an answer."""
        page = PageText("", tab.title, tab.url, tab.document, (0, 0, 0), is_cut=False, is_exposed=False)
        waiting = tuple(self.hide_in_dialog(one.view) for one in self._calls.dialogs_of(tab))
        return replace(self._report(tab, page, ReportKind.DIALOG, "", None), pending_dialogs=waiting)

    def hide(self, text: str) -> str:
        """The text without secrets."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, _HIDDEN)
        return text

    def hide_in(self, value: Any) -> Any:
        """The same for every text in a value that came as JSON."""
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, list):
            return [self.hide_in(one) for one in value]
        if isinstance(value, Mapping):
            return {self.hide(key): self.hide_in(one) for key, one in value.items()}
        return value

    def hide_in_dialog(self, view: DialogView) -> DialogView:
        """The same for a dialog."""
        return replace(view, message=self.hide(view.message), default=self.hide(view.default))

    def _hidden(self, page: PageText) -> PageText:
        return replace(page, text=self.hide(page.text), title=self.hide(page.title), url=self.hide(page.url))

    def _see(self, tab: BrowserTab, page: PageText) -> None:
        known = {one.target for one in self._tabs.all}
        self._seen = {target: seen for target, seen in self._seen.items() if target in known} | {tab.target: page}

    def _report(
        self, tab: BrowserTab, page: PageText, kind: ReportKind, body: str, next_from: int | None
    ) -> BrowserReport:
        return BrowserReport(
            kind,
            page.title,
            page.url,
            tab.number,
            len(self._tabs.all),
            body,
            len(page.text),
            next_from,
            self._notes(tab, page),
            recent_dialogs=self._new_dialogs(),
        )

    def _notes(self, tab: BrowserTab, page: PageText) -> tuple[str, ...]:
        refused, tab.refused = tab.refused, []
        notes = [f"Not opened: {self.hide(one)}" for one in refused]
        if tab.missing:
            shown = ", ".join(list(tab.missing)[:_MISSING_TOLD])
            notes.append(f"Not loaded: {shown} ({len(tab.missing)} hosts that are not approved for this page)")
        if tab.chooser is not None:
            tab.chooser = None
            notes.append("The page asks for files. Use upload.")
        notes += self._new_files()
        if page.is_cut:
            notes.append("The page is too large to be shown whole.")
        return tuple(notes)

    def _new_dialogs(self) -> tuple[DialogView, ...]:
        new = self._dialogs.closed_count - self._told_dialogs
        self._told_dialogs = self._dialogs.closed_count
        return tuple(self.hide_in_dialog(one) for one in list(self._dialogs.recent)[-new:]) if new > 0 else ()

    def _new_files(self) -> list[str]:
        """Files that pages gave, where something new is to be said of them."""
        now = {one.guid: self.hide(_tell_file(one)) for one in self._downloads.files if one.state != "taken"}
        new = [said for guid, said in now.items() if self._told_files.get(guid) != said]
        self._told_files = now
        return new


def _tell_file(one: PageDownload) -> str:
    """Without the parentheses that all notes have."""
    name = in_quotes(one.suggested_name or "file", 100)
    if one.refusal:
        return f"File {one.number}: {name} was not taken: {one.refusal}"
    if one.state == "inProgress":
        return f"File {one.number}: {name} from {one.host} is coming. `hermit browser save {one.number}` waits for it"
    if one.state != "completed":
        return f"File {one.number}: {name} did not come"
    return f"File {one.number}: {name}, {one.size_bytes:,} bytes, from {one.host}: `hermit browser save {one.number}`"
