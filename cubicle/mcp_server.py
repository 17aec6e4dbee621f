"""Runs an MCP server in a container without a network, and stays beside it. The first line of standard input says how
it is started, secrets among it, so that no list of containers shows them; all that follows is the server's own.

* Its packages are unpacked from ``/helper/in/tree.tar`` into this container's memory.
* Each host that it may reach has an address on loopback, which ``/etc/hosts`` names. What connects there is joined to
  the gate by ``CONNECT``, so that programs reach these hosts without knowing of it, and no encryption is opened.
* What it says on standard error is kept, the last 16 KiB, in ``/helper/out/ended.json`` with its exit code.

The server may take over all that is in here. Nobody trusts what comes out of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

IN, OUT, TREE = Path("/helper/in"), Path("/helper/out"), Path("/tmp/tree")  # noqa: S108 - of this container alone
GATE = "/run/helper/gate.sock"
MOST_SAID = 16 << 10
MOST_START = 1 << 20
PIECE = 1 << 16
HEAD_S = 40.0


def read_start() -> dict[str, Any]:
    """The first line, and not a byte of what follows."""
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece or len(line) > MOST_START:
            raise SystemExit("nobody said what to start")
        line += piece
    return dict(json.loads(line))


def find_command(start: dict[str, Any]) -> list[str]:
    """What is run: the package's own program, or the command as it was given. Raises LookupError."""
    how, name, arguments = start["how"], start["name"], list(start["argv"])
    if how == "npm":
        return ["/usr/bin/node", str(_find_npm_program(TREE / "node_modules" / name, name)), *arguments]
    if how == "pip":
        return ["/usr/bin/python3", str(_find_pip_program(TREE / "bin", name)), *arguments]
    return arguments


def _find_npm_program(folder: Path, name: str) -> Path:
    about = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    named = about.get("bin")
    if isinstance(named, dict):
        named = named.get(name.rpartition("/")[2]) or next(iter(named.values()), None)
    if isinstance(named, str):
        return folder / named
    raise LookupError(f"{name} has no program to start")


def _find_pip_program(folder: Path, name: str) -> Path:
    plain = name.lower().replace("_", "-").replace(".", "-")
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    same = [path for path in found if path.name.lower().replace("_", "-") == plain]
    own = [path for path in found if plain in path.name.lower().replace("_", "-")]
    if not (same or own):
        raise LookupError(f"{name} has no program to start")
    return (same or own)[0]


def join_host(host: str, port: int) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]:
    """What joins each connection to this host's way through the gate."""

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            there, to = await asyncio.open_unix_connection(GATE)
            ends.append(to)
            to.write(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            head = await asyncio.wait_for(there.readuntil(b"\r\n\r\n"), HEAD_S)
            if head.split(b" ", 2)[1:2] != [b"200"]:
                return
            up = asyncio.ensure_future(copy(reader, to))
            try:
                await copy(there, writer)
            finally:
                up.cancel()
                await asyncio.gather(up, return_exceptions=True)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            return  # the server learns it by the end of its connection
        finally:
            for end in ends:
                end.close()

    return join


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One direction, with its end."""
    while piece := await reader.read(PIECE):
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def run(start: dict[str, Any]) -> tuple[int, str]:
    """The server's exit code, and the last of what it said on standard error."""
    for host, port, address in start["hosts"]:
        await asyncio.start_server(join_host(host, port), address, port)
    environment = {
        "PATH": f"{TREE}/bin:/usr/bin:/bin",
        "HOME": "/tmp",  # noqa: S108 - of this container alone
        "LANG": "C.UTF-8",
        "NODE_EXTRA_CA_CERTS": "/etc/ssl/certs/ca-certificates.crt",
        "PYTHONPATH": str(TREE),
        "PYTHONUNBUFFERED": "1",
        **start["env"],
    }
    process = await asyncio.create_subprocess_exec(
        *find_command(start),
        env=environment,
        cwd="/tmp",  # noqa: S108 - of this container alone
        stdout=None,
        stderr=subprocess.PIPE,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, process.kill)
    said = b""
    assert process.stderr is not None  # noqa: S101 - it was asked for
    while piece := await process.stderr.read(PIECE):
        said = (said + piece)[-MOST_SAID:]
    return await process.wait(), said.decode("utf-8", "replace")


def main() -> int:
    """0 when the server ended well."""
    start = read_start()
    try:
        if (IN / "tree.tar").exists():
            TREE.mkdir()
            subprocess.run(["/bin/tar", "-xf", str(IN / "tree.tar"), "-C", str(TREE)], check=True)
        code, said = asyncio.run(run(start))
    except (OSError, LookupError, ValueError, subprocess.SubprocessError) as error:
        code, said = 127, str(error)
    with contextlib.suppress(OSError):  # whoever has taken over in here may have seen to it that it can't be
        (OUT / "ended.json").write_text(json.dumps({"code": code, "said": said}), encoding="utf-8")
    return 0 if code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
