"""What the caller decides, and the settings of one browser. The driver asks; it knows nothing of approvals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.browser.dialogs import ANSWER_S, DialogPolicy
from orchestrator.browser.downloads import PageDownload


class BrowserPolicy(Protocol):
    """Asked from the event loop. The first three must answer at once; the others may take as long as a person does."""

    def may_open(self, host: str) -> str | None:
        """Why a page of this host (lower case, without a port) may not be shown in a tab, or None where it may.

        Asked for every document of a main frame, more than once for each: what is opened, redirects, links, forms,
        pop-ups, scripts. Where it raises, the answer is no.
        """

    def note_pages(self, hosts: Collection[str]) -> None:
        """Tabs show pages of these hosts from now on, or are about to: told before a document is asked for that
        ``may_open`` allowed, so that nothing of it finds open what was only for the page before it."""

    def may_download(self, download: PageDownload) -> str | None:
        """Why a page may not give this file, or None. A small file may be there before it is cancelled: take only files
        that ``downloads()`` tells as completed."""

    async def may_upload(self, origin: str, paths: Sequence[str]) -> str | None:
        """Why these files (paths in the container) may not be given to a page of ``origin`` (``https://shop.test``), or
        None."""

    async def secret_for(self, name: str, origin: str) -> str:
        """The secret of this name, for a page of ``origin``.

        Raises:
            OrchestratorError: there is none for that origin, or the person said no.
        """


@dataclass(frozen=True)
class RemoteRules:
    """Of a browser that is somebody else's, and has a network of its own: no gate stands around it, so the driver
    judges each request that it is told of. Asked from the event loop, and answered at once."""

    may_load: Callable[[str], str | None]
    """Why pages that are open may load nothing from this host, or None. Where it raises, the answer is no."""
    may_reach: Callable[[str, int], str | None]
    """Why nobody may ask this host at this port, whatever was agreed to, or None."""
    take_whole: Callable[[], bool]
    """A browser that makes no contexts can be had by one at a time: whether this is the one."""
    note_context: Callable[[str], None]
    """Told of the context that was made, so that it is disposed of even if we die."""
    context: str = ""
    """One that was made before, whose pages are to be found again; empty: one is made."""


@dataclass(frozen=True)
class DriverSettings:
    """Of one browser."""

    dialog_policy: DialogPolicy = DialogPolicy.MUST_RESPOND
    dialog_answer_s: float = ANSWER_S
    uses_dialog_bridge: bool = False
    """Pages ask us by a request instead of the browser: for backends that close dialogs by themselves."""
    remote: RemoteRules | None = None
    """The browser is somebody else's; None: it is ours alone, behind a gate."""
    download_dir: str = "/helper/out"
    """In the container."""
    width: int = 1280
    height: int = 800
    """Of the page, in CSS pixels."""
    open_s: float = 20.0
    """How long a page may load before what is there is shown."""
    deed_s: float = 10.0
    """How long a page may take for one click or key."""
    settle_s: float = 5.0
    """How long it is waited for what a deed set in motion."""
    upload_dirs: tuple[str, ...] = ("/helper/in",)
    """In the container; what may be handed to pages is beneath one of them."""
