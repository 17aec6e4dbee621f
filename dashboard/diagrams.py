"""The frame in which diagrams are drawn: one document with all that it needs in it, and a policy under which it reaches
nothing: no network, no storage, no page of ours. Who holds it sends it a text and is told a height, and that is all.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from flask import current_app

from dashboard import headers
from dashboard.apps import dashboard_origin

NAME = "diagram.html"
_SCRIPTS = ("vendor/mermaid/mermaid.tiny.js", "diagram-frame.js")
_STYLE = "body{margin:0;color:CanvasText}svg{display:block;max-width:100%;height:auto;margin:0 auto}"


def make_frame(folder: Path) -> tuple[str, str]:
    """The document, and its policy, of the scripts in ``folder``."""
    scripts = [(folder / name).read_text(encoding="utf-8") for name in _SCRIPTS]
    allowed = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = (
        f"sandbox allow-scripts; default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        f"base-uri 'none'; form-action 'none'; {headers.HELD_BY_US}"
    )
    body = "".join(f"<script>{script}</script>" for script in scripts)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f"<title>Diagram</title><style>{_STYLE}</style><body>{body}</body></html>"
    ), policy


def hold_diagrams() -> str:
    """The page that answers this request may hold the frame; returns where that is."""
    path: str = current_app.jinja_env.globals["asset"](NAME)  # type: ignore[operator]  # statics puts it there
    headers.allow_diagrams(f"{dashboard_origin()}{path}")
    return path


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
