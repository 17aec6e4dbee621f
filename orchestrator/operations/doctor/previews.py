"""Examines the origin of web apps, by asking it as a browser would."""

from __future__ import annotations

import requests

from orchestrator.core.finding import Finding, ok, warn

APPS = "apps"
_OWN_WORDS = b"Apps of your agents"
_PATIENCE_S = 5.0
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what to ask where it listens everywhere


def examine_previews(host: str, port: int) -> Finding:
    """It answers, and it is ours. Without it messages are answered all the same, so nothing has failed."""
    fix = "Free that port or choose another HERMIT_PREVIEW_PORT, then './hermit down' and './hermit up -d'."
    address = _ANYWHERE.get(host, host)
    url = f"http://[{address}]:{port}/" if ":" in address else f"http://{address}:{port}/"
    try:
        found = _page(url, host=f"localhost:{port}")
    except requests.RequestException as error:
        return warn(APPS, f"Web apps can't be shown: nothing answers on port {port} ({_reason(error)}).", fix)
    if _OWN_WORDS not in found:
        return warn(APPS, f"Web apps can't be shown: another program answers on port {port}.", fix)
    return ok(APPS, f"Web apps are shown, on an origin of their own (port {port}).")


def _page(url: str, *, host: str) -> bytes:
    """The beginning of what is answered to a browser that calls us by this name."""
    with requests.Session() as session:
        session.trust_env = False  # a proxy of the environment has no business between us and ourselves
        asked = session.get(url, headers={"Host": host}, timeout=_PATIENCE_S, allow_redirects=False, stream=True)
        with asked as answer:
            return bytes(next(answer.iter_content(4_096), b""))


def _reason(error: requests.RequestException) -> str:
    """What the system said; else the kind of the error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__
