"""The server that live apps are measured with, inside a cubicle and beside it: ``python3 echo_server.py PORT``.

It answers at once; at ``/events`` it sends twenty times, each 50 ms, what its clock says.
"""

from __future__ import annotations

import asyncio
import sys
import time

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
_EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET /events"):
                await _tell(writer)
                break
            writer.write(_ANSWER)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the other side is gone
    finally:
        writer.close()


async def _tell(writer: asyncio.StreamWriter) -> None:
    writer.write(_EVENTS)
    for _ in range(20):
        writer.write(b"data: %d\n\n" % time.monotonic_ns())
        await writer.drain()
        await asyncio.sleep(0.05)


async def main() -> None:
    """Serves until it is ended."""
    server = await asyncio.start_server(_serve, "127.0.0.1", int(sys.argv[1]), backlog=256)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
