"""Dialogs of real pages: answered by the agent, by policy, by the watchdog, or gone with their page; nothing hangs."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from orchestrator.browser.dialogs import DialogCloser, DialogPolicy
from orchestrator.browser.faults import BrowserError, DialogWaits
from orchestrator.browser.policy import DriverSettings
from orchestrator.browser.reports import ReportKind
from orchestrator.browser.session import BrowserSession
from tests.browser.driver.conftest import Lab, LabRunner
from tests.support.driven_browser import DrivenBrowser, LenientPolicy, eventually, settings_of
from tests.support.page_refs import ref_in, ref_of, title_of

pytestmark = pytest.mark.browser


def test_the_agent_answers(in_lab: LabRunner) -> None:
    """A click that opens a dialog is told of it; the page goes on with the answer, a prompt with its text."""

    async def check(lab: Lab) -> None:
        page = (await lab.session.open("http://lab.test/")).body
        told = await lab.session.click(ref_in(page, "Delete"))
        assert told.kind is ReportKind.DIALOG
        assert [(one.kind, one.message) for one in told.pending_dialogs] == [("confirm", "Really delete?")]
        closed = await lab.session.dialog("accept")
        assert (closed.closed_by, closed.accepted) == (DialogCloser.AGENT, True)
        assert await title_of(lab.session) == "asked true"
        await lab.session.click(ref_in(page, "Delete"))
        assert (await lab.session.dialog("dismiss")).accepted is False
        assert await title_of(lab.session) == "asked false"
        told = await lab.session.click(ref_in(page, "Ask me"))
        assert told.pending_dialogs[0].default == "Bob"
        await lab.session.dialog("accept", text="Alice", dialog_id=told.pending_dialogs[0].id)
        assert await title_of(lab.session) == "said Alice"

    in_lab(check)


def test_an_open_dialog_holds_nobody_up(in_lab: LabRunner) -> None:
    """Looking at the page, clicking on and calling methods answer at once, and say what waits."""

    async def check(lab: Lab) -> None:
        page = (await lab.session.open("http://lab.test/")).body
        await lab.session.click(ref_in(page, "Hello"))
        begun = time.monotonic()
        told = await lab.session.snapshot()
        assert told.pending_dialogs[0].message == "Hello"
        assert "Dialog d1 waits: alert “Hello”" in told.text
        assert (await lab.session.click(ref_in(page, "Err"))).pending_dialogs
        assert (await lab.session.press("a")).pending_dialogs
        with pytest.raises(DialogWaits, match="dialog d1"):
            await lab.session.raw("Runtime.evaluate", {"expression": "1"})
        with pytest.raises(DialogWaits):
            await lab.session.screenshot()
        assert time.monotonic() - begun < 10  # a page that is waited for takes 15 seconds

    in_lab(check)


def test_nothing_to_answer_is_an_error(in_lab: LabRunner) -> None:
    """So is an answer that is none."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/")
        with pytest.raises(BrowserError, match="No dialog is open"):
            await lab.session.dialog("accept")
        with pytest.raises(BrowserError, match="accepted or dismissed"):
            await lab.session.dialog("perhaps")

    in_lab(check)


def test_the_watchdog_dismisses(in_lab: LabRunner) -> None:
    """When nobody answers for long, and the page goes on."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/")
        await lab.session.click(await ref_of(lab.session, "Delete"))
        dialogs = lab.session.supervisor.dialogs
        await eventually(lambda: bool(dialogs.recent))
        assert (dialogs.recent[-1].closed_by, dialogs.recent[-1].accepted) == (DialogCloser.WATCHDOG, False)
        told = await lab.session.snapshot()
        assert told.title == "asked false"
        assert "was dismissed by watchdog" in told.text

    in_lab(check, lambda browser: replace(settings_of(browser), dialog_answer_s=0.5))


@pytest.mark.parametrize(
    ("policy", "title"), [(DialogPolicy.AUTO_ACCEPT, "asked true"), (DialogPolicy.AUTO_DISMISS, "asked false")]
)
def test_a_policy_answers(in_lab: LabRunner, policy: DialogPolicy, title: str) -> None:
    """Nobody is asked, and it is told that the policy did it."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/")
        await lab.session.click(await ref_of(lab.session, "Delete"))
        await eventually(lambda: bool(lab.session.supervisor.dialogs.recent))
        assert lab.session.supervisor.dialogs.recent[-1].closed_by is DialogCloser.AUTO_POLICY
        assert await title_of(lab.session) == title

    in_lab(check, lambda browser: replace(settings_of(browser), dialog_policy=policy))


def test_going_elsewhere_dismisses(in_lab: LabRunner) -> None:
    """Opening an address closes the dialog first; a page that asks whether it may be left is left."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/")
        await lab.session.click(await ref_of(lab.session, "Hello"))
        assert (await lab.session.open("http://lab.test/second")).title == "Second"
        assert lab.session.supervisor.dialogs.recent[-1].closed_by is DialogCloser.AGENT
        await lab.session.open("http://lab.test/unload")
        await lab.session.type(await ref_of(lab.session, "Field"), "x")
        assert (await lab.session.open("http://lab.test/second")).title == "Second"
        assert lab.session.supervisor.dialogs.recent[-1].kind == "beforeunload"

    in_lab(check)


def test_a_dialog_goes_with_its_page(in_lab: LabRunner) -> None:
    """What closed it was not us."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/second")
        await lab.session.open_tab("http://lab.test/")
        await lab.session.click(await ref_of(lab.session, "Hello"))
        told = await lab.session.close_tab()
        assert told.title == "Second"
        assert lab.session.supervisor.dialogs.recent[-1].closed_by is DialogCloser.REMOTE

    in_lab(check)


def test_a_dialog_outlives_a_connection(in_lab: LabRunner) -> None:
    """The relay comes back within a moment, and the dialog can still be answered."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/")
        await lab.session.click(await ref_of(lab.session, "Delete"))
        supervisor = lab.session.supervisor
        connections = supervisor.connections
        supervisor.wire.drop()
        await eventually(lambda: supervisor.connections > connections and supervisor.is_ready.is_set())
        assert (await lab.session.snapshot()).pending_dialogs
        await lab.session.dialog("accept")
        assert await title_of(lab.session) == "asked true"

    in_lab(check)


def test_a_new_process_finds_page_and_dialog(in_lab: LabRunner) -> None:
    """The host was started anew: what is open is there, can be answered, and refs name what they named."""

    async def check(lab: Lab) -> None:
        page = (await lab.session.open("http://lab.test/")).body
        await lab.session.click(ref_in(page, "Ask me"))
        await lab.session.close()
        newer = BrowserSession(LenientPolicy(), settings_of(lab.browser))
        await lab.browser.drive(newer)
        try:
            told = await newer.snapshot()
            assert [one.kind for one in told.pending_dialogs] == ["prompt"]
            await newer.dialog("accept", text="NEW")
            told = await newer.snapshot()
            assert told.title == "said NEW"
            assert told.body.replace(", focused", "") == page
            await newer.click(ref_in(page, "Delete"))
            await newer.dialog("accept")
            assert await title_of(newer) == "asked true"
        finally:
            await newer.close()

    in_lab(check)


def test_pages_ask_over_the_bridge(in_lab: LabRunner) -> None:
    """For browsers that close dialogs by themselves: the page's own functions ask us, and get the answer."""

    def with_bridge(browser: DrivenBrowser) -> DriverSettings:
        return replace(settings_of(browser), uses_dialog_bridge=True)

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/")
        told = await lab.session.click(await ref_of(lab.session, "Ask me"))
        assert [(one.kind, one.default) for one in told.pending_dialogs] == [("prompt", "Bob")]
        assert all(one.bridge_request for one in lab.session.supervisor.dialogs.pending)
        await lab.session.dialog("accept", text="VIA BRIDGE")
        assert await title_of(lab.session) == "said VIA BRIDGE"
        await lab.session.click(await ref_of(lab.session, "Delete"))
        await lab.session.dialog("dismiss")
        assert await title_of(lab.session) == "asked false"
        assert "hermit-dialog-bridge.invalid" not in lab.site.hosts_asked()

    in_lab(check, with_bridge)


def test_half_a_character_in_a_dialog_hides_nothing(in_lab: LabRunner) -> None:
    """A page can't make its dialog unreadable."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/odd")
        told = await lab.session.click(await ref_of(lab.session, "Half"))
        assert [one.message for one in told.pending_dialogs] == ["\ufffd"]
        await asyncio.sleep(0)
        assert (await lab.session.dialog("accept")).accepted is True

    in_lab(check)
