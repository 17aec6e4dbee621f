"""Whether there is a new version: one address, which the operator has to name first, is asked once a day. It is sent
nothing, and of its answer two texts are believed: a version, and where to read about it. Nothing is ever installed.
"""

from __future__ import annotations

import itertools
import json
import logging
import re
from dataclasses import dataclass, replace
from io import BytesIO

from orchestrator.core.errors import BadInput
from orchestrator.core.periodic import Periodic
from orchestrator.core.version import VERSION
from orchestrator.web.fetcher import Fetcher
from orchestrator.web.limits import Internet
from orchestrator.web.urls import UrlRules, parse_url

logger = logging.getLogger(__name__)

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})\.(\d{1,4})", re.ASCII)
_FIRST_S, _DAY_S = 60.0, 24 * 3600.0
_MOST_BYTES, _MOST_S = 64 * 1024, 30.0


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A version that is newer than this one."""

    version: str
    url: str
    """Where to read about it; empty when nothing fitting was named."""


class VersionWatch:
    """Asks, in a thread of its own, if anybody is to be asked."""

    def __init__(self, url: str, internet: Internet, *, rules: UrlRules | None = None) -> None:
        """``url``: who is asked; empty for nobody."""
        self._url = url
        self._rules = rules or UrlRules()
        limits = replace(internet.limits, file_bytes=_MOST_BYTES, total_s=_MOST_S)
        self._fetcher = Fetcher(limits, rules=self._rules, network=internet.network, tls=internet.tls)
        self._found: NewVersion | None = None
        waits = itertools.chain([_FIRST_S], itertools.repeat(_DAY_S))
        self._rounds = Periodic("new-version", self.ask, every_s=lambda: next(waits))

    def start(self) -> None:
        """Ask from now on; nothing without an address."""
        if self._url:
            self._rounds.start()

    def close(self) -> None:
        """Ask no more."""
        self._rounds.close()

    @property
    def found(self) -> NewVersion | None:
        """The newer version, where there is one as far as is known."""
        return self._found

    def ask(self) -> None:
        """Ask now. Raises Unavailable and the like when nobody answers, BadInput for an answer that is none."""
        answer = BytesIO()
        self._fetcher.fetch(parse_url(self._url, self._rules), answer)
        self._found = read_answer(answer.getvalue())


def read_answer(body: bytes, current: str = VERSION) -> NewVersion | None:
    """``{"version": "1.2.3", "url": "https://…"}``: the version, if it is newer than ``current``. Raises BadInput."""
    try:
        told = json.loads(body)
        version = _VERSION.fullmatch(told["version"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadInput("The answer about new versions is none.") from error
    if version is None:
        raise BadInput("The answer about new versions names no version such as 1.2.3.")
    if tuple(map(int, version.groups())) <= tuple(map(int, current.split("."))):
        return None
    return NewVersion(version[0], _read_link(told.get("url")))


def _read_link(url: object) -> str:
    try:
        return parse_url(url).url if isinstance(url, str) else ""
    except BadInput:
        return ""
