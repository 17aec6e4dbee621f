"""A model provider that costs next to nothing, so that what stands in front of it can be measured: it streams the same
short answer to every call, from one thread with a loop. ``python fast_upstream.py`` prints its base URL and serves
until its standard input ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys

_WORDS = ('{"message": "ready', ', and waiting", ', '"terminal": ""}')


def _event(delta: dict[str, str], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted-large", "choices": [choice]}
    return f"data: {json.dumps(body)}\n\n"


def _streamed() -> bytes:
    usage = {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28}
    last = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted-large", "choices": []}
    events = "".join(_event({"role": "assistant", "content": word}) for word in _WORDS)
    events += _event({}, "stop") + f"data: {json.dumps({**last, 'usage': usage})}\n\ndata: [DONE]\n\n"
    return _answer(events.encode(), "text/event-stream")


def _whole() -> bytes:
    message = {"role": "assistant", "content": "".join(_WORDS)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "scripted-large", "choices": [choice]}
    return _answer(json.dumps({**body, "usage": usage}).encode(), "application/json")


def _answer(body: bytes, kind: str) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind.encode(), len(body), body)


STREAMED, WHOLE = _streamed(), _whole()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0].strip()
            body = await reader.readexactly(int(length or b"0"))
            writer.write(STREAMED if b'"stream": true' in body or b'"stream":true' in body else WHOLE)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the other side is gone
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def main() -> None:
    """Serves until standard input ends."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, backlog=256)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
