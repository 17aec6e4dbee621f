"""Taking the text of a page with all its frames, and finding elements again by the refs in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.browser.faults import BrowserError, BrowserSlow, DialogWaits
from orchestrator.browser.fields import Fields, child_of, count_of, is_set, objects_of, text_of
from orchestrator.browser.frames import MAX_TOLD, Frames, PageFrame
from orchestrator.browser.page_calls import PageCalls, as_script
from orchestrator.browser.supervisor import BrowserSupervisor

_MAX_NESTING = 4
_MAX_TEXT = 3_000_000
"""Characters of all frames of a page."""
_ADOPTIONS = 3
"""Closed shadow roots within closed shadow roots."""
_REF = re.compile(r"(f[1-9]\d{0,5})?(e[1-9]\d{0,7})")


@dataclass(frozen=True)
class PageText:
    """A page, all of it."""

    text: str
    title: str
    url: str
    document: str
    """Names the document; another one after each navigation."""
    scroll: tuple[int, int, int]
    """Where the window is, how tall the page and the window are, in CSS pixels."""
    is_cut: bool
    """The page is so large that the end of it is missing."""
    is_exposed: bool
    """A field with a secret in it shows it."""


@dataclass(frozen=True)
class FoundElement:
    """An element behind a ref."""

    ref: str
    frame: PageFrame
    handle: str


class Snapshots:
    """Of the tab in front."""

    def __init__(self, supervisor: BrowserSupervisor, calls: PageCalls) -> None:
        self._frames: Frames = supervisor.frames
        self._calls = calls
        self._prefixes: dict[str, str] = {}
        """What refs in a frame begin with, by frame."""
        self._last_prefix = 0

    async def take(self, *, shows_urls: bool = False) -> PageText:
        """The page in front.

        Raises:
            DialogWaits, BrowserError, BrowserSlow, BrowserLost: as ``PageCalls.call``.
        """
        tab, frame = self._calls.tab(), self._calls.main_frame()
        self._prefixes = {key: one for key, one in self._prefixes.items() if self._frames.get(key)}
        budget = _Budget()
        shot = await self._shoot(frame, "", shows_urls=shows_urls)
        text = await self._compose(frame, shot, budget, 0, shows_urls=shows_urls)
        scroll = [count_of({"n": one}, "n") for one in _list_of(shot, "scroll")[:3]]
        return PageText(
            text=text[:_MAX_TEXT],
            title=text_of(shot, "title", most=500),
            url=frame.url or tab.url,
            document=tab.document,
            scroll=(scroll[0], scroll[1], scroll[2]) if len(scroll) == 3 else (0, 0, 0),
            is_cut=is_set(shot, "isCut") or budget.is_cut or len(text) > _MAX_TEXT,
            is_exposed=budget.is_exposed,
        )

    async def find(self, ref: str) -> FoundElement:
        """The element behind a ref of the tab in front.

        Raises:
            BrowserError: it is no ref, or the element is gone; and as ``PageCalls.call``.
        """
        parts = _REF.fullmatch(ref)
        if parts is None:
            raise BrowserError(f"{ref[:40]!r} is no ref. Refs look like e12 or f2e3 and stand in the snapshot.")
        frame: PageFrame | None = self._calls.main_frame()
        if parts[1]:
            frame_id = next((key for key, one in self._prefixes.items() if one == parts[1]), "")
            frame = self._frames.get(frame_id)
        if frame is None or not frame.session:
            raise BrowserError(f"{ref}: its frame is gone. Take a new snapshot.")
        handle = await self._calls.object_of(frame, f"hermitRef({as_script(parts[2])})")
        if not handle:
            raise BrowserError(f"{ref} is not on the page any more. Take a new snapshot.")
        return FoundElement(ref, frame, handle)

    async def _shoot(self, frame: PageFrame, prefix: str, *, shows_urls: bool) -> Fields:
        script = f"hermitSnapshot({as_script({'urls': shows_urls, 'prefix': prefix})})"
        shot = child_of({"shot": await self._calls.evaluate(frame, script)}, "shot")
        for _ in range(_ADOPTIONS):
            hosts = count_of(shot, "hosts")
            if not hosts or not await self._adopt(frame, hosts):
                break
            shot = child_of({"shot": await self._calls.evaluate(frame, script)}, "shot")
        self._calls.remember_refs(self._calls.tab(), count_of(shot, "refs"))
        return shot

    async def _adopt(self, frame: PageFrame, hosts: int) -> bool:
        """Open the closed shadow roots among the elements that may have one; whether there was any."""
        has_any = False
        for number in range(min(hosts, 100)):
            host = await self._calls.object_of(frame, f"hermitHosts[{number}]")
            if not host:
                continue
            node = await self._calls.call("DOM.describeNode", frame.session, {"objectId": host})
            for root in objects_of(node, "node", "shadowRoots", most=5):
                if text_of(root, "shadowRootType") == "closed":
                    await self._open_root(frame, host, count_of(root, "backendNodeId"))
                    has_any = True
        return has_any

    async def _open_root(self, frame: PageFrame, host: str, node: int) -> None:
        where = {"backendNodeId": node, "executionContextId": await self._calls.world_of(frame)}
        found = await self._calls.call("DOM.resolveNode", frame.session, where)
        root = text_of(found, "object", "objectId", most=200)
        params = {
            "objectId": host,
            "functionDeclaration": "function(root){hermitAdopt(this,root)}",
            "arguments": [{"objectId": root}],
        }
        await self._calls.call("Runtime.callFunctionOn", frame.session, params)

    async def _compose(self, frame: PageFrame, shot: Fields, budget: _Budget, depth: int, *, shows_urls: bool) -> str:
        """The pieces of a frame, with the frames between them."""
        budget.is_exposed = budget.is_exposed or is_set(shot, "isExposed")
        pieces, inner = _list_of(shot, "pieces"), objects_of(shot, "frames", most=MAX_TOLD)
        parts: list[str] = []
        for n, piece in enumerate(pieces[: 2 * MAX_TOLD + 1]):
            if not isinstance(piece, str):
                continue
            if n % 2 == 0:
                parts += [piece] if piece else []
            elif piece.isdecimal() and len(piece) < 4 and int(piece) < len(inner):
                margin = "  " * min(count_of(inner[int(piece)], "indent"), 6)
                lines = await self._inner(frame, int(piece), inner[int(piece)], budget, depth, shows_urls=shows_urls)
                parts += [margin + line for line in lines]
        return "\n".join(parts)

    async def _inner(
        self, frame: PageFrame, number: int, told: Fields, budget: _Budget, depth: int, *, shows_urls: bool
    ) -> list[str]:
        """The lines of a frame within a frame."""
        name = text_of(told, "name", most=80)
        head = f"[frame {name}]" if name else "[frame]"
        if depth >= _MAX_NESTING or not budget.take_frame():
            return [f"{head} (not shown)"]
        try:
            child = await self._child(frame, number)
            if child is None:
                return [f"{head} (not loaded)"]
            shot = await self._shoot(child, self._prefix_of(child), shows_urls=shows_urls)
            text = await self._compose(child, shot, budget, depth + 1, shows_urls=shows_urls)
        except (DialogWaits, BrowserSlow):
            raise
        except BrowserError:
            return [f"{head} (not loaded)"]  # it went while we looked
        head = head if name else f"[frame {child.url[:80]}]"
        if not budget.take_text(len(text)):
            return [f"{head} (not shown)"]
        return [head, *(f"  {line}" for line in text.split("\n") if line)]

    async def _child(self, frame: PageFrame, number: int) -> PageFrame | None:
        handle = await self._calls.object_of(frame, f"hermitFrames[{number}]")
        if not handle:
            return None
        node = await self._calls.call("DOM.describeNode", frame.session, {"objectId": handle})
        child = self._frames.get(text_of(node, "node", "frameId", most=100))
        return child if child is not None and child.session else None

    def _prefix_of(self, frame: PageFrame) -> str:
        if frame.id not in self._prefixes:
            self._last_prefix += 1
            self._prefixes[frame.id] = f"f{self._last_prefix}"
        return self._prefixes[frame.id]


class _Budget:
    """Of one snapshot."""

    def __init__(self) -> None:
        self._frames, self._chars = MAX_TOLD, _MAX_TEXT
        self.is_cut = self.is_exposed = False

    def take_frame(self) -> bool:
        self._frames -= 1
        self.is_cut = self.is_cut or self._frames < 0
        return self._frames >= 0

    def take_text(self, chars: int) -> bool:
        self._chars -= chars
        self.is_cut = self.is_cut or self._chars < 0
        return self._chars >= 0


def _list_of(fields: Fields, name: str) -> list[object]:
    found = fields.get(name)
    return found if isinstance(found, list) else []
