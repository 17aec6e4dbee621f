"""A program of this machine as a stream of bytes, for tests of the MCP client."""

from __future__ import annotations

import select
import subprocess
import sys
from pathlib import Path

SERVERS = Path(__file__).parent / "mcp_servers"


class ProcessStream:
    """Standard input and output of a process."""

    def __init__(self, *argv: str) -> None:
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self.is_closed = False

    def read(self, timeout_s: float) -> bytes:
        """As `ByteStream.read`."""
        if not select.select([self._stdout], [], [], timeout_s)[0]:
            raise TimeoutError
        return self._stdout.read(64 * 1024) or b""

    def write(self, data: bytes) -> None:
        """As `ByteStream.write`."""
        self._stdin.write(data)

    def close(self) -> None:
        """As `ByteStream.close`."""
        self.is_closed = True
        self.process.kill()
        self.process.wait()
        self._stdin.close()
        self._stdout.close()


def hostile_server(mode: str, *more: str) -> ProcessStream:
    """One of the hostile servers, started."""
    return ProcessStream(sys.executable, "-I", str(SERVERS / "hostile.py"), mode, *more)


def modern_server(mode: str = "") -> ProcessStream:
    """A server of the newest protocol, started."""
    return ProcessStream(sys.executable, "-I", str(SERVERS / "modern.py"), mode)
