"""``channels.chat.inbound_files``: files from Telegram land in ``in/`` whole or not at all, and each failure is a
sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

from orchestrator.channels.chat.events import IncomingFile
from orchestrator.channels.chat.inbound_files import FetchPatience, InboundFiles, ReceivedFiles
from orchestrator.channels.chat.send_errors import FloodWait, SendRefused, TokenRevoked, Unreachable
from orchestrator.channels.telegram.channel import TRAITS
from orchestrator.channels.telegram.client import TelegramClient
from orchestrator.core.audit import Audit
from orchestrator.core.errors import Unavailable
from tests.support.bot_api import BotApi, Person
from tests.support.core_fixture import KEY, CoreFixture, core_fixture

_FAST = FetchPatience(whole_s=1.0, first_pause_s=0.01, longest_pause_s=0.02)
_OF_KIND = ("document", "photo", "voice", "audio", "video", "sticker")


@dataclass
class Scene:
    """A bot, its owner, and a workspace."""

    api: BotApi
    install: CoreFixture
    token: str
    ada: Person
    room: int = 1 << 30
    lines: list[Any] = field(default_factory=list)

    def take(self, *files: IncomingFile, line: Any = None) -> ReceivedFiles:
        """What becomes of these files."""

        async def run(fetching: Any) -> ReceivedFiles:
            return await self.inbound_files(fetching).fetch_files(KEY, files)

        return asyncio.run(run(line)) if line is not None else asyncio.run(self.with_line(run))

    async def with_line(self, run: Callable[[TelegramClient], Awaitable[ReceivedFiles]]) -> ReceivedFiles:
        """On the bot's line."""
        line = TelegramClient(self.token, api_url=self.api.url)
        await line.open()
        try:
            return await run(line)
        finally:
            await line.close()

    def inbound_files(self, line: Any) -> InboundFiles:
        """What takes files in."""
        return InboundFiles(
            traits=TRAITS,
            workspaces=self.install.workspaces,
            audit=Audit(self.install.store),
            room=lambda _: self.room,
            adapter_of=lambda _: line if line != "none" else None,
            patience=_FAST,
        )

    def inside(self) -> dict[str, bytes]:
        """What lies in ``in/``."""
        folder = self.install.home / "workspaces" / "crab" / "1" / "in"
        return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A server and a database."""
    with BotApi() as api, core_fixture(tmp_path / "home") as install:
        yield Scene(api, install, api.bot("Crab"), api.person(42))


def _sent(message: dict[str, Any], kind: str, name: str, size: int | None = None) -> IncomingFile:
    told = message[kind][-1] if kind == "photo" else message[kind]
    return IncomingFile(told["file_id"], name, kind, told["file_size"] if size is None else size)


@pytest.mark.parametrize("kind", _OF_KIND)
def test_each_kind_lies_in_the_workspace(scene: Scene, kind: str) -> None:
    """With its bytes, its size, a type that its bytes tell, and a row of the audit log."""
    content = b"\x89PNG\r\n\x1a\n and so on"
    more = ("a.bin", content) if kind == "document" else (content,)
    message = getattr(scene.ada, f"sends_{kind}")(scene.token, *more)
    arrived = scene.take(_sent(message, kind, "a.bin"))
    assert [(one.path, one.size_bytes, one.type) for one in arrived.attachments] == [
        ("in/a.bin", len(content), "image/png")
    ]
    assert scene.inside() == {"a.bin": content}
    assert [row.detail["path"] for row in scene.install.audited("file.uploaded")] == ["in/a.bin"]


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "CON", "ä" * 300, "", ".", "a\nb", "-rf", "evil\u202efdp.exe"])
def test_whatever_it_is_called_it_stays_inside(scene: Scene, name: str) -> None:
    """Names are data; two of the same name are two files."""
    message = scene.ada.sends_document(scene.token, "x", b"content")
    arrived = scene.take(*[_sent(message, "document", name)] * 2)
    assert len(arrived.attachments) == 2
    assert list(scene.inside().values()) == [b"content"] * 2
    assert not any(set(found) & set("/\n\u202e") or found.startswith((".", "-")) for found in scene.inside())


def test_over_the_limit_is_said_and_never_asked_for(scene: Scene) -> None:
    """With the way that works; a file that only turns out to be too big is the same."""
    told = scene.ada.sends_document(scene.token, "big.zip", b"x", size=21 << 20)
    hidden = scene.ada.sends_document(scene.token, "sly.zip", b"x", size=21 << 20)
    arrived = scene.take(_sent(told, "document", "big.zip"))
    assert not scene.api.calls("getFile")
    assert arrived.attachments == ()
    assert arrived.trouble[0] == (
        "big.zip (21 MB) is too big: a bot may fetch at most 20 MB from Telegram. "
        "Bring it in with the dashboard, or with './hermit files put crab FILE'."
    )
    assert "sly.zip is too big" in scene.take(_sent(hidden, "document", "sly.zip", 0)).trouble[0]
    assert scene.inside() == {}


def test_one_that_fails_does_not_take_the_others_along(scene: Scene) -> None:
    """What could be had is there."""
    good = scene.ada.sends_document(scene.token, "good.txt", b"good")
    arrived = scene.take(IncomingFile("unknown", "lost.txt", "document", 5), _sent(good, "document", "good.txt"))
    assert [one.path for one in arrived.attachments] == ["in/good.txt"]
    assert arrived.trouble == ("lost.txt could not be downloaded: Telegram no longer has it. Send it again.",)


def test_a_full_workspace_is_said(scene: Scene) -> None:
    """Before anything is fetched."""
    message = scene.ada.sends_document(scene.token, "a.txt", b"12345")
    scene.room = 4
    assert "a.txt doesn't fit" in scene.take(_sent(message, "document", "a.txt")).trouble[0]
    scene.room = -1
    assert "a.txt doesn't fit" in scene.take(_sent(message, "document", "a.txt", 0)).trouble[0]
    assert not scene.api.calls("getFile")


@pytest.mark.parametrize("method", ["getFile", "download"])
@pytest.mark.parametrize(
    "broken", [{"status": 502, "html": "<html>"}, {"status": 500}, {}], ids=["html", "500", "reset"]
)
def test_a_network_that_stumbles_is_tried_again(scene: Scene, method: str, broken: dict[str, Any]) -> None:
    """The file is whole all the same, and there once."""
    message = scene.ada.sends_document(scene.token, "a.txt", b"whole" * 1000)
    scene.api.fail_next(method, times=2, **broken)
    assert scene.take(_sent(message, "document", "a.txt")).trouble == ()
    assert scene.inside() == {"a.txt": b"whole" * 1000}


def test_a_network_that_is_gone_is_said_in_the_end(scene: Scene) -> None:
    """And nothing of the file is left behind."""
    message = scene.ada.sends_document(scene.token, "a.txt", b"x")
    scene.api.offline()
    assert scene.take(_sent(message, "document", "a.txt")).trouble == (
        "a.txt could not be downloaded: Telegram can't be reached. Send it again later.",
    )
    assert "can't be reached" in scene.take(_sent(message, "document", "a.txt"), line="none").trouble[0]
    assert scene.inside() == {}


class _Line:
    """Writes a part, fails as told, then writes the whole."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    async def download_file(self, file_id: str, sink: IO[bytes], max_bytes: int) -> int:
        """One of the errors, while there are some."""
        sink.write(b"part")
        if self.errors:
            raise self.errors.pop(0)
        return sink.write(b" and whole")


def test_half_a_download_is_not_kept_for_the_next_try(scene: Scene) -> None:
    """Each try begins at the beginning, after as long as Telegram says."""
    line = _Line(Unreachable("reset", may_have_arrived=False), FloodWait(0.02))
    assert scene.take(IncomingFile("F", "a.txt", "document", 0), line=line).trouble == ()
    assert scene.inside() == {"a.txt": b"part and whole"}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SendRefused("wrong file_id"), "no longer has it"),
        (FloodWait(3600), "can't be reached"),
        (OSError(28, "No space left on device"), "because of a disk error"),
        (Unavailable("The disk is full."), "could not be stored. The disk is full."),
    ],
)
def test_each_failure_has_its_sentence(scene: Scene, error: Exception, said: str) -> None:
    """And none of them shows what only a log should."""
    arrived = scene.take(IncomingFile("F", "a\u202e.txt", "document", 0), line=_Line(error))
    assert said in arrived.trouble[0]
    assert arrived.trouble[0].startswith("a\\u202e.txt ")
    assert scene.inside() == {}


def test_a_refused_token_is_for_others_to_handle(scene: Scene) -> None:
    """The message waits for a new one."""
    with pytest.raises(TokenRevoked):
        scene.take(IncomingFile("F", "a.txt", "document", 0), line=_Line(TokenRevoked()))


class _Large:
    """A line that brings a file of some megabytes, and sees where its bytes go."""

    is_on_disk = False

    async def download_file(self, file_id: str, sink: Any, max_bytes: int) -> int:
        """Piece by piece."""
        for _ in range(3):
            sink.write(b"x" * (1 << 20))
        self.is_on_disk = sink._rolled
        return 3 << 20


def test_a_large_file_is_never_in_memory_as_a_whole(scene: Scene) -> None:
    """It goes through a nameless file on the disk."""
    line = _Large()
    assert scene.take(IncomingFile("F", "large.bin", "document", 0), line=line).attachments[0].size_bytes == 3 << 20
    assert line.is_on_disk
    assert scene.inside() == {"large.bin": b"x" * (3 << 20)}
