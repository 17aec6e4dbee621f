"""``orchestrator.browser.downloads``: what pages give is numbered, bounded, and of somebody."""

from __future__ import annotations

import pytest

from orchestrator.browser.downloads import MAX_DOWNLOAD_BYTES, MAX_DOWNLOADS, MAX_WAITING, PageDownload, PageDownloads


class Giving:
    """Downloads, with what was cancelled."""

    def __init__(self, *, page: str = "https://shop.test/page") -> None:
        self.cancelled: list[str] = []
        self.downloads = PageDownloads(lambda _: None, self.cancelled.append, lambda _: page)

    def begin(self, number: int, url: str = "https://shop.test/f") -> str:
        """The browser tells of one."""
        guid = f"guid-{number:06}"
        self.downloads.take_begin({"guid": guid, "suggestedFilename": "f", "url": url, "frameId": "a"})
        return guid

    def come(self, guid: str, size: int, *, total: int = 0, state: str = "completed") -> None:
        """So much is there."""
        self.downloads.take_progress({"guid": guid, "receivedBytes": size, "totalBytes": total, "state": state})

    def get(self, guid: str) -> PageDownload:
        """It as it stands."""
        return next(one for one in self.downloads.files if one.guid == guid)


@pytest.mark.parametrize(
    ("url", "page", "host"),
    [
        ("https://Shop.test/f", "https://other.test/", "shop.test"),
        ("blob:https://shop.test/123", "https://other.test/", "shop.test"),
        ("data:text/plain,x", "https://shop.test/", "shop.test"),
        ("blob:null/123", "https://shop.test/", "shop.test"),
        ("data:text/plain,x", "about:blank", ""),
        ("file:///etc/passwd", "", ""),
        ("https://[", "", ""),
    ],
)
def test_a_file_is_of_somebody(url: str, page: str, host: str) -> None:
    """The host of its address, else of the page; where neither has one, nobody's."""
    giving = Giving(page=page)
    assert giving.get(giving.begin(1, url)).host == host


def test_so_many_wait_at_most() -> None:
    """More are refused until one is taken; numbers are never used twice, and few are remembered."""
    giving = Giving()
    for number in range(MAX_WAITING):
        giving.come(giving.begin(number), 1)
    refused = giving.begin(100)
    assert "waiting already" in giving.get(refused).refusal
    assert giving.cancelled == [refused]
    giving.downloads.take_away("guid-000000")
    assert giving.get("guid-000000").state == "taken"
    assert giving.get(giving.begin(101)).refusal == ""
    for number in range(200, 200 + 2 * MAX_DOWNLOADS):
        giving.begin(number)
    files = giving.downloads.files
    assert len(files) <= MAX_DOWNLOADS
    assert sum(one.is_waiting for one in files) == MAX_WAITING
    assert len({one.number for one in files}) == len(files)
    assert giving.downloads.begun == files[-1].number


def test_so_much_waits_at_most() -> None:
    """One file, and all together."""
    giving = Giving()
    large = giving.begin(1)
    giving.come(large, 1, total=MAX_DOWNLOAD_BYTES + 1, state="inProgress")
    assert "over 100 MB" in giving.get(large).refusal
    first, second = giving.begin(2), giving.begin(3)
    giving.come(first, MAX_DOWNLOAD_BYTES - 10)
    giving.come(second, 11, state="inProgress")
    assert "with the files that wait" in giving.get(second).refusal
    giving.come(second, 5)
    assert giving.get(second).state == "canceled"
    giving.downloads.take_away(first)
    third = giving.begin(4)
    giving.come(third, 11)
    assert giving.get(third).is_waiting
    assert giving.cancelled == [large, second]
