"""Runs a program in a container that has no network but a unix socket of the host's: what the program says to the proxy
on loopback goes to that socket, byte for byte. ``gateway.py PROGRAM ARGUMENT…``; it ends as the program does.

It decides nothing. Who may be reached is judged at the other end of the socket.
"""

from __future__ import annotations

import asyncio
import os
import sys

GATE = "/run/helper/gate.sock"
PORT = 3128
MOST = 200
"""Connections at a time; the others wait here, so that none is refused at the gate."""
PIECE = 1 << 16


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One direction, with its end."""
    while piece := await reader.read(PIECE):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def join(
    gate: str, places: asyncio.Semaphore, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """One connection, until both directions have ended or one has broken."""
    ends = [writer]
    try:
        async with places:
            there, to = await asyncio.open_unix_connection(gate)
            ends.append(to)
            up = asyncio.ensure_future(copy(reader, to))
            try:
                await copy(there, writer)  # whoever was asked has said its last
            finally:
                up.cancel()
                await asyncio.gather(up, return_exceptions=True)
    except OSError:
        pass  # one of them has gone, which the other learns by the end of its connection
    finally:
        for end in ends:
            end.close()


async def run(command: list[str], *, gate: str = GATE, port: int = PORT) -> int:
    """The program's exit code; a signal counts as shells count it."""
    places = asyncio.Semaphore(MOST)
    server = await asyncio.start_server(lambda reader, writer: join(gate, places, reader, writer), "127.0.0.1", port)
    proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    names = ("http_proxy", "https_proxy")
    environment = {
        **{name: value for name, value in os.environ.items() if name.lower() not in (*names, "no_proxy", "all_proxy")},
        **{spelled: proxy for name in names for spelled in (name, name.upper())},
    }
    process = await asyncio.create_subprocess_exec(*command, env=environment)
    code = await process.wait()
    server.close()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    os._exit(asyncio.run(run(sys.argv[1:])))
