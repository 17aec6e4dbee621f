"""``.hermit.log``: what the crab thought, ran, saw and said, one record a line.

Owns the file and its rotation. The folder is the agent's own, so nothing in it is trusted: a link, a device or a full
disk costs the record, never the turn. No control character of a command's output reaches the file raw.
"""

from __future__ import annotations

import os
import stat
import time

MAX_BYTES = 5_000_000
MAX_RECORD = 64 * 1024
_UNSAFE = [*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, *range(0x200B, 0x2010), *range(0x2028, 0x202F)]
_UNSAFE += [*range(0x2060, 0x2070), 0xFEFF]
_ESCAPES = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _UNSAFE}
_ESCAPES |= {ord("\n"): "\\n", ord("\t"): "\\t", ord("\r"): "\\r"}


class Log:
    """Appends records. The file is opened for each: the agent may remove or replace it at any time."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def write(self, kind: str, text: str, *, step: str) -> None:
        """One record: time (UTC), step, kind, text. Fails in silence: there is nobody here to tell."""
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"
        record = f"{stamp} {step} {kind} {escape_line(text[:MAX_RECORD])}"
        if len(text) > MAX_RECORD:
            record += f" [… {len(text) - MAX_RECORD} more characters]"
        try:
            self._append(record.encode("utf-8", "replace") + b"\n")
        except OSError:
            pass  # a full disk or a folder where the file should be must not end a turn

    def _append(self, record: bytes) -> None:
        try:
            if os.lstat(self._path).st_size + len(record) > MAX_BYTES:
                os.rename(self._path, self._path + ".1")
        except FileNotFoundError:
            pass  # the first record, or the agent tidied up
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        file = os.open(self._path, flags, 0o644)
        try:
            if stat.S_ISREG(os.fstat(file).st_mode):
                os.write(file, record)
        finally:
            os.close(file)


def escape_line(text: str) -> str:
    """``text`` on one line, with control and direction characters made visible."""
    return text.translate(_ESCAPES)
