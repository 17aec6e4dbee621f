"""Files that come in through a chat: fetched, stored in the agent's ``in/``, and described for the message.

Only what an allowed person sent gets here. A file goes into a nameless private file first, so that nothing half
fetched is ever seen; its name, its kind and its size as the app tells them are believed by nobody.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from orchestrator.channels.chat.adapter import ChannelAdapter, ChannelTraits
from orchestrator.channels.chat.events import IncomingFile
from orchestrator.channels.chat.send_errors import FileTooBig, FloodWait, SendRefused, Unreachable
from orchestrator.channels.chat.system_text import format_size
from orchestrator.core.audit import Audit
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CubicleKey
from orchestrator.core.text import one_line
from orchestrator.files.attachments import Attachment
from orchestrator.files.mime_types import HEAD_BYTES, type_of
from orchestrator.files.models import Stored
from orchestrator.files.workspace import Workspaces

logger = logging.getLogger(__name__)

_IN_MEMORY_BYTES = 1 << 20
_NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class ReceivedFiles:
    """What became of a message's files."""

    attachments: tuple[Attachment, ...] = ()
    trouble: tuple[str, ...] = ()
    """One sentence for each that could not be taken."""


@dataclass(frozen=True, slots=True)
class FetchPatience:
    """How long a file is tried while the app can't be reached."""

    whole_s: float = 120.0
    first_pause_s: float = 1.0
    longest_pause_s: float = 20.0


class InboundFiles:
    """Takes in the files of messages, one after the other."""

    def __init__(
        self,
        *,
        traits: ChannelTraits,
        workspaces: Workspaces,
        audit: Audit,
        room: Callable[[CubicleKey], int],
        adapter_of: Callable[[str], ChannelAdapter | None],
        patience: FetchPatience = FetchPatience(),
    ) -> None:
        """``room``: how many bytes a new file may have in this workspace; ``adapter_of`` is None while an agent has no
        bot that runs."""
        self._traits = traits
        self._workspaces = workspaces
        self._audit = audit
        self._room = room
        self._adapter_of = adapter_of
        self._patience = patience

    async def fetch_files(self, key: CubicleKey, files: Sequence[IncomingFile]) -> ReceivedFiles:
        """All of them, as far as they can be had. Raises TokenRevoked when the bot can't fetch anything any more."""
        attachments: list[Attachment] = []
        trouble: list[str] = []
        for file in files:
            outcome = await self._fetch_one(key, file)
            if isinstance(outcome, Attachment):
                attachments.append(outcome)
            else:
                trouble.append(outcome)
        return ReceivedFiles(tuple(attachments), tuple(trouble))

    async def _fetch_one(self, key: CubicleKey, file: IncomingFile) -> Attachment | str:
        """The file in the workspace, or a sentence that says why it is not there."""
        shown = one_line(file.name, _NAME_CHARS)
        try:
            room = await asyncio.to_thread(self._room, key)
            if file.size_bytes > self._traits.download_bytes:
                return self._too_big(shown, key, file.size_bytes)
            if room <= 0 or file.size_bytes > room:
                return f"{shown} doesn't fit in {key.agent}'s workspace: only {format_size(room)} left."
            with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as spool:
                await self._download_file(key, file, spool, min(room, self._traits.download_bytes))
                return await asyncio.to_thread(self._store_file, key, file, spool)
        except FileTooBig:
            return self._too_big(shown, key, file.size_bytes)
        except Unreachable:
            return f"{shown} could not be downloaded: {self._traits.label} can't be reached. Send it again later."
        except SendRefused as error:
            logger.warning("a file for %s was refused: %s", key, error)
            return f"{shown} could not be downloaded: {self._traits.label} no longer has it. Send it again."
        except OrchestratorError as error:
            return f"{shown} could not be stored. {error.message}"
        except OSError as error:
            logger.warning("a file for %s could not be taken: %s", key, error)
            return f"{shown} could not be saved because of a disk error. './hermit doctor' shows more."

    async def _download_file(self, key: CubicleKey, file: IncomingFile, spool: IO[bytes], most_bytes: int) -> None:
        """The whole file, tried again for a while; raises Unreachable when that doesn't help."""
        until, pause_s = time.monotonic() + self._patience.whole_s, self._patience.first_pause_s
        while True:
            try:
                return await self._fetch_once(key.agent, file, spool, most_bytes)
            except (Unreachable, FloodWait) as error:
                wait_s = max(pause_s, error.retry_after_s) if isinstance(error, FloodWait) else pause_s
                if time.monotonic() + wait_s > until:
                    raise Unreachable("tried for long", may_have_arrived=False) from error
                await asyncio.sleep(wait_s)
                pause_s = min(2 * pause_s, self._patience.longest_pause_s)

    async def _fetch_once(self, agent: str, file: IncomingFile, spool: IO[bytes], most_bytes: int) -> None:
        spool.seek(0)
        spool.truncate()
        line = self._adapter_of(agent)
        if line is None:
            raise Unreachable("the bot does not run", may_have_arrived=False)
        await line.download_file(file.file_id, spool, most_bytes)

    def _store_file(self, key: CubicleKey, file: IncomingFile, spool: IO[bytes]) -> Attachment:
        spool.seek(0)
        head = spool.read(HEAD_BYTES)
        spool.seek(0)
        stored = self._workspaces.write_in(key, file.name, spool, max_bytes=self._traits.download_bytes)
        self._audit_file(key, stored)
        return Attachment(f"in/{stored.name}", stored.size_bytes, type_of(stored.name, head))

    def _audit_file(self, key: CubicleKey, stored: Stored) -> None:
        """No file stays that the audit log does not know."""
        path = f"in/{stored.name}"
        text = f"{path} came in through {self._traits.label} ({stored.size_bytes:,} bytes)."
        try:
            self._audit.record_event(
                "file.uploaded", text, key, path=path, size=stored.size_bytes, sha256=stored.sha256
            )
        except OrchestratorError:
            self._workspaces.delete_path(key, (b"in", stored.name.encode()))
            raise

    def _too_big(self, shown: str, key: CubicleKey, size_bytes: int) -> str:
        app = self._traits
        is_how_big = f" ({format_size(size_bytes)})" if size_bytes else ""
        return (
            f"{shown}{is_how_big} is too big: a bot may fetch at most {app.download_limit} from {app.label}. "
            f"Bring it in with the dashboard, or with './hermit files put {key.agent} FILE'."
        )
