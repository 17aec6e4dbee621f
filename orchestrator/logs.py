"""The orchestrator's own log: rotated, one record a line, with no secret and no control character in it."""

from __future__ import annotations

import logging
import logging.handlers
import re
from collections.abc import Iterable
from pathlib import Path

from orchestrator.text import terminal_safe

_TOKEN_SHAPES = re.compile(
    r"(?<!\d)\d{5,20}:[A-Za-z0-9_-]{30,}"  # a Telegram bot's, also behind the "bot" of its URLs
    r"|\bhs_[A-Za-z0-9_-]{20,}|\b(?:sk-|xai-|gsk_|AIza)[A-Za-z0-9_-]{16,}"
)
_QUIET = ("urllib3", "docker", "httpx", "httpcore", "werkzeug")


def to_file(path: Path, secrets: Iterable[str]) -> None:
    """Write the log to ``path``, 5 × 5 MB at most; ``secrets`` are blotted out wherever they appear."""
    path.touch(mode=0o600)
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=5_000_000, backupCount=4, encoding="utf-8")
    handler.setFormatter(_Careful("%(asctime)s %(levelname)s %(name)s: %(message)s", secrets))
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    for old in root.handlers[:]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


class _Careful(logging.Formatter):
    """Formats a record, then blots out secrets and writes control characters out."""

    def __init__(self, form: str, secrets: Iterable[str]) -> None:
        super().__init__(form)
        self._secrets = sorted((s for s in secrets if len(s) >= 6), key=len, reverse=True)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """The record's own text on one line; a traceback after it has lines of its own."""
        return super().formatMessage(record).replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")

    def format(self, record: logging.LogRecord) -> str:
        """The record on one line, and its traceback indented below."""
        text = super().format(record)
        for secret in self._secrets:
            text = text.replace(secret, "•••")
        text = _TOKEN_SHAPES.sub("•••", text)
        return terminal_safe(text).replace("\n", "\n    ")
