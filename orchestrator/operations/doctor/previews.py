"""Examines the origin of web apps, by asking it as a browser would."""

from __future__ import annotations

import http.client

from orchestrator.core.finding import Finding, ok, warn

APPS = "apps"
_OWN_WORDS = b"Apps of your agents"
_PATIENCE_S = 5.0
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what to ask where it listens everywhere


def examine_previews(host: str, port: int) -> Finding:
    """It answers, and it is ours. Without it messages are answered all the same, so nothing has failed."""
    mend = "Free that port or choose another HERMIT_PREVIEW_PORT, then './hermit down' and './hermit up -d'."
    connection = http.client.HTTPConnection(_ANYWHERE.get(host, host), port, timeout=_PATIENCE_S)
    try:
        connection.request("GET", "/", headers={"Host": f"localhost:{port}"})
        found = connection.getresponse().read(4_096)
    except (OSError, http.client.HTTPException) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        return warn(APPS, f"Web apps can't be shown: nothing answers on port {port} ({why}).", mend)
    finally:
        connection.close()
    if _OWN_WORDS not in found:
        return warn(APPS, f"Web apps can't be shown: another program answers on port {port}.", mend)
    return ok(APPS, f"Web apps are shown, on an origin of their own (port {port}).")
