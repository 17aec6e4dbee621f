"""The orchestrator's own log: rotated, one record a line, with no secret and no control character in it."""

from __future__ import annotations

import json
import logging
import logging.handlers
import re
import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from orchestrator.core.models import CubicleKey, Turn
from orchestrator.core.text import terminal_safe

_TOKEN_SHAPES = re.compile(
    r"(?<!\d)\d{5,20}:[A-Za-z0-9_-]{30,}"  # a Telegram bot's, also behind the "bot" of its URLs
    r"|\bhs_[A-Za-z0-9_-]{20,}|\b(?:sk-|xai-|gsk_|AIza)[A-Za-z0-9_-]{16,}"
    r"|\b[1-9]\d{0,15}\.\d{1,12}\.[0-9a-f]{64}\b"  # a link to a delivered file
    r"|\b[A-Za-z0-9_-]{20,900}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"  # a ticket for a web app
    # What 256 random bits look like: sessions, login links, calendar feeds. Both cases, or it would be a long name.
    r"|(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]{0,42}[A-Z])(?=[A-Za-z0-9_-]{0,42}[a-z])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"
)
_HEADERS = re.compile(
    r"(?i)((?:authorization|cookie|x-api-key|x-goog-api-key|x-telegram-bot-api-secret-token)['\"]?\s*[:=,]\s*)[^\r\n]+"
)
"""Where such a header is written out, the rest of its line goes."""
_LOGIN_IN_URL = re.compile(r"(?<=://)[^/\s@'\"]+@")
_QUIET = ("apscheduler", "urllib3", "docker", "httpx", "httpcore", "werkzeug")


class SecretFilter:
    """What is blotted out of the log wherever it appears. May be used from any thread, while the log is written."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._lock = threading.Lock()  # protects the change of _secrets
        self._secrets = _longest_first(secrets)

    def add_secret(self, secret: str) -> None:
        """From now on this one too."""
        with self._lock:
            self._secrets = _longest_first({*self._secrets, secret})

    def hide_secrets(self, text: str) -> str:
        """The text without any of them, and without what looks like one."""
        for secret in self._secrets:
            text = text.replace(secret, "•••")
        text = _HEADERS.sub(r"\1•••", _LOGIN_IN_URL.sub("•••@", text))
        return _TOKEN_SHAPES.sub("•••", text)


def to_file(path: Path, secrets: Iterable[str], *, as_json: bool = False) -> SecretFilter:
    """Write the log to ``path``, 5 × 5 MB at most, as lines or as JSON lines. ``secrets`` are blotted out, and what is
    added to the answer."""
    path.touch(mode=0o600)
    blots = SecretFilter(secrets)
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=5_000_000, backupCount=4, encoding="utf-8")
    plain = _Careful("%(asctime)s %(levelname)s %(name)s: %(message)s", blots)
    handler.setFormatter(_JsonLines(blots) if as_json else plain)
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

    def __init__(self, form: str, blots: SecretFilter) -> None:
        super().__init__(form)
        self._blots = blots

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """The record's own text on one line; a traceback after it has lines of its own."""
        return super().formatMessage(record).replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")

    def format(self, record: logging.LogRecord) -> str:
        """The record on one line, and its traceback indented below."""
        text = self._blots.hide_secrets(super().format(record))
        return terminal_safe(text).replace("\n", "\n    ")


class _JsonLines(logging.Formatter):
    """A record as one JSON object on one line, in ASCII. What a record is about is found among what it was given: a
    cubicle or a turn, whole or as an ``extra``."""

    def __init__(self, blots: SecretFilter) -> None:
        super().__init__()
        self._blots = blots

    def format(self, record: logging.LogRecord) -> str:
        """``time`` is in UTC; ``trace`` is there where something broke."""
        fields: dict[str, str | int] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "module": record.name,
            "message": self._blots.hide_secrets(record.getMessage()),
            **_extra_fields(record),
        }
        if record.exc_info:
            fields["trace"] = self._blots.hide_secrets(self.formatException(record.exc_info))
        return json.dumps(fields)


def _extra_fields(record: logging.LogRecord) -> dict[str, str | int]:
    given = record.args if isinstance(record.args, tuple) else ()
    turn = next((one for one in given if isinstance(one, Turn)), None)
    key = next((one for one in given if isinstance(one, CubicleKey)), None if turn is None else turn.cubicle)
    found: dict[str, str | int] = {} if key is None else {"agent": key.agent, "user": key.user}
    number = record.__dict__.get("turn", None if turn is None else turn.id)
    return found if number is None else {**found, "turn": int(number)}


def _longest_first(secrets: Iterable[str]) -> tuple[str, ...]:
    """One that holds another is blotted out whole; what is too short would blot out words. As part of a URL, too."""
    long = {secret for secret in secrets if len(secret) >= 6}
    return tuple(sorted(long | {quote(secret, safe="") for secret in long}, key=len, reverse=True))
