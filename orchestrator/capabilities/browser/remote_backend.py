"""The browser at ``HERMIT_BROWSER_CDP_URL``, in place of containers: who has a context there, written down before it is
used, so that the next start disposes of what a run that died left. What is allowed is what ``SiteAccess`` says."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.browser.faults import BrowserError, BrowserLost
from orchestrator.browser.fields import Fields
from orchestrator.browser.policy import DriverSettings, RemoteRules
from orchestrator.browser.remote_address import RemoteAddress
from orchestrator.browser.session import BrowserSession
from orchestrator.browser.web_socket import WebSocketTransport, open_web_socket
from orchestrator.browser.wire import Wire
from orchestrator.capabilities.browser.messages import REMOTE_FILES
from orchestrator.capabilities.browser.site_access import SiteAccess
from orchestrator.capabilities.capability import Caller, Outcome
from orchestrator.core.atomic_files import replace_file
from orchestrator.core.errors import Conflict, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.live_browsers.models import BrowserEnded, RemoteParts
from orchestrator.web.ip_rules import is_global, parse_address
from orchestrator.web.limits import Internet

logger = logging.getLogger(__name__)

_CLEARS_S = 10.0
_MOST_LEFT = 200
_WEB_PORTS = frozenset({80, 443})


class RemoteBackend:
    """One place with browsers, for all cubicles of an install."""

    def __init__(
        self,
        address: RemoteAddress,
        internet: Internet,
        record: Path,
        *,
        get_access: Callable[[CubicleKey], SiteAccess],
        private_hosts: frozenset[tuple[str, int]],
    ) -> None:
        """``record``: the file of the contexts that are there."""
        self.address = address
        self._internet, self._record, self._get_access = internet, record, get_access
        self._private_hosts = private_hosts
        self._tls: ssl.SSLContext = internet.tls
        self._socket = ""
        """Where the browser last was; its address says so where that is a WebSocket's."""
        self._lock = threading.Lock()  # protects both below
        self._contexts: dict[str, str] = {}
        """By cubicle."""
        self._whole: CubicleKey | None = None
        """Who has a browser that can't be shared."""

    @property
    def parts(self) -> RemoteParts[BrowserSession]:
        """For the live browsers."""
        return RemoteParts(self._attend, self._leave, self._clear)

    def make_driver(self, key: CubicleKey) -> BrowserSession:
        """With the rules of this cubicle."""
        access = self._get_access(key)
        access.sent.change_gate()

        def may_load(host: str) -> str | None:
            refusal = access.judge(host, 0)
            return None if refusal is None else str(refusal.reason)

        rules = RemoteRules(
            may_load=may_load,
            may_reach=self._may_reach,
            take_whole=lambda: self._take_whole(key),
            note_context=lambda context: self._note(key, context),
        )
        return BrowserSession(access, DriverSettings(remote=rules, uses_dialog_bridge=True))

    def _may_reach(self, host: str, port: int) -> str | None:
        """The gate's own rules, as far as a name says anything: what it leads to at the remote nobody here knows."""
        if (host, port) in self._private_hosts:
            return None
        if port not in _WEB_PORTS:
            return f"port {port} is none of the web's"
        address = parse_address(host.strip("[]"))
        if address is not None and not is_global(address):
            return "it is an address of a private network"
        return None if "." in host or address is not None else "it is a name of a private network"

    # --- in the browsers' loop

    async def _attend(self, key: CubicleKey, session: BrowserSession) -> None:
        transport = await self._connect()
        try:
            await session.attend_over(transport)
        finally:
            transport.close()
        if why := session.supervisor.context.why_gone:
            logger.info("the remote browser of %s: %s", key, why)
            raise BrowserEnded(f"{why} The next call starts another browser.")

    async def _connect(self) -> WebSocketTransport:
        """The browser is asked where it is when it is not where it last was. Raises BrowserLost."""
        known, self._socket = self._socket, ""
        if known:
            with suppress(BrowserLost):
                transport = await open_web_socket(known, self.address.host, self._tls)
                self._socket = known
                return transport
        found = await asyncio.to_thread(self.address.find_socket, self._internet)
        transport = await open_web_socket(found, self.address.host, self._tls)
        self._socket = found
        return transport

    async def _leave(self, key: CubicleKey, session: BrowserSession) -> None:
        self._get_access(key).set_open(())
        try:
            await session.supervisor.context.dispose()
        finally:
            with self._lock:
                if self._whole == key:
                    self._whole = None
        self._note(key, "")

    # --- from any thread

    def _take_whole(self, key: CubicleKey) -> bool:
        with self._lock:
            if self._whole not in (None, key):
                return False
            self._whole = key
            return True

    def _note(self, key: CubicleKey, context: str) -> None:
        """Raises BrowserLost where it can't be written: what is not written down is not used."""
        with self._lock:
            self._contexts.pop(f"{key.agent}-{key.user}", None)
            if context:
                self._contexts[f"{key.agent}-{key.user}"] = context
            self._write(self._contexts)

    def _write(self, contexts: dict[str, str]) -> None:
        try:
            self._record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._record, json.dumps(contexts))
        except OSError as error:
            raise BrowserLost("The folder for browsers in HERMIT_HOME can't be written. Look at the disk.") from error

    def _clear(self) -> None:
        try:
            left = _read_record(self._record)
            if left:
                asyncio.run(self._dispose_all(left))
                self._record.unlink(missing_ok=True)
        except (OSError, Unavailable, BrowserError, TimeoutError) as error:
            logger.warning("what another run left at the remote browser was not disposed of: %s", error)
        except Exception:  # the top of a thread
            logger.exception("clearing the remote browser broke")

    async def _dispose_all(self, contexts: Iterable[str]) -> None:
        def ignore(_method: str, _fields: Fields, _session: str) -> None:
            return

        wire = Wire(ignore)
        async with asyncio.timeout(_CLEARS_S):
            transport = await self._connect()
            reading = asyncio.create_task(wire.attend(transport))
            await asyncio.sleep(0)
            try:
                for context in contexts:
                    with suppress(BrowserError):  # it is gone already
                        await wire.call("Target.disposeBrowserContext", "", {"browserContextId": context})
            finally:
                wire.drop()
                await asyncio.gather(reading, return_exceptions=True)


def refuse_files(_db: sqlite3.Connection, _caller: Caller, _given: Mapping[str, Any]) -> Outcome:
    """Files go neither way. Raises Conflict, with a sentence."""
    raise Conflict(REMOTE_FILES)


def _read_record(path: Path) -> list[str]:
    try:
        found: Any = json.loads(path.read_bytes())
    except FileNotFoundError:
        return []
    except ValueError:
        logger.warning("%s can't be read, so contexts of another run may be left at the remote browser", path)
        return []
    names = list(found.values())[:_MOST_LEFT] if isinstance(found, dict) else []
    return [one for one in names if isinstance(one, str)]
