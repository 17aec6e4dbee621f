"""A page of an agent that wants to tell somebody something, in a real browser, from the real preview origin: every way
that is known is tried against collectors on this machine, and nothing arrives. The same page without our headers and
frame reaches them, so the tries are real ones.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Error, Page, sync_playwright

from orchestrator.apps.previews.csp import SANDBOX
from orchestrator.apps.previews.origins import app_url
from orchestrator.apps.previews.signed_urls import Ticket
from orchestrator.core.db.database import Store
from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.support.core_fixture import KEY
from tests.support.leak_collectors import Collectors, names_looked_up
from tests.support.other_site import OtherSite
from tests.support.preview_fixture import PreviewFixture, preview_install

pytestmark = pytest.mark.browser

SOURCE = (Path(__file__).parents[1] / "data" / "exfiltration.js").read_text(encoding="utf-8")
PAGE = f"<!doctype html><title>t</title><body><script>{SOURCE}</script>"
TRIES = tuple(re.findall(r"^  ([a-z_]+): ", SOURCE, re.MULTILINE))
ALONE = frozenset({name for name in TRIES if name.startswith("click_")}) | {
    "top_location",
    "parent_location",
    "form_top",
    "form_blank",
    "webrtc_stun_in_frame",
}
"""These may take the page around them with them."""
PREDICTING = [
    argument for argument in ARGUMENTS if argument not in ("--disable-quic", "--disable-background-networking")
]
LOADS_MS = 150_000
"""A hundred frames in processes of their own take a busy machine long."""
OLDER = "--disable-features=ConnectionAllowlists"
"""A Chromium that knows a Content-Security-Policy and no ``Connection-Allowlist``."""


@dataclass(frozen=True)
class Side:
    """One way to show the page: where it is, and how its frame is made."""

    name: str
    base: str
    frame: str = ""
    policy: str = ""
    arguments: tuple[str, ...] = ()


@dataclass
class Harvest:
    """What came of it, by side: the tries that reached their collector, and those whose name was looked up."""

    reached: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    looked_up: dict[str, set[str]] = field(default_factory=dict)

    def leaks(self, side: str) -> set[str]:
        """Every try that told somebody anything."""
        return set(self.reached[side]) | self.looked_up[side]


@pytest.fixture(scope="module")
def harvest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harvest]:
    """All tries on three sides: without any wall, behind ours, and behind ours in an older browser."""
    folder = tmp_path_factory.mktemp("exfiltration")
    store = Store(folder / "store.sqlite")
    with OtherSite() as stage, preview_install(folder, store) as install:
        install.write("leak/index.html", PAGE)
        base = _shown(install, stage.origin)
        stage.pages["/open"] = (PAGE, "")
        frame, policy = f'sandbox="{SANDBOX}"', f"default-src 'none'; frame-src {base}"
        made = Harvest()
        for side in (
            Side("open", f"http://localhost:{stage.port}/open"),
            Side("guarded", base, frame, policy),
            Side("older", base, frame, policy, (OLDER,)),
        ):
            # In a thread of its own: other tests may have a browser in this one, and a thread can have only one.
            with ThreadPoolExecutor(1) as pool:
                pool.submit(_try_all, made, stage, side, folder / f"{side.name}.json").result()
        yield made
    store.close()


def _shown(install: PreviewFixture, dashboard: str) -> str:
    ticket = Ticket(KEY, "leak", dashboard, int(time.time()) + 3600)
    return app_url(install.origin, install.tickets.encode_ticket(ticket))


def _try_all(made: Harvest, stage: OtherSite, side: Side, log: Path) -> None:
    with Collectors(TRIES) as collectors, sync_playwright() as playwright:
        arguments = [*PREDICTING, f"--log-net-log={log}", *side.arguments]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        context = browser.new_context()
        _try(context, stage, side, [name for name in TRIES if name not in ALONE], collectors, patience_ms=4_000)
        for name in sorted(ALONE):
            _try(context, stage, side, [name], collectors, patience_ms=300)
        context.close()
        browser.close()
        made.reached[side.name] = dict(collectors.reached)
    made.looked_up[side.name] = {name for name, whose in names_looked_up(log) if whose == side.name}


def _try(
    context: BrowserContext, stage: OtherSite, side: Side, names: list[str], collectors: Collectors, *, patience_ms: int
) -> None:
    frames = (
        f'<iframe {side.frame} name="{name}" width="150" height="60" '
        f'src="{side.base}?try={name}&side={side.name}&port={collectors.ports[name]}"></iframe>'
        for name in names
    )
    stage.pages["/all"] = (f"<!doctype html>{''.join(frames)}", side.policy)
    page = context.new_page()
    try:
        page.goto(f"{stage.origin}/all", timeout=LOADS_MS)
        if names[0].startswith("click_"):
            _click(page, names[0])
        page.wait_for_timeout(patience_ms)
    except Error as error:
        # Chromium ends the process of a page that goes on asking for what its allowlist forbids.
        if "crashed" not in str(error):
            raise
    for shown in context.pages:
        shown.close()


def _click(page: Page, name: str) -> None:
    frame = page.frame(name=name)
    assert frame is not None
    frame.locator("#go").click(timeout=10_000)


NAVIGATIONS = frozenset(
    {
        "iframe",
        "frame_navigated",
        "location_href",
        "location_assign",
        "location_replace",
        "location_name",
        "navigation_api",
        "open_self",
        "meta_refresh",
        "link_clicked_by_script",
        "form_get",
        "form_post",
        "form_dialog_button",
        "srcdoc_navigates",
        "srcdoc_meta",
        "click_download",
        "click_self",
    }
)
WEBRTC = frozenset(name for name in TRIES if name.startswith("webrtc_"))


@pytest.mark.parametrize("name", TRIES)
def test_nothing_reaches_anybody(harvest: Harvest, name: str) -> None:
    """No request, no connection, no datagram, no look-up of a name."""
    assert harvest.reached["guarded"].get(name) is None
    assert name not in harvest.looked_up["guarded"]


def test_the_tries_are_real(harvest: Harvest) -> None:
    """Shown without our walls, the same page reaches the collectors in nearly every way."""
    told = harvest.leaks("open")
    for sort in ("fetch", "img", "css", "link", "location", "form", "srcdoc", "worker", "webrtc", "click"):
        assert any(name.startswith(sort) for name in told), sort
    assert len(told) > len(TRIES) * 0.7, sorted(set(TRIES) - told)


def test_what_an_older_browser_lets_out(harvest: Harvest) -> None:
    """Where ``Connection-Allowlist`` is not known, WebRTC gets out, and a refused navigation has its host looked up
    and connected to before it is refused, without a word being sent. docs/security.md says so; nothing else does."""
    told = harvest.leaks("older")
    assert told <= NAVIGATIONS | WEBRTC
    assert {"webrtc_stun", "location_href"} <= told
    said = {name: harvest.reached["older"].get(name, []) for name in NAVIGATIONS}
    assert all(set(what) <= {"connection"} for what in said.values()), said
    words = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    assert "Connection-Allowlist" in words
    assert "WebRTC" in words
