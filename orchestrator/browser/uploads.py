"""Handing files and secrets to pages: the caller is told which page gets them, by the browser's own word, not the
page's."""

from __future__ import annotations

import asyncio
import posixpath
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from orchestrator.browser.faults import BrowserError
from orchestrator.browser.fields import text_of
from orchestrator.browser.frames import PageFrame
from orchestrator.browser.page_calls import PageCalls
from orchestrator.browser.pointer import PagePointer
from orchestrator.browser.policy import BrowserPolicy
from orchestrator.browser.snapshots import FoundElement
from orchestrator.browser.supervisor import BrowserSupervisor

MAX_FILES = 20
_CHOOSER_S = 3.0
_ANCESTORS = 10


class PageHandover:
    """To the tab in front."""

    def __init__(
        self, supervisor: BrowserSupervisor, calls: PageCalls, pointer: PagePointer, policy: BrowserPolicy
    ) -> None:
        self._supervisor = supervisor
        self._calls = calls
        self._pointer = pointer
        self._policy = policy

    async def upload(self, element: FoundElement, paths: Sequence[str]) -> None:
        """Give files to a field for files, or to what opens a choice of files when it is clicked.

        Raises:
            BrowserError: the paths are not in a folder of uploads, the caller says no, or the element takes no files;
                and as ``PageCalls.call``.
        """
        if self._supervisor.settings.remote is not None:
            raise BrowserError("A remote browser reads no files of this machine, so pages can be given none.")
        self._check_paths(paths)
        refusal = await self._policy.may_upload(await self.origin_of(element.frame), paths)
        if refusal is not None:
            raise BrowserError(f"The files were not given to the page: {refusal}")
        session, files = element.frame.session, {"files": list(paths)}
        is_field = await self._calls.run_on(element.frame, element.handle, "function(){return this.type==='file'}")
        if is_field is True:
            await self._calls.call("DOM.setFileInputFiles", session, {**files, "objectId": element.handle})
            return
        tab = self._calls.tab()
        tab.chooser = None
        await self._pointer.click(await self._pointer.point_of(element))
        deadline = time.monotonic() + _CHOOSER_S
        while tab.chooser is None:
            if time.monotonic() > deadline:
                raise BrowserError(f"{element.ref} takes no files: no choice of files opened.")
            await asyncio.sleep(0.02)
        where, node = tab.chooser
        tab.chooser = None
        if where != session:
            raise BrowserError(f"{element.ref}: another frame asked for the files, so it was given none.")
        await self._calls.call("DOM.setFileInputFiles", session, {**files, "backendNodeId": node})

    def _check_paths(self, paths: Sequence[str]) -> None:
        if not 1 <= len(paths) <= MAX_FILES:
            raise BrowserError(f"1 to {MAX_FILES} files may be given at once.")
        for path in paths:
            folders = [f"{folder.rstrip('/')}/" for folder in self._supervisor.settings.upload_dirs]
            if posixpath.normpath(path) != path or not path.startswith(tuple(folders)):
                raise BrowserError(f"{path[:200]!r} is not in a folder of uploads.")

    async def fill_secret(self, element: FoundElement, name: str) -> str:
        """Put the secret of this name into a field, and return it, so that it is never shown.

        Raises:
            OrchestratorError: there is none for this page, or the person said no.
            BrowserError: the field takes no text; and as ``PageCalls.call``.
        """
        origin = await self.origin_of(element.frame)
        secret = await self._policy.secret_for(name, origin)
        if await self.origin_of(element.frame) != origin:
            raise BrowserError("The page changed meanwhile, so the secret was not typed.")
        self._calls.tab().holds_secret = True
        done = await self._calls.run_on(element.frame, element.handle, _FILL, secret)
        if done != "done":
            raise BrowserError(f"{element.ref} is no field that a secret can be typed into.")
        return secret

    async def origin_of(self, frame: PageFrame) -> str:
        """``https://shop.test``: whose page a frame shows.

        Pages tell their frames' addresses themselves, so the browser is asked too, and both must say the same.

        Raises:
            BrowserError: the frame has no address of its own, or they differ.
        """
        root = frame
        for _ in range(_ANCESTORS):
            above = self._supervisor.frames.get(root.parent)
            if above is None or above.session != frame.session:
                break
            root = above
        answer = await self._supervisor.wire.call("Target.getTargetInfo", "", {"targetId": root.id})
        told, known = _origin(frame.url), _origin(text_of(answer, "targetInfo", "url"))
        if not told or told != known:
            raise BrowserError("It is not certain whose page this frame shows, so nothing was handed to it.")
        return told


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host:
        return ""
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "")


_FILL = """function(text) {
  const of = { INPUT: HTMLInputElement, TEXTAREA: HTMLTextAreaElement }[this.tagName];
  const isText = !/^(checkbox|radio|button|submit|reset|image|file|hidden|range|color)$/.test(this.type);
  if (!of || !isText || this.disabled || this.readOnly) return "no";
  hermitConceal(this);
  this.focus();
  Object.getOwnPropertyDescriptor(of.prototype, "value").set.call(this, text);
  for (const name of ["input", "change"]) this.dispatchEvent(new Event(name, { bubbles: true }));
  return "done";
}"""
