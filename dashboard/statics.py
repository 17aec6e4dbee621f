"""What pages are made of: scripts, styles and pictures, under URLs that hold a digest of their content. A browser
keeps them for good and asks for each once; a changed file has another URL.

Everything is read when the application is made, so that an update on the disk changes nothing in what runs.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import mimetypes
import threading
from functools import cached_property
from pathlib import Path

from flask import Flask, Response, abort, request

from dashboard import bundles, diagrams
from dashboard.auth import mark_public
from dashboard.headers import FOR_GOOD
from dashboard.languages import speech
from orchestrator.languages.speech import SpokenLanguage

ROUTE = "/static/<string(length=16):digest>/<path:name>"
_DIGEST_CHARS = 16
_SCRIPT = "text/javascript"


class _Static:
    """One file."""

    def __init__(self, name: str, body: bytes, policy: str = "") -> None:
        self.body = body
        self.policy = policy
        kind = _SCRIPT if name.endswith((".js", ".mjs")) else mimetypes.guess_type(name)[0]
        self.content_type = f"{kind or 'application/octet-stream'}; charset=utf-8"
        self.url = f"/static/{hashlib.sha256(body).hexdigest()[:_DIGEST_CHARS]}/{name}"

    @cached_property
    def compressed(self) -> bytes:
        """Made once, when it is first asked for."""
        return gzip.compress(self.body, mtime=0)


class Statics:
    """Those of one application."""

    def __init__(self, folder: Path) -> None:
        """Raises Unbundled when a script or a style can't be put together."""
        self._folder = folder
        self._by_name: dict[str, _Static] = {}
        self._add_file("logo.svg")
        self._add_file("logo-waiting.svg")
        for name in ("main.css", "terminal.css", "browser.css", "mcp.css"):
            self._add_body(name, bundles.bundle_stylesheet(folder, name).encode())
        main = bundles.bundle_script(folder, "main.js", url=self._add_file)
        shared = dict.fromkeys(main.modules, self._add_body("main.js", main.text.encode()))
        terminal = bundles.bundle_script(folder, "terminal.js", url=self._add_file, beside=shared)
        self._add_body("terminal.js", terminal.text.encode())
        document, policy = diagrams.make_frame(folder)
        self._by_name[diagrams.NAME] = _Static(diagrams.NAME, document.encode(), policy)
        rare = bundles.bundle_script(folder, "rare.js", url=self._add_file, beside=shared)
        self._add_body("rare.js", rare.text.encode())
        browser = bundles.bundle_script(folder, "browser.js", url=self._add_file, beside=shared)
        self._add_body("browser.js", browser.text.encode())
        editor = bundles.bundle_script(folder, "editor.js", url=self._add_file, beside=shared)
        self._add_body("editor.js", editor.text.encode())
        self._by_url = {static.url: static for static in self._by_name.values()}
        self._making = threading.Lock()

    def url_of(self, name: str) -> str:
        """Where a page finds it; raises KeyError."""
        return self._by_name[name].url

    def texts_url(self, speech: SpokenLanguage) -> str:
        """Where a page in this language finds what its scripts say; made when the first page asks."""
        name = f"texts.{speech.language.tag}.js"
        with self._making:
            if name not in self._by_name:
                body = f"globalThis.hermitTexts = {json.dumps(dict(speech.scripts), ensure_ascii=False)};"
                self._add_body(name, body.encode())
                self._by_url[self._by_name[name].url] = self._by_name[name]
        return self._by_name[name].url

    def answer_request(self, url: str, *, takes_gzip: bool) -> Response | None:
        """What lies there; None for anything that this application's pages do not use."""
        static = self._by_url.get(url)
        if static is None:
            return None
        response = Response(static.compressed if takes_gzip else static.body, content_type=static.content_type)
        response.headers["Cache-Control"] = FOR_GOOD
        response.headers["Vary"] = "Accept-Encoding"
        if takes_gzip:
            response.headers["Content-Encoding"] = "gzip"
        if static.policy:
            response.headers["Content-Security-Policy"] = static.policy
        return response

    def _add_body(self, name: str, body: bytes) -> str:
        static = self._by_name[name] = _Static(name, body)
        return static.url

    def _add_file(self, name: str) -> str:
        return self._add_body(name, (self._folder / name).read_bytes())


def read_statics(folder: Path) -> Statics:
    """Those of a folder as it is now; raises Unbundled."""
    return Statics(folder)


def register_statics(app: Flask) -> None:
    """Templates may say ``asset("main.css")``, and what they say is there."""
    statics = read_statics(Path(app.root_path) / "static")
    app.jinja_env.globals["asset"] = statics.url_of
    app.jinja_env.globals["texts_url"] = lambda: statics.texts_url(speech())

    @app.get(ROUTE, endpoint="kept")
    @mark_public
    def kept(digest: str, name: str) -> Response:
        """A file, or nothing under a digest that is not its own."""
        takes_gzip = request.accept_encodings.quality("gzip") > 0
        return statics.answer_request(f"/static/{digest}/{name}", takes_gzip=takes_gzip) or abort(404)
