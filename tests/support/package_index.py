"""An index of packages on this machine, for tests: a simple index for pip, a registry for npm, with packages that are
made here, on an address that containers of the engine reach. It remembers what it was asked for."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class PackageIndex:
    """What an operator's own index is. A context manager; everything may be called from any thread."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.asked: list[str] = []
        self.going = threading.Event()
        """Cleared, files are held back until it is set."""
        self.going.set()
        self._pages: dict[str, tuple[str, bytes]] = {}
        self._simple: dict[str, list[tuple[str, str]]] = {}
        self._packuments: dict[str, dict[str, Any]] = {}
        self._server = ThreadingHTTPServer((host, 0), _Handler)
        self._server.daemon_threads = True
        self._server.index = self  # type: ignore[attr-defined]  # for its handlers
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="package-index")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.going.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Its address."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    @property
    def settings(self) -> dict[str, str]:
        """What tells HermitShell of it."""
        return {"HERMIT_PIP_INDEX_URL": f"{self.url}/simple/", "HERMIT_NPM_REGISTRY": f"{self.url}/npm/"}

    def wheel(self, name: str, version: str, files: Mapping[str, str], *, needs: tuple[str, ...] = ()) -> bytes:
        """A package for pip, of Python alone; its bytes."""
        content = wheel(name, version, files, needs)
        file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        self.offer(name, file, content)
        return content

    def offer(self, name: str, file: str, content: bytes) -> None:
        """Any file under any name for pip, in the place of one of the same name."""
        self._pages[f"/files/{file}"] = ("application/octet-stream", content)
        listed = [entry for entry in self._simple.get(name, []) if entry[0] != file]
        self._simple[name] = [*listed, (file, hashlib.sha256(content).hexdigest())]
        links = "".join(f'<a href="/files/{f}#sha256={digest}">{f}</a><br>' for f, digest in self._simple[name])
        self._pages[f"/simple/{name}/"] = ("text/html", f"<!DOCTYPE html><html><body>{links}</body></html>".encode())

    def tarball(
        self, name: str, version: str, files: Mapping[str, str], *, needs: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        """A package for npm; ``more`` goes into its package.json."""
        described = {"name": name, "version": version, "dependencies": dict(needs or {}), **more}
        content = tarball({"package.json": json.dumps(described), **files})
        path = f"/npm/{name}/-/{name}-{version}.tgz"
        self._pages[path] = ("application/octet-stream", content)
        packument = self._packuments.setdefault(name, {"name": name, "versions": {}})
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
        packument["versions"][version] = {**described, "dist": {"tarball": f"{self.url}{path}", "integrity": integrity}}
        packument["dist-tags"] = {"latest": version}
        self._pages[f"/npm/{name}"] = ("application/json", json.dumps(packument).encode())

    def publish(self, path: str, kind: str, content: bytes) -> None:
        """Whatever an index may say at a path."""
        self._pages[path] = (kind, content)

    def page(self, path: str) -> tuple[str, bytes] | None:
        """What is at a path; files wait until they may go."""
        self.asked.append(path)
        if path.endswith((".whl", ".tgz")):
            self.going.wait(60)
        return self._pages.get(path)


def wheel(name: str, version: str, files: Mapping[str, str], needs: tuple[str, ...] = ()) -> bytes:
    """A wheel of these files."""
    told = f"{name.replace('-', '_')}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {need}\n" for need in needs)
    whole = {
        **files,
        f"{told}/METADATA": metadata,
        f"{told}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*whole, f"{told}/RECORD"))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in {**whole, f"{told}/RECORD": record}.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return buffer.getvalue()


def tarball(files: Mapping[str, str]) -> bytes:
    """An npm package of these files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(buffer.getvalue(), mtime=0)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """A page, or 404."""
        index: PackageIndex = self.server.index  # type: ignore[attr-defined]  # as set above
        found = index.page(self.path.partition("?")[0])
        kind, body = found or ("text/plain", b"none")
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the parent's name
        """Nothing is printed."""
