"""The orchestrator's own log: rotated, one record a line, with no secret and no control character in it."""

from __future__ import annotations

import logging
import logging.handlers
import re
import threading
from collections.abc import Iterable
from pathlib import Path

from orchestrator.text import terminal_safe

_TOKEN_SHAPES = re.compile(
    r"(?<!\d)\d{5,20}:[A-Za-z0-9_-]{30,}"  # a Telegram bot's, also behind the "bot" of its URLs
    r"|\bhs_[A-Za-z0-9_-]{20,}|\b(?:sk-|xai-|gsk_|AIza)[A-Za-z0-9_-]{16,}"
)
_QUIET = ("apscheduler", "urllib3", "docker", "httpx", "httpcore", "werkzeug")


class Blots:
    """What is blotted out of the log wherever it appears. May be used from any thread, while the log is written."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._lock = threading.Lock()  # protects the change of _secrets
        self._secrets = _longest_first(secrets)

    def add(self, secret: str) -> None:
        """From now on this one too."""
        with self._lock:
            self._secrets = _longest_first({*self._secrets, secret})

    def cover(self, text: str) -> str:
        """The text without any of them, and without what looks like one."""
        for secret in self._secrets:
            text = text.replace(secret, "•••")
        return _TOKEN_SHAPES.sub("•••", text)


def to_file(path: Path, secrets: Iterable[str]) -> Blots:
    """Write the log to ``path``, 5 × 5 MB at most. ``secrets`` are blotted out, and what is added to the answer."""
    path.touch(mode=0o600)
    blots = Blots(secrets)
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=5_000_000, backupCount=4, encoding="utf-8")
    handler.setFormatter(_Careful("%(asctime)s %(levelname)s %(name)s: %(message)s", blots))
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    for old in root.handlers[:]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    return blots


class _Careful(logging.Formatter):
    """Formats a record, then blots out secrets and writes control characters out."""

    def __init__(self, form: str, blots: Blots) -> None:
        super().__init__(form)
        self._blots = blots

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """The record's own text on one line; a traceback after it has lines of its own."""
        return super().formatMessage(record).replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")

    def format(self, record: logging.LogRecord) -> str:
        """The record on one line, and its traceback indented below."""
        text = self._blots.cover(super().format(record))
        return terminal_safe(text).replace("\n", "\n    ")


def _longest_first(secrets: Iterable[str]) -> tuple[str, ...]:
    """One that holds another is blotted out whole; what is too short would blot out words."""
    return tuple(sorted((secret for secret in secrets if len(secret) >= 6), key=len, reverse=True))
