"""What pages give to download. The browser writes into a folder of its container, under a name that is no page's."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from orchestrator.browser.fields import Fields, count_of, text_of

MAX_DOWNLOADS = 50
MAX_WAITING = 20
"""Files that nobody has taken yet."""
MAX_DOWNLOAD_BYTES = 100_000_000
"""Of one file, and of all that nobody has taken yet."""
_GUID = re.compile(r"[A-Za-z0-9-]{8,64}")


@dataclass(frozen=True)
class PageDownload:
    """One file."""

    guid: str
    """The name of the file in the folder of downloads: letters, digits and hyphens."""
    suggested_name: str
    """A page's wish. Never a path of ours."""
    url: str
    state: str
    """``inProgress``, ``completed`` or ``canceled``; of one that was taken out of the folder ``taken``."""
    size_bytes: int
    refusal: str = ""
    number: int = 0
    """For the agent; never used twice."""
    page_url: str = ""
    """What the page's tab showed when the file began."""

    @property
    def host(self) -> str:
        """Whose file it is: the host of its address, or of the page where a script made it; empty where that is not
        known."""
        return _host_of(self.url) or _host_of(self.page_url)

    @property
    def is_waiting(self) -> bool:
        """It comes, or is there to be taken."""
        return not self.refusal and self.state in ("inProgress", "completed")


class PageDownloads:
    """The last ones, the oldest first."""

    def __init__(
        self,
        judge: Callable[[PageDownload], str | None],
        cancel: Callable[[str], None],
        page_of: Callable[[str], str] = lambda _frame: "",
    ) -> None:
        """``judge`` says why a download may not be, or None; ``cancel`` tells the browser to end the one of a GUID;
        ``page_of`` what the tab of a frame shows."""
        self._judge = judge
        self._cancel = cancel
        self._page_of = page_of
        self._files: dict[str, PageDownload] = {}
        self.begun = 0
        """So many there were."""

    @property
    def files(self) -> tuple[PageDownload, ...]:
        """All that are remembered."""
        return tuple(self._files.values())

    def take_begin(self, fields: Fields) -> None:
        """The browser tells of a new one."""
        guid = text_of(fields, "guid", most=100)
        if not _GUID.fullmatch(guid) or guid in self._files:
            return
        waiting = [one for one in self._files.values() if one.is_waiting]
        while len(self._files) >= MAX_DOWNLOADS:
            del self._files[next(guid for guid, one in self._files.items() if not one.is_waiting)]
        self.begun += 1
        one = PageDownload(
            guid,
            text_of(fields, "suggestedFilename", most=255),
            text_of(fields, "url", most=2000),
            "inProgress",
            0,
            number=self.begun,
            page_url=self._page_of(text_of(fields, "frameId", most=100)),
        )
        self._files[guid] = one
        refusal = f"{MAX_WAITING} files are waiting already" if len(waiting) >= MAX_WAITING else self._judge(one)
        if refusal is not None:
            self._refuse(one, refusal)

    def take_progress(self, fields: Fields) -> None:
        """The browser tells how far one is."""
        one = self._files.get(text_of(fields, "guid", most=100))
        if one is None or one.refusal:
            return
        one = replace(one, state=text_of(fields, "state", most=20), size_bytes=count_of(fields, "receivedBytes"))
        self._files[one.guid] = one
        size = max(one.size_bytes, count_of(fields, "totalBytes"))
        others = sum(other.size_bytes for other in self._files.values() if other.is_waiting and other.guid != one.guid)
        if size > MAX_DOWNLOAD_BYTES:
            self._refuse(one, f"it is over {MAX_DOWNLOAD_BYTES // 1_000_000} MB")
        elif size + others > MAX_DOWNLOAD_BYTES:
            self._refuse(one, f"with the files that wait it would be over {MAX_DOWNLOAD_BYTES // 1_000_000} MB")

    def take_away(self, guid: str) -> None:
        """The file is not in the folder any more: somebody has it."""
        one = self._files.get(guid)
        if one is not None and one.is_waiting:
            self._files[guid] = replace(one, state="taken")

    def _refuse(self, one: PageDownload, refusal: str) -> None:
        self._files[one.guid] = replace(one, refusal=refusal, state="canceled")
        self._cancel(one.guid)


def _host_of(url: str) -> str:
    """Of an address, or of the page that an address of a script's file names."""
    try:
        parts = urlsplit(url.removeprefix("blob:"))
        return (parts.hostname or "").lower() if parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""
