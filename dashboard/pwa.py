"""What makes the dashboard an app of a device: its description, and the service worker that shows notifications.

Both are the same for everybody and need no login; the worker's own address is the root, as that is its scope.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, current_app, jsonify

from dashboard.auth import mark_public

pwa = Blueprint("pwa", __name__)

_ICONS = (
    ("icon-192.png", "192x192", "any"),
    ("icon-512.png", "512x512", "any"),
    ("maskable-512.png", "512x512", "maskable"),
)
_SHORTCUTS = (("Approvals", "/approvals"), ("Calendar", "/calendar"))


@pwa.get("/manifest.webmanifest")
@mark_public
def manifest() -> Any:
    """What a device shows of the app."""
    response = jsonify(
        {
            "id": "/",
            "name": "HermitShell",
            "short_name": "HermitShell",
            "description": "Your own AI agents, each locked into its own air-gapped container.",
            "start_url": "/",
            "scope": "/",
            "display": "standalone",
            "background_color": "#f2f6f5",
            "theme_color": "#0d4f57",
            "icons": [
                {"src": f"/static/icons/{name}", "sizes": sizes, "type": "image/png", "purpose": purpose}
                for name, sizes, purpose in _ICONS
            ],
            "shortcuts": [{"name": name, "url": path} for name, path in _SHORTCUTS],
        }
    )
    response.mimetype = "application/manifest+json"
    return response


@pwa.get("/sw.js")
@mark_public
def service_worker() -> Any:
    """The script of notifications. Browsers ask again whether it has changed."""
    text = _read_worker(str(current_app.root_path))
    return Response(text, mimetype="text/javascript", headers={"Cache-Control": "no-cache"})


@cache
def _read_worker(root: str) -> str:
    return (Path(root) / "static" / "sw.js").read_text(encoding="utf-8")
