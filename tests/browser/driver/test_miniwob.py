"""MiniWoB++: small tasks on pages that nobody here wrote, solved by a script that sees nothing but the text of the
page, and rewarded by the pages themselves.

The pages are in the package ``miniwob`` of PyPI, which is in no lock of ours. Whoever wants to try them installs it
anywhere (``pip install --no-deps miniwob``) and names its folder ``html`` in ``MINIWOB_HTML``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.browser.session import BrowserSession
from tests.browser.driver.conftest import Lab, LabBrowser, LabRunner
from tests.support.driven_browser import LenientPolicy, eventually
from tests.support.driven_site import driven_site

HTML = Path(os.environ.get("MINIWOB_HTML") or "/nowhere")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.thirdparty,
    pytest.mark.skipif(not HTML.is_dir(), reason="MINIWOB_HTML names no folder: pip install --no-deps miniwob"),
]
EPISODES = 3
_KINDS = "button|clickable|checkbox|radio|tab|link|menuitem|option|file|select|textbox"

Solver = Callable[["Episode"], Awaitable[None]]


class Episode:
    """One task: what is wanted, and the page."""

    def __init__(self, session: BrowserSession, wish: str) -> None:
        self.session = session
        self.wish = wish

    async def text(self) -> str:
        """What is on the page."""
        return (await self.session.snapshot()).body

    def quoted(self) -> list[str]:
        """What stands in quotation marks in the wish."""
        return re.findall(r'"(.+?)"', self.wish)

    def chosen(self) -> str:
        """What the wish says to select."""
        found = re.search(r"Select (.+?) (?:and click|from)", self.wish)
        assert found, self.wish
        return found[1]

    async def first(self, kinds: str) -> str:
        """The ref of the first control of a kind."""
        return (await self.all(kinds))[0]

    async def all(self, kinds: str) -> list[str]:
        """Those of all."""
        return re.findall(rf"\[(?:{kinds}) (\w+)", await self.text())

    async def click(self, name: str, kinds: str = _KINDS) -> None:
        """The control or link of this name."""
        text, wanted = await self.text(), re.escape(name)
        found = (
            re.search(rf"\[(?:{kinds}) (\w+): {wanted}[\],]", text, re.IGNORECASE)
            or re.search(rf"\[{wanted}\]\((\w+)", text, re.IGNORECASE)
            or re.search(rf"\[(?:{kinds}) (\w+): [^\]]*{wanted}", text, re.IGNORECASE)
        )
        assert found, f"{name} is not in:\n{text}"
        await self.session.click(found[1])


async def _first_button(episode: Episode) -> None:
    await episode.session.click(await episode.first("button"))


async def _quoted(episode: Episode) -> None:
    await episode.click(episode.quoted()[0])


async def _tab(episode: Episode) -> None:
    found = re.search(r"Tab #\d+", episode.wish)
    await episode.click(found[0] if found else episode.quoted()[0])


async def _enter_text(episode: Episode) -> None:
    for field in await episode.all("textbox"):
        await episode.session.type(field, episode.quoted()[0])
    await episode.click("Submit")


async def _log_in(episode: Episode) -> None:
    for field, text in zip(await episode.all("textbox"), episode.quoted(), strict=True):
        await episode.session.type(field, text)
    await episode.click("Login")


async def _checkboxes(episode: Episode) -> None:
    chosen = episode.chosen()
    for name in chosen.split(", ") if chosen != "nothing" else []:
        await episode.click(name, "checkbox")
    await episode.click("Submit")


async def _option(episode: Episode) -> None:
    await episode.click(episode.chosen(), "radio")
    await episode.click("Submit")


async def _list(episode: Episode) -> None:
    await episode.session.select(await episode.first("select"), episode.chosen())
    await episode.click("Submit")


async def _focus(episode: Episode) -> None:
    await episode.session.click(await episode.first("textbox"))


async def _collapsible(episode: Episode) -> None:
    await episode.session.click(await episode.first("clickable|tab|button"))

    async def is_open() -> bool:
        return "Submit" in await episode.text()

    await eventually(is_open)
    await episode.session.wait("", within_s=1)
    await episode.click("Submit")


async def _date(episode: Episode) -> None:
    found = re.search(r"(\d+)/(\d+)/(\d+)", episode.wish)
    assert found
    month, day, year = found.groups()
    await episode.session.type(await episode.first("textbox"), f"{year}-{month}-{day}")
    await episode.click("Submit")


async def _search_engine(episode: Episode) -> None:
    number = int(re.findall(r"\d+", episode.wish.split('"')[-1])[0])
    await episode.session.type(await episode.first("textbox"), episode.quoted()[0])
    await episode.click("Search")
    for _ in range((number - 1) // 3):
        await episode.click(">")
    links = re.findall(r"\[([^\]]+)\]\((\w+)\)", await episode.text())
    results = [ref for name, ref in links if not re.fullmatch(r"[<>\d]+", name)]
    await episode.session.click(results[(number - 1) % 3])


TASKS: dict[str, Solver] = {
    "click-test": _first_button,
    "click-button": _quoted,
    "click-link": _quoted,
    "click-tab": _tab,
    "click-dialog": _first_button,
    "enter-text": _enter_text,
    "enter-password": _enter_text,
    "login-user": _log_in,
    "click-checkboxes": _checkboxes,
    "click-option": _option,
    "choose-list": _list,
    "focus-text": _focus,
    "click-collapsible": _collapsible,
    "enter-date": _date,
    "search-engine": _search_engine,
}


@pytest.fixture(scope="module")
def in_miniwob() -> Iterator[LabRunner]:
    """A browser that sees the pages."""
    with driven_site(HTML) as site:
        browser = LabBrowser(site)
        yield LabRunner(browser, LenientPolicy())
        browser.close()


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_solved_by_its_text(in_miniwob: LabRunner, task: str) -> None:
    """Each time, by the page's own reward."""

    async def check(lab: Lab) -> None:
        for number in range(EPISODES):
            await lab.session.open(f"http://files.test/miniwob/{task}.html")
            await _run(lab, f"core.EPISODE_MAX_TIME=60000;Math.seedrandom({number + 1});core.startEpisodeReal();0")
            wish = await _run(lab, "core.getUtterance()")
            await TASKS[task](Episode(lab.session, str(wish)))

            async def is_rewarded() -> bool:
                return bool(await _run(lab, "WOB_DONE_GLOBAL")) and await _run(lab, "WOB_RAW_REWARD_GLOBAL") == 1

            await eventually(is_rewarded)

    in_miniwob(check)


async def _run(lab: Lab, script: str) -> Any:
    answer = await lab.session.raw("Runtime.evaluate", {"expression": script, "returnByValue": True})
    return answer["result"].get("value")
