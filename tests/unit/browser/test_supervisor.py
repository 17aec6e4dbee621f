"""``orchestrator.browser.supervisor``: events of every kind with whatever fields; what is known stays within bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.browser.console import MAX_LINES
from orchestrator.browser.dialogs import MAX_PENDING, MAX_RECENT
from orchestrator.browser.downloads import MAX_DOWNLOADS, PageDownload
from orchestrator.browser.frames import MAX_KEPT
from orchestrator.browser.policy import DriverSettings
from orchestrator.browser.supervisor import BrowserSupervisor
from orchestrator.browser.tabs import MAX_SESSIONS, MAX_TABS


class OpenPolicy:
    """Says yes."""

    def may_open(self, host: str) -> str | None:
        """Yes."""
        return None

    def note_pages(self, hosts: Collection[str]) -> None:
        """As it may."""

    def may_download(self, download: PageDownload) -> str | None:
        """Yes."""
        return None

    async def may_upload(self, origin: str, paths: Sequence[str]) -> str | None:
        """Yes."""
        return None

    async def secret_for(self, name: str, origin: str) -> str:
        """None that is worth anything."""
        return ""


NAMES = st.sampled_from(["a", "b", "c", "t1", "t2", ""])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | NAMES | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
KEYS = (
    *("targetInfo", "targetId", "sessionId", "type", "url", "title", "openerId", "frame", "frameId", "id", "parentId"),
    *("parentFrameId", "loaderId", "reason", "message", "defaultPrompt", "result", "executionContextId", "args"),
    *("exceptionDetails", "entry", "level", "text", "requestId", "request", "guid", "suggestedFilename", "state"),
    *("receivedBytes", "totalBytes", "data", "backendNodeId", "timestamp", "value", "description", "headers"),
)
FIELDS = st.recursive(
    st.dictionaries(st.sampled_from(KEYS), VALUES | NAMES, max_size=6),
    lambda inner: st.dictionaries(st.sampled_from(KEYS), inner | NAMES | VALUES, max_size=6),
    max_leaves=8,
)


def supervisor() -> BrowserSupervisor:
    """One that is connected to nothing."""
    return BrowserSupervisor(OpenPolicy(), DriverSettings())


METHODS = sorted(supervisor()._takers.keys() - {"Relay.ready"})
EVENTS = st.lists(st.tuples(st.sampled_from([*METHODS, "Odd.event"]), FIELDS, NAMES), max_size=30)


@given(EVENTS)
def test_no_event_can_end_it(events: list[tuple[str, dict[str, Any], str]]) -> None:
    """Whatever the fields are; afterwards an honest page is still taken in."""

    async def run() -> None:
        one = supervisor()
        page = {"type": "page", "targetId": "t1", "url": "http://a.test/", "title": "A"}
        one._take("Target.attachedToTarget", {"targetInfo": page, "sessionId": "a"}, "")
        for method, fields, session in events:
            if method in one._takers:  # called as it is, an error would come out
                one._takers[method](fields, session, one.tabs.of(session))
            one._take(method, fields, session)
        one._take("Target.attachedToTarget", {"targetInfo": {**page, "targetId": "honest"}, "sessionId": "h"}, "")
        assert one.tabs.is_full or one.tabs.with_target("honest")
        await one.close()

    asyncio.run(run())


def test_what_is_known_is_bounded() -> None:
    """A browser that tells of thousands of everything is remembered for a few."""

    async def run() -> None:
        one = supervisor()
        page = {"type": "page", "targetId": "t", "url": "", "title": ""}
        for n in range(2000):
            name = str(n)
            one._take("Target.attachedToTarget", {"targetInfo": {**page, "targetId": name}, "sessionId": name}, "")
            frame = {"type": "iframe", "targetId": f"f{n}", "parentFrameId": "0"}
            one._take("Target.attachedToTarget", {"targetInfo": frame, "sessionId": f"s{n}"}, "0")
            one._take("Page.frameAttached", {"frameId": f"g{n}", "parentFrameId": "0"}, "0")
            one._take("Page.javascriptDialogOpening", {"type": "alert", "message": "x" * 9999}, f"s{n}")
            one._take("Runtime.consoleAPICalled", {"type": "error", "args": [{"value": "x" * 9999}]}, "0")
            one._take("Browser.downloadWillBegin", {"guid": f"guid-{n:06}", "suggestedFilename": "x" * 9999}, "")
            one._take("Network.requestWillBeSent", {"requestId": name}, "0")
        assert len(one.tabs.all) == MAX_TABS
        assert len(one.tabs._attached) <= MAX_SESSIONS
        assert len(list(one.frames)) <= MAX_KEPT
        assert len(one.dialogs.pending) <= MAX_PENDING
        assert len(one.dialogs.recent) <= MAX_RECENT
        assert len(one.console.lines) <= MAX_LINES
        assert len(one.downloads.files) <= MAX_DOWNLOADS
        tab = one.tabs.own("0")
        assert tab is not None
        assert len(tab._requests) <= 500
        assert max(len(line.text) for line in one.console.lines) <= 600
        await one.close()

    asyncio.run(run())
