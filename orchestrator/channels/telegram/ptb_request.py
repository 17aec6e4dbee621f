"""HTTP to Telegram: one request, one answer or one error of ours. Nobody above it sees the token: URLs carry a stand-in
until they are on their way, so that neither a log nor an exception can hold more than that.

Whatever is not an answer in the Bot API's own shape (a gateway's web page, a hotel's log-in page) counts as no answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, NoReturn

import httpx
from telegram.error import NetworkError, TelegramError
from telegram.request import BaseRequest, HTTPXRequest, RequestData

from orchestrator.channels.chat.send_errors import FileTooBig, SendError, SendRefused, TokenRevoked, Unreachable
from orchestrator.channels.telegram.api_errors import APP, error_of
from orchestrator.channels.telegram.client_types import ClientTimeouts
from orchestrator.files.models import Writable

logger = logging.getLogger(__name__)

STAND_IN = "TOKEN"
"""What the URLs say in the token's place."""
_NEVER_ARRIVED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
_CHUNK_BYTES = 256 * 1024
_ALWAYS_KNOWN = ("getMe", "getUpdates")
"""No Bot API server lacks these, so "not found" is said of the token."""


class RequestError(TelegramError):
    """Carries an error of ours through the library."""

    def __init__(self, error: SendError) -> None:
        super().__init__(str(error))
        self.error = error


class BotRequest(HTTPXRequest):
    """The library's HTTP, with answers judged here and the token put in at the last moment."""

    __slots__ = ("_digest_s",)

    def __init__(self, token: str, patience: ClientTimeouts, *, connections: int) -> None:
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=20)
        transport = _Sealed(token, httpx.AsyncHTTPTransport(limits=limits, trust_env=False))
        super().__init__(
            connection_pool_size=connections,
            connect_timeout=patience.connect_s,
            read_timeout=patience.read_s,
            write_timeout=patience.read_s,
            pool_timeout=patience.read_s,
            media_write_timeout=patience.upload_s,
            httpx_kwargs={"transport": transport, "trust_env": False, "follow_redirects": False},
        )
        self._digest_s = patience.digest_s

    async def do_request(  # noqa: PLR0917 - the library's own signature
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = BaseRequest.DEFAULT_NONE,
        write_timeout: Any = BaseRequest.DEFAULT_NONE,
        connect_timeout: Any = BaseRequest.DEFAULT_NONE,
        pool_timeout: Any = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        """A success as it came; raises :class:`RequestError` for everything else."""
        if request_data is not None and request_data.contains_files and read_timeout is BaseRequest.DEFAULT_NONE:
            read_timeout = self._digest_s
        try:
            status, content = await super().do_request(
                url, method, request_data, read_timeout, write_timeout, connect_timeout, pool_timeout
            )
        except NetworkError as error:
            raise RequestError(_unreachable(error.__cause__)) from None
        except RuntimeError:
            raise RequestError(Unreachable("the line is closed", may_have_arrived=False, app=APP)) from None
        except (OSError, ValueError) as error:  # a file that can't be read, a text that can't be encoded
            raise RequestError(SendRefused(f"it can't be sent ({type(error).__name__})")) from None
        _judge(status, content, url.rpartition("/")[2])
        return status, content

    async def download_to(self, url: str, sink: Writable, max_bytes: int) -> int:
        """Streams a file into ``sink``; its size. Raises :class:`RequestError`, with a part in the sink perhaps."""
        size = 0
        try:
            async with self._client.stream("GET", url) as answer:
                if answer.status_code != 200:
                    _fetch_failed(answer.status_code)
                async for piece in answer.aiter_bytes(_CHUNK_BYTES):
                    size += len(piece)
                    if size > max_bytes:
                        raise RequestError(FileTooBig(app=APP))
                    await asyncio.to_thread(sink.write, piece)
        except httpx.HTTPError as error:
            raise RequestError(_unreachable(error)) from None
        return size


class _Sealed(httpx.AsyncBaseTransport):
    """Puts the token into the URL of a request that leaves."""

    def __init__(self, token: str, inner: httpx.AsyncBaseTransport) -> None:
        self._token = token.encode()
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The same request with the true path; the caller's own keeps the stand-in."""
        path = request.url.raw_path.replace(b"/bot" + STAND_IN.encode() + b"/", b"/bot" + self._token + b"/", 1)
        sent = httpx.Request(
            request.method,
            request.url.copy_with(raw_path=path),
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return await self._inner.handle_async_request(sent)

    async def aclose(self) -> None:
        """No connection is left."""
        await self._inner.aclose()


def told_of(error: Exception) -> SendError:
    """What the library raised, as an error of ours: an answer that it could make nothing of counts as none."""
    if isinstance(error, RequestError):
        return error.error
    if not isinstance(error, TelegramError):
        logger.info("an answer of the Bot API server could not be read", exc_info=error)
    return Unreachable(type(error).__name__, may_have_arrived=True, app=APP)


def _judge(status: int, content: bytes, asked: str) -> None:
    """Returns for a success in Telegram's own words; ``asked`` is the Bot API's method."""
    try:
        answer = json.loads(content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or "ok" not in answer:
        raise RequestError(Unreachable(f"status {status}, and no answer of Telegram's", may_have_arrived=True, app=APP))
    if answer["ok"] is True and 200 <= status < 300 and "result" in answer:
        return
    parameters = answer.get("parameters")
    code = answer.get("error_code", status)
    if code == 404 and asked not in _ALWAYS_KNOWN:
        raise RequestError(SendRefused("this Bot API server does not know the method", app=APP))
    raise RequestError(
        error_of(
            code if isinstance(code, int) else status,
            str(answer.get("description", "")),
            parameters if isinstance(parameters, dict) else {},
        )
    )


def _fetch_failed(status: int) -> NoReturn:
    if status in (400, 404, 410):
        raise RequestError(SendRefused("the file is no longer there", app=APP))
    if status == 401:
        raise RequestError(TokenRevoked(app=APP))
    raise RequestError(Unreachable(f"status {status}", may_have_arrived=False, app=APP))


def _unreachable(cause: BaseException | None) -> Unreachable:
    return Unreachable(type(cause).__name__, may_have_arrived=not isinstance(cause, _NEVER_ARRIVED), app=APP)
