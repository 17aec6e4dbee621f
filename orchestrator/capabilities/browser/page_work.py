"""What each call does with a browser, and what the agent is told of it. It runs in the browsers' event loop."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from orchestrator.browser.downloads import PageDownload
from orchestrator.browser.faults import BrowserError
from orchestrator.browser.reports import BrowserReport
from orchestrator.browser.session import BrowserSession
from orchestrator.core.errors import BadInput, NotFound, Unavailable
from orchestrator.core.text import in_quotes, one_line

MOST_WAIT_S = 60.0
_MOST_LISTED = 200
_COMES_S, _LOOK_S = 120.0, 0.2
"""How long a file that is still coming is waited for, and how often it is looked at."""


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """What came of a call."""

    text: str
    told: Mapping[str, Any] = field(default_factory=dict)
    file: bytes = b""
    """To be put into ``in/``."""
    ending: str = ""
    """Of that file's name."""


Work = Callable[[BrowserSession, Mapping[str, Any]], Awaitable[PageAnswer]]


def check_call(do: str, given: Mapping[str, Any]) -> None:
    """Raises BadInput where something is missing or of no use, before anybody is asked."""
    if do not in WORKS and do not in OTHERS:
        raise BadInput(f"BROWSER: do: there is no {in_quotes(do, 40)}. `hermit browser --help` lists what there is.")
    for name in _NEEDED.get(do, ()):
        if not given[name]:
            raise BadInput(f"BROWSER: {name}: it is needed to {do}.")
    if do == "cdp":
        _read_params(given)
    if do == "dialog" and given["text"] not in ("accept", "dismiss"):
        raise BadInput("BROWSER: text: say accept or dismiss.")
    if do == "scroll" and given["text"] not in ("up", "down"):
        raise BadInput("BROWSER: text: say up or down.")


async def _open(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    return tell_page(await (session.open_tab(given["url"]) if given["full"] else session.open(given["url"])))


async def _snapshot(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    is_full = given["full"] or given["start"] > 0
    return tell_page(await session.snapshot(full=is_full, from_=given["start"], find=given["find"], urls=given["urls"]))


async def _click(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    return tell_page(await session.click(given["ref"]))


async def _type(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    return tell_page(await session.type(given["ref"], given["text"], submit=given["enter"]))


async def _fill(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    return tell_page(await session.fill_secret(given["ref"], given["secret"]))


async def _select(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    return tell_page(await session.select(given["ref"], given["text"]))


async def _press(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    return tell_page(await session.press(given["text"]))


async def _hover(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    return tell_page(await session.hover(given["ref"]))


async def _scroll(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    return tell_page(await session.scroll(given["text"]))


async def _back(session: BrowserSession, _given: Mapping[str, Any]) -> PageAnswer:
    return tell_page(await session.back())


async def _reload(session: BrowserSession, _given: Mapping[str, Any]) -> PageAnswer:
    return tell_page(await session.reload())


async def _wait(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    text = given["text"]
    if text.replace(".", "", 1).isdecimal() and float(text) <= MOST_WAIT_S:
        await asyncio.sleep(float(text))
        return tell_page(await session.snapshot(full=False))
    return tell_page(await session.wait(text))


async def _screenshot(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    return PageAnswer("", file=await session.screenshot(whole_page=given["full"]), ending="jpg")


async def _pdf(session: BrowserSession, _given: Mapping[str, Any]) -> PageAnswer:
    return PageAnswer("", file=await session.pdf(), ending="pdf")


async def _read(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    """The page itself, for the reader inside the cubicle; the host reads none of it."""
    if given["url"]:
        await session.open(given["url"])
    return PageAnswer("", file=(await session.html()).encode("utf-8", "replace"), ending="html")


async def _images(session: BrowserSession, _given: Mapping[str, Any]) -> PageAnswer:
    found = [asdict(one) for one in (await session.images())[:_MOST_LISTED]]
    lines = [f"{one_line(json.dumps(one, ensure_ascii=False), 600)}" for one in found]
    return PageAnswer("\n".join(lines) or "The page has no images.", {"images": found})


async def _downloads(session: BrowserSession, _given: Mapping[str, Any]) -> PageAnswer:
    found = [
        {
            "number": one.number,
            "name": one.suggested_name,
            "host": one.host,
            "size_bytes": one.size_bytes,
            "state": one.state,
            "refusal": one.refusal,
        }
        for one in session.downloads()
    ]
    lines = [
        f"{one.number}: {in_quotes(one.suggested_name, 200)} from {one.host}, {one.size_bytes:,} bytes, "
        f"{_state_of(one)}"
        for one in session.downloads()
    ]
    return PageAnswer("\n".join(lines) or "No page gave a file.", {"files": found})


def _state_of(one: PageDownload) -> str:
    states = {"completed": "is there", "inProgress": "is coming", "taken": "was saved already"}
    return f"not taken: {one.refusal}" if one.refusal else states.get(one.state, "did not come")


async def _console(session: BrowserSession, _given: Mapping[str, Any]) -> PageAnswer:
    found = [asdict(one) for one in session.console()]
    lines = [f"{one_line(json.dumps(one, ensure_ascii=False, default=str), 2_000)}" for one in found]
    return PageAnswer("\n".join(lines) or "Nothing was written to the console.", {"lines": found})


async def _frames(session: BrowserSession, _given: Mapping[str, Any]) -> PageAnswer:
    tree = asdict(session.frame_tree())
    return PageAnswer(json.dumps(tree, ensure_ascii=False, default=str, indent=1), tree)


async def _dialog(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    view = await session.dialog(given["text"], text=given["params"], dialog_id=given["dialog"])
    report = await session.snapshot(full=False)
    how = {True: "accepted", False: "dismissed", None: "gone"}[view.accepted]
    return PageAnswer(f"The dialog {in_quotes(view.message, 300)} was {how}.\n\n{report.text}", report.to_json())


async def _tabs(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    if given["tab"] is not None:
        return tell_page(await session.select_tab(given["tab"]))
    await session.refresh_titles()
    found = [asdict(one) for one in session.tabs()]
    lines = [
        f"{one['number']}{' (in front)' if one['is_in_front'] else ''}: {one_line(one['title'], 100)} "
        f"{one_line(one['url'], 300)}"
        for one in found
    ]
    return PageAnswer("\n".join(lines), {"tabs": found})


async def _close_tab(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    return tell_page(await session.close_tab(given["tab"]))


async def _cdp(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
    answer = await session.raw(given["method"], _read_params(given), frame_id=given["frame"])
    told = {"answer": answer}
    return PageAnswer(json.dumps(answer, ensure_ascii=False, default=str), told)


async def _allow(session: BrowserSession, _given: Mapping[str, Any]) -> PageAnswer:
    """What was not loaded before may be now."""
    return tell_page(await session.reload())


async def await_download(session: BrowserSession, number: int) -> PageDownload:
    """The file of this number that a page gave, once all of it is there. Raises NotFound for one that will not be, and
    Unavailable when it takes long."""
    deadline = time.monotonic() + _COMES_S
    while True:
        one = next((file for file in session.downloads() if file.number == number), None)
        if one is None:
            raise NotFound(f"There is no file {number}. `hermit browser downloads` lists those that there are.")
        if one.refusal:
            raise NotFound(f"File {number} was not taken: {one.refusal}.")
        if one.state == "completed":
            return one
        if one.state != "inProgress":
            raise NotFound(f"File {number} {_state_of(one)}. Ask the page for it again.")
        if time.monotonic() > deadline:
            raise Unavailable(f"File {number} is still coming: {one.size_bytes:,} bytes are there. Save it again.")
        await asyncio.sleep(_LOOK_S)


def tell_page(report: BrowserReport) -> PageAnswer:
    """The page, for the agent."""
    return PageAnswer(report.text, report.to_json())


def _read_params(given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        params = json.loads(given["params"] or "{}")
    except (ValueError, RecursionError) as error:
        raise BadInput("BROWSER: params: it is not JSON. Put it into single quotes.") from error
    if not isinstance(params, dict):
        raise BadInput("BROWSER: params: it must be a JSON object.")
    return params


WORKS: Mapping[str, Work] = {
    "open": _open,
    "snapshot": _snapshot,
    "click": _click,
    "type": _type,
    "fill": _fill,
    "select": _select,
    "press": _press,
    "hover": _hover,
    "scroll": _scroll,
    "back": _back,
    "reload": _reload,
    "wait": _wait,
    "screenshot": _screenshot,
    "look": _screenshot,
    "pdf": _pdf,
    "read": _read,
    "images": _images,
    "downloads": _downloads,
    "console": _console,
    "frames": _frames,
    "dialog": _dialog,
    "tabs": _tabs,
    "close": _close_tab,
    "allow": _allow,
    "cdp": _cdp,
}
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "open": ("url",),
    "click": ("ref",),
    "type": ("ref",),
    "select": ("ref", "text"),
    "press": ("text",),
    "look": ("text",),
    "hover": ("ref",),
    "wait": ("text",),
    "cdp": ("method",),
    "fill": ("ref", "secret"),
    "save": ("number",),
    "upload": ("ref", "files"),
}
OTHERS = frozenset({"save", "secrets", "upload"})
"""What is done elsewhere."""
__all__ = ["MOST_WAIT_S", "OTHERS", "WORKS", "BrowserError", "PageAnswer", "await_download", "check_call", "tell_page"]
