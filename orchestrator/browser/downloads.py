"""What pages give to download. The browser writes into a folder of its container, under a name that is no page's."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from orchestrator.browser.fields import Fields, count_of, text_of

MAX_DOWNLOADS = 50
MAX_DOWNLOAD_BYTES = 100_000_000
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
    """``inProgress``, ``completed`` or ``canceled``."""
    size_bytes: int
    refusal: str = ""


class PageDownloads:
    """The last ones, the oldest first."""

    def __init__(self, judge: Callable[[PageDownload], str | None], cancel: Callable[[str], None]) -> None:
        """``judge`` says why a download may not be, or None; ``cancel`` tells the browser to end the one of a GUID."""
        self._judge = judge
        self._cancel = cancel
        self._files: dict[str, PageDownload] = {}

    @property
    def files(self) -> tuple[PageDownload, ...]:
        """All that are remembered."""
        return tuple(self._files.values())

    def take_begin(self, fields: Fields) -> None:
        """The browser tells of a new one."""
        guid = text_of(fields, "guid", most=100)
        if not _GUID.fullmatch(guid) or guid in self._files:
            return
        while len(self._files) >= MAX_DOWNLOADS:
            del self._files[next(iter(self._files))]
        one = PageDownload(
            guid, text_of(fields, "suggestedFilename", most=255), text_of(fields, "url", most=2000), "inProgress", 0
        )
        self._files[guid] = one
        refusal = self._judge(one)
        if refusal is not None:
            self._refuse(one, refusal)

    def take_progress(self, fields: Fields) -> None:
        """The browser tells how far one is."""
        one = self._files.get(text_of(fields, "guid", most=100))
        if one is None or one.refusal:
            return
        one = replace(one, state=text_of(fields, "state", most=20), size_bytes=count_of(fields, "receivedBytes"))
        self._files[one.guid] = one
        if max(one.size_bytes, count_of(fields, "totalBytes")) > MAX_DOWNLOAD_BYTES:
            self._refuse(one, f"it is over {MAX_DOWNLOAD_BYTES // 1_000_000} MB")

    def _refuse(self, one: PageDownload, refusal: str) -> None:
        self._files[one.guid] = replace(one, refusal=refusal, state="canceled")
        self._cancel(one.guid)
