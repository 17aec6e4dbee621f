"""What the caller decides holds on real pages: where a tab goes, and who gets a secret, which the agent never sees."""

from __future__ import annotations

import pytest

from orchestrator.browser.faults import BrowserError
from orchestrator.core.errors import Forbidden
from tests.browser.driver.conftest import Lab, LabRunner
from tests.support.driven_browser import eventually
from tests.support.page_refs import ref_in, ref_of, title_of

pytestmark = pytest.mark.browser
SECRET = "correct horse battery"


def test_no_way_leads_a_tab_to_a_host_that_was_not_approved(in_lab: LabRunner) -> None:
    """Not an address, a link, a redirect, a script or a form; the agent is told. A frame of it is not the tab's
    page."""

    async def check(lab: Lab) -> None:
        with pytest.raises(BrowserError, match=r"may not be opened: evil\.test: nobody approved it"):
            await lab.session.open("http://evil.test/direct")
        with pytest.raises(BrowserError, match=r"may not be opened: evil\.test"):
            await lab.session.open("http://lab.test/redirect?to=http://evil.test/redirected-at-once")
        for way in ("link", "redirect", "script", "form"):
            page = await lab.session.open("http://lab.test/ways-out")
            told = await lab.session.click(ref_in(page.body, way))
            assert any("evil.test: nobody approved it" in note for note in told.notes), way
            assert told.url == "http://lab.test/ways-out" or told.title != "Evil"
        asked = {path for _, host, path in lab.site.asked if host == "evil.test"}
        assert asked == {"/frame"}

    in_lab(check)


def test_a_pop_up_may_not_go_there_either(in_lab: LabRunner) -> None:
    """Its first document is asked about before it is asked for."""

    async def check(lab: Lab) -> None:
        page = await lab.session.open("http://lab.test/popup")
        await lab.session.click(ref_in(page.body, "Open evil"))
        await eventually(lambda: "open evil.test" in lab.policy.asked)
        assert "evil.test" not in lab.site.hosts_asked()

    in_lab(check)


def test_the_policy_failing_means_no(in_lab: LabRunner) -> None:
    """A host that can't be judged isn't shown."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/")
        lab.policy.closed_hosts = None  # type: ignore[assignment]
        told = await lab.session.click(await ref_of(lab.session, "second"))
        assert any("could not be judged" in note for note in told.notes)
        assert "/second" not in {path for _, _, path in lab.site.asked}

    in_lab(check)


def test_a_secret_is_typed_and_never_seen(in_lab: LabRunner) -> None:
    """The page has it; no text that the agent is told does, whatever the page does with it."""

    async def check(lab: Lab) -> None:
        lab.policy.secrets["lab", "http://lab.test"] = SECRET
        page = (await lab.session.open("http://lab.test/login")).body
        told = await lab.session.fill_secret(ref_in(page, "Password"), "lab")
        assert "= •••" in told.body or '"•••"' in told.body
        for button in ("Show", "Copy"):
            told = await lab.session.click(ref_in(page, button))
            assert SECRET not in told.text
            assert SECRET not in (await lab.session.snapshot()).text
        with pytest.raises(BrowserError, match="A secret was typed into this page"):
            await lab.session.raw("Runtime.evaluate", {"expression": "p.value"})
        await lab.session.click(ref_in(page, "Log in"))
        assert await title_of(lab.session) == f"in as {len(SECRET)}"
        await lab.session.open("http://lab.test/second")
        assert await lab.session.raw("Runtime.evaluate", {"expression": "1"})

    in_lab(check)


def test_pictures_of_a_shown_secret_are_not_taken(in_lab: LabRunner) -> None:
    """Nor is one typed where methods were called before, which may wait for it."""

    async def check(lab: Lab) -> None:
        lab.policy.secrets["lab", "http://lab.test"] = SECRET
        page = (await lab.session.open("http://lab.test/login")).body
        await lab.session.raw("Runtime.evaluate", {"expression": "1"})
        with pytest.raises(BrowserError, match="Methods were called on a page that is open"):
            await lab.session.fill_secret(ref_in(page, "Password"), "lab")
        page = (await lab.session.open_tab("http://lab.test/login")).body
        await lab.session.reload()
        page = (await lab.session.snapshot()).body
        with pytest.raises(BrowserError, match="Methods were called"):  # the other tab could reach into this one
            await lab.session.fill_secret(ref_in(page, "Password"), "lab")
        await lab.session.close_tab(1)
        await lab.session.reload()
        page = (await lab.session.snapshot()).body
        await lab.session.fill_secret(ref_in(page, "Password"), "lab")
        assert await lab.session.screenshot()
        await lab.session.click(ref_in(page, "Show"))
        for picture in (lab.session.screenshot(), lab.session.pdf()):
            with pytest.raises(BrowserError, match="shows a secret"):
                await picture
        page = (await lab.session.reload()).body
        await lab.session.fill_secret(ref_in(page, "Password"), "lab")
        await lab.session.click(ref_in(page, "Copy"))
        with pytest.raises(BrowserError, match="shows a secret"):
            await lab.session.screenshot()

    in_lab(check)


def test_what_the_gate_keeps_from_a_page_is_told(in_lab: LabRunner) -> None:
    """By host, whether it refused a tunnel or an answer; a page that it refuses is an error that says so."""

    async def check(lab: Lab) -> None:
        told = await lab.session.open("http://lab.test/parts")
        assert "# Parts" in told.body
        assert set(lab.session.missing_hosts()) == {"img.test", "api.test", "ads.test"}
        assert "(3 hosts that are not approved for this page)" in told.text
        for address in ("http://lab.test/by-gate", "https://lab.test/"):
            with pytest.raises(BrowserError, match=r"gate refused lab\.test \(host-not-approved\)"):
                await lab.session.open(address)
        assert (await lab.session.open("http://lab.test/second")).notes == ()

    in_lab(check)


def test_a_secret_goes_to_its_own_site_only(in_lab: LabRunner) -> None:
    """The caller is told whose page the field is on: of the frame, not of the tab."""

    async def check(lab: Lab) -> None:
        lab.policy.secrets["lab", "http://lab.test"] = SECRET
        page = (await lab.session.open("http://phish.test/")).body
        outer, inner = page.split("[frame Real]")
        with pytest.raises(Forbidden, match=r"no secret lab for http://phish\.test"):
            await lab.session.fill_secret(ref_in(outer, "Password"), "lab")
        await lab.session.fill_secret(ref_in(inner, "Password"), "lab")
        assert lab.policy.asked[-2:] == ["secret lab http://phish.test", "secret lab http://lab.test"]
        assert (await lab.session.snapshot()).body.count("•••") == 1
        frames = (await lab.session.open("http://frames.test/")).body
        with pytest.raises(BrowserError, match="not certain whose page"):
            await lab.session.fill_secret(ref_in(frames, "Srcdoc button"), "lab")

    in_lab(check)


FAR_METHODS = (
    *("Target.getTargets", "Browser.close", "Page.navigate", "Storage.getCookies", "Network.getAllCookies", "IO.read"),
    *("Fetch.disable", "DOM.setFileInputFiles", "Page.disable", "Runtime.disable", "SystemInfo.getInfo"),
)


@pytest.mark.parametrize("method", FAR_METHODS)
def test_raw_methods_stay_on_the_page(in_lab: LabRunner, method: str) -> None:
    """What reaches further is refused before it is sent."""

    async def check(lab: Lab) -> None:
        await lab.session.open("http://lab.test/second")
        with pytest.raises(BrowserError, match="not among the methods"):
            await lab.session.raw(method, {})

    in_lab(check)
