"""The frames of pages: which page, process and parent each has, and the isolated world that we work in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from orchestrator.browser.fields import Fields, child_of, count_of, objects_of, text_of

MAX_TOLD = 30
MAX_KEPT = 300
MAX_FRAME_DEPTH = 2
"""Processes within processes that are attached to. What is deeper is on the page, but not in what we see."""


@dataclass
class PageFrame:
    """One frame of a page; the page itself is one."""

    id: str
    parent: str
    session: str
    """Of the process that it lives in; empty while it changes from one to another."""
    url: str = ""
    name: str = ""
    is_remote: bool = False
    """It lives in another process than the page."""
    depth: int = 0
    world: int = 0
    """Our isolated world, where there is one."""


@dataclass(frozen=True)
class FrameView:
    """A frame as the agent is told of it."""

    frame_id: str
    parent: str
    url: str
    name: str
    is_oopif: bool
    """It lives in a process of its own."""
    depth: int


@dataclass(frozen=True)
class FrameTree:
    """The frames of a page."""

    frames: tuple[FrameView, ...]
    left_out: int


class Frames:
    """Every frame that is known."""

    def __init__(self, depth_of: Callable[[str], int]) -> None:
        """``depth_of``: how deep the process of a session lies below the page's, 0 for the page's own."""
        self._frames: dict[str, PageFrame] = {}
        self._depth_of = depth_of

    def __iter__(self) -> Iterator[PageFrame]:
        return iter(list(self._frames.values()))

    def get(self, frame_id: str) -> PageFrame | None:
        """It, where it is known."""
        return self._frames.get(frame_id)

    def ensure(self, frame_id: str, session: str) -> PageFrame:
        """It, made where the browser has not told of it yet."""
        there = self._frames.get(frame_id)
        if there is None:
            there = self._frames[frame_id] = PageFrame(frame_id, "", session, depth=self._depth_of(session))
        return there

    def take(self, fields: Fields, session: str, parent: str = "") -> None:
        """The browser tells what a frame shows now: a new document."""
        frame_id = text_of(fields, "id", most=100)
        if not frame_id or (frame_id not in self._frames and len(self._frames) >= MAX_KEPT):
            return
        frame = self.ensure(frame_id, session)
        frame.url = (text_of(fields, "url") + text_of(fields, "urlFragment"))[:4096]
        frame.name = text_of(fields, "name", most=200) or frame.name
        frame.parent = frame.parent or parent or text_of(fields, "parentId", most=100)
        frame.session, frame.world = session, 0
        frame.depth = self._depth_of(session)
        frame.is_remote = frame.depth > 0

    def take_tree(self, fields: Fields, session: str) -> None:
        """The browser tells all frames of one process."""
        left = [(child_of(fields, "frameTree"), "")]
        while left:
            node, parent = left.pop(0)
            self.take(child_of(node, "frame"), session, parent)
            here = text_of(node, "frame", "id", most=100)
            left += [(inner, here) for inner in objects_of(node, "childFrames", most=MAX_KEPT)][:MAX_KEPT]

    def take_process(self, frame_id: str, parent: str, url: str, session: str) -> None:
        """A frame has moved into a process of its own."""
        if frame_id in self._frames or len(self._frames) < MAX_KEPT:
            frame = self.ensure(frame_id, session)
            frame.session, frame.world, frame.is_remote = session, 0, True
            frame.depth = self._depth_of(session)
            frame.parent, frame.url = frame.parent or parent, frame.url or url

    def take_url(self, fields: Fields) -> None:
        """The address changed, the document did not."""
        frame = self._frames.get(text_of(fields, "frameId", most=100))
        if frame is not None:
            frame.url = text_of(fields, "url")

    def take_detached(self, fields: Fields, session: str) -> None:
        """A frame is gone, unless it only changes processes."""
        frame = self._frames.get(text_of(fields, "frameId", most=100))
        if frame is None or text_of(fields, "reason") == "swap" or (frame.is_remote and frame.session != session):
            return
        del self._frames[frame.id]

    def forget_worlds(self, session: str, world: int = 0) -> None:
        """The process has ended all worlds, or the one that is given."""
        for frame in self._frames.values():
            if frame.session == session and world in (0, frame.world):
                frame.world = 0

    def take_world_end(self, fields: Fields, session: str) -> None:
        """The browser tells that one world ended."""
        world = count_of(fields, "executionContextId")
        if world:
            self.forget_worlds(session, world)

    def leave_session(self, session: str) -> None:
        """A process is gone. Its frames stay known: they may be on the way to another one."""
        for frame in self._frames.values():
            if frame.session == session:
                frame.session, frame.world = "", 0

    def forget_homeless(self) -> None:
        """A page was closed: whatever lives nowhere now was part of it."""
        self._frames = {key: frame for key, frame in self._frames.items() if frame.session}

    def of_sessions(self, is_of: Callable[[str], bool]) -> list[PageFrame]:
        """The frames that live in these sessions."""
        return [frame for frame in self._frames.values() if frame.session and is_of(frame.session)]

    def tree(self, is_of: Callable[[str], bool]) -> FrameTree:
        """The frames in these sessions, as the agent is told of them."""
        mine = self.of_sessions(is_of)
        shown = tuple(
            FrameView(one.id, one.parent, one.url[:300], one.name, one.is_remote, one.depth) for one in mine[:MAX_TOLD]
        )
        return FrameTree(shown, len(mine) - len(shown))
