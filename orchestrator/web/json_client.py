"""One question to one checked address, answered with a JSON object: an ``exchange``, read as strictly as a stranger's.
For services whose address somebody set up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from orchestrator.core.errors import BadInput, TooLarge, Unavailable
from orchestrator.core.strict_json import read_object
from orchestrator.web.body import FetchLimits
from orchestrator.web.exchange import send_request
from orchestrator.web.limits import Internet
from orchestrator.web.urls import Link, UrlRules

LIMITS = FetchLimits(file_bytes=256 * 1024, total_s=10.0, connect_s=5.0, silence_s=8.0)
_HEADERS = {"User-Agent": "HermitShell", "Accept": "application/json", "Accept-Encoding": "identity"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """What the service said."""

    status: int
    body: dict[str, Any]
    """Empty where a failure came without a JSON object."""

    @property
    def is_ok(self) -> bool:
        """It is what was asked for."""
        return self.status == HTTPStatus.OK


def ask_json(
    link: Link,
    *,
    rules: UrlRules,
    internet: Internet,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JsonAnswer:
    """Get ``link``, or post ``form`` to it. Raises BadInput (the link is against the rules), Forbidden (an address that
    the rules don't allow), and Unavailable for everything else, an answer that is no JSON object among it."""
    given = {**_HEADERS, **(headers or {}), **(_FORM if form is not None else {})}
    try:
        answer = send_request(
            "GET" if form is None else "POST",
            link,
            given,
            None if form is None else urlencode(form).encode(),
            rules=rules,
            internet=internet,
            limits=LIMITS,
            reads_failure=True,
        )
    except TooLarge:
        raise Unavailable(f"{link.host} sent more than {LIMITS.file_bytes // 1024} kB.") from None
    if 300 <= answer.status < 400:
        raise Unavailable(f"{link.host} sends on to another address, which is not followed.")
    try:
        return JsonAnswer(answer.status, read_object(answer.body))
    except BadInput:
        if answer.status == HTTPStatus.OK:
            raise Unavailable(f"{link.host} did not answer with a JSON object.") from None
        return JsonAnswer(answer.status, {})
