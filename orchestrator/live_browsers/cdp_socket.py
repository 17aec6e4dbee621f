"""The socket at which the relay of a browser's container calls, with Chromium's debugging pipe behind it."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final

_NAME: Final = "cdp.sock"
_BACKLOG = 4


def listen_for_relay(folder: Path, uid: int, gid: int) -> socket.socket:
    """Listens at ``cdp.sock`` in this folder, to this user alone. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        with suppress(FileNotFoundError):
            os.unlink(_NAME, dir_fd=descriptor)
        # By way of the descriptor: socket paths end at 107 bytes, HERMIT_HOME may be longer.
        listening.bind(f"/proc/self/fd/{descriptor}/{_NAME}")
        os.chmod(_NAME, 0o600, dir_fd=descriptor)
        if os.geteuid() == 0:
            os.chown(_NAME, uid, gid, dir_fd=descriptor)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    finally:
        os.close(descriptor)
    return listening
