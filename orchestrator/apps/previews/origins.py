"""Where apps are shown, seen from a browser. Pure.

The preview origin should be another *site* than the dashboard's, not only another port. Behind names of one's own that
is one's own doing (``HERMIT_PREVIEW_URL``); on this machine ``localhost`` and ``127.0.0.1`` are two.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_OTHER_NAME = {"localhost": "127.0.0.1", "127.0.0.1": "localhost", "[::1]": "localhost"}


def preview_url(dashboard: str, *, port: int, configured: str = "") -> str:
    """The preview origin for a browser that has the dashboard at this origin, such as ``http://localhost:3001``."""
    if configured:
        return configured.rstrip("/")
    parts = urlsplit(dashboard)
    host = parts.hostname or "localhost"
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme or 'http'}://{_OTHER_NAME.get(name, name)}:{port}"


def app_url(preview: str, ticket: str) -> str:
    """Where an app begins; everything of it is below."""
    return f"{preview}/a/{ticket}/"


def is_own_host(host: str, *, allowed: frozenset[str], configured: str = "") -> bool:
    """Whether the preview server answers to a Host header; another name may be a foreign page's that was pointed at
    us."""
    found = _HOST.fullmatch(host)
    if found is None:  # it goes into headers of ours
        return False
    name = found[1]
    bare = name.strip("[]").lower()
    return bool(bare) and (bare in allowed or bare == (urlsplit(configured).hostname or ""))
