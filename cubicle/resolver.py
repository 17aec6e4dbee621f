"""One task, run in a container that is thrown away: finds out what a request for packages comes to, or fetches exactly
what a person agreed to. It reads ``/helper/in/task.json`` and leaves ``/helper/out/report.json``, the files beside it.

No code of a package runs here: of Python packages only ready-made wheels are looked at, and npm runs no scripts. Nobody
trusts the report: whoever sent the task reads it as a stranger's, and compares every file with what was agreed.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import platform
import re
import signal
import ssl
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

IN, OUT, SCRATCH = Path("/helper/in"), Path("/helper/out"), Path("/tmp")  # noqa: S108 - a tmpfs of this container alone
CA = IN / "ca.pem"
AT_ONCE = 6
TRIES = 3
PAUSE_S = 0.5
ANSWER_S = 30
CHUNK = 1 << 18
MOST_SAID = 800
_CPUS = {"x86_64": "x64", "aarch64": "arm64", "armv7l": "arm", "i686": "ia32"}
_PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
"""The one way out of this container, as it was started with it."""
_FULL = (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)
_NPM_WORDS = {
    "E404": "not_found",
    "ETARGET": "not_found",
    "ERESOLVE": "conflict",
    "EBADENGINE": "conflict",
    "EBADPLATFORM": "unfit",
    "ENOSPC": "too_large",
    "EINVALIDPACKAGENAME": "not_found",
}
_COMPLAINT = re.compile(r"ERROR:|npm ERR!")
_NOISE = re.compile(r"^code |^\d+ *$|/_logs/|complete log|Note that you can|tarball, folder, http")
T = TypeVar("T")


class Failed(Exception):
    """The task can't be done; ``why`` is a word for it, ``said`` what the tools said."""

    def __init__(self, why: str, said: str = "") -> None:
        super().__init__(why)
        self.why, self.said = why, said


def main() -> None:
    """Do the task, and leave a report whatever comes of it."""
    task = json.loads((IN / "task.json").read_text(encoding="utf-8"))
    signal.alarm(task["time_s"])  # whoever sent us may have died
    try:
        report = fetch(task) if task["do"] == "fetch" else resolve(task)
    except Failed as error:
        report = {"ok": False, "why": error.why, "said": _redacted(error.said)[-MOST_SAID:]}
    except OSError as error:
        report = {"ok": False, "why": "too_large" if error.errno in _FULL else "failed", "said": str(error)[:200]}
    (OUT / "report.json").write_text(json.dumps(report), encoding="utf-8")


def resolve(task: dict[str, Any]) -> dict[str, Any]:
    """Every package that the request comes to, with its version, address, hash and size."""
    found = _pip(task) if task["system"] == "pip" else _npm(task)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        sizes = list(pool.map(lambda package: _size(task, package["url"]), found))
    for package, size in zip(found, sizes, strict=True):
        package["size"] = size
    return {"ok": True, "packages": found}


def fetch(task: dict[str, Any]) -> dict[str, Any]:
    """Every file lies in the folder, of the size and hash that was agreed."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(lambda package: _fetched(task, package), task["packages"]):
            pass
    return {"ok": True, "packages": []}


# --- what the request comes to ------------------------------------------------------------------------------------


def _pip(task: dict[str, Any]) -> list[dict[str, Any]]:
    report = SCRATCH / "report.json"
    options = ["--dry-run", "--ignore-installed", "--only-binary", ":all:", "--no-cache-dir", "--break-system-packages"]
    index = task["pip_index_url"]
    if index.startswith("http:"):
        options += ["--trusted-host", urlsplit(index).netloc.rpartition("@")[2]]
    own = {"PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "2"}
    own |= {"PIP_CERT": str(CA)} if CA.exists() else {}
    own |= {"PIP_INDEX_URL": index} if index else {}
    _run(task, ["pip", "install", *options, "--quiet", "--report", str(report), *task["asked"]], own)
    entries = json.loads(report.read_text(encoding="utf-8"))["install"]
    return [_wheel(entry) for entry in entries]


def _wheel(entry: dict[str, Any]) -> dict[str, Any]:
    name, url = entry["metadata"]["name"], entry["download_info"]["url"]
    sha256 = entry["download_info"].get("archive_info", {}).get("hashes", {}).get("sha256")
    if entry["is_direct"] or not sha256:
        raise Failed("unfit", f"{name} comes from an address of its own, or without a hash")
    file = unquote(urlsplit(url).path).rpartition("/")[2]
    version = entry["metadata"]["version"]
    return {"name": name, "version": version, "file": file, "url": url, "hash": f"sha256:{sha256}", "places": []}


def _npm(task: dict[str, Any]) -> list[dict[str, Any]]:
    folder = SCRATCH / "npm"
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
    options = ["--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--loglevel=error"]
    options += ["--no-update-notifier", "--fetch-retries=1", "--cache", str(SCRATCH / "npm-cache")]
    options += _registry(task["npm_registry"], folder / ".npmrc")
    own = {"NODE_EXTRA_CA_CERTS": str(CA)} if CA.exists() else {}
    _run(task, ["npm", "install", *options, *task["asked"]], own, folder=folder)
    lock = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, Any]] = {}
    for place, entry in lock["packages"].items():
        if place and not entry.get("inBundle") and _fits_here(place, entry):
            package = _tarball(place, entry)
            found.setdefault(f"{package['name']}@{package['version']}", package)["places"].append(place)
    return list(found.values())


def _registry(url: str, settings: Path) -> list[str]:
    """The option for a registry of one's own; its name and password are written where npm looks for them."""
    if not url:
        return []
    parts = urlsplit(url)
    owner, _, host = parts.netloc.rpartition("@")
    if owner:
        secret = base64.b64encode(unquote(owner).encode()).decode()
        settings.write_text(f"//{host}{parts.path.rstrip('/')}/:_auth={secret}\n", encoding="utf-8")
    return [f"--registry={parts.scheme}://{host}{parts.path}"]


def _fits_here(place: str, entry: dict[str, Any]) -> bool:
    """An optional package for another system is left out, as npm itself does; one that is needed can't be had."""
    here = {"os": "linux", "cpu": _CPUS.get(platform.machine(), platform.machine()), "libc": "glibc"}
    if all(_names(entry.get(what), value) for what, value in here.items()):
        return True
    if not entry.get("optional"):
        raise Failed("unfit", f"{place.rpartition('node_modules/')[2]} is not for this kind of machine")
    return False


def _names(wanted: object, value: str) -> bool:
    """Whether a field such as ``["linux", "!win32"]`` lets this value through."""
    names = [wanted] if isinstance(wanted, str) else list(wanted or [])  # type: ignore[call-overload]  # of a lock file
    yes = [name for name in names if not name.startswith("!")]
    return f"!{value}" not in names and (not yes or value in yes or "any" in yes)


def _tarball(place: str, entry: dict[str, Any]) -> dict[str, Any]:
    name = entry.get("name") or place.rpartition("node_modules/")[2]
    url, integrity = entry.get("resolved", ""), entry.get("integrity", "")
    strong = next((part for part in integrity.split() if part.startswith("sha512-")), "")
    is_foreign = any(_is_foreign(spec) for spec in (entry.get("dependencies") or {}).values())
    if entry.get("link") or not strong or not url.startswith(("https://", "http://")) or is_foreign:
        raise Failed("unfit", f"{name} comes from an address of its own, or without a strong hash")
    digest = base64.b64decode(strong.removeprefix("sha512-")).hex()
    file = f"{name.lstrip('@').replace('/', '-')}-{entry['version']}-{digest[:8]}.tgz"
    return {
        "name": name,
        "version": entry["version"],
        "file": file,
        "url": url,
        "hash": f"sha512:{digest}",
        "places": [],
    }


def _is_foreign(spec: str) -> bool:
    """A dependency that names an address or a folder instead of versions."""
    return (":" in spec and not spec.startswith("npm:")) or ("/" in spec and not spec.startswith("npm:"))


def _run(task: dict[str, Any], command: list[str], own: dict[str, str], *, folder: Path = SCRATCH) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(SCRATCH), "TMPDIR": str(SCRATCH), "LANG": "C.UTF-8"}
    try:
        ran = subprocess.run(
            command,
            env={**environment, **{name: os.environ[name] for name in _PROXIES if name in os.environ}, **own},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=task["time_s"] - 10,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Failed("slow") from error
    if ran.returncode == 0:
        return
    raise Failed(_word_for(task["system"], ran.stderr), _complaints(ran.stderr))


def _word_for(system: str, said: str) -> str:
    """What was the matter, by what pip or npm said."""
    if "No space left" in said or "File too large" in said:
        return "too_large"
    if system == "npm":
        code = re.search(r"^npm ERR! code (\S+)", said, re.MULTILINE)
        return _NPM_WORDS.get(code[1], "unreachable") if code else "failed"
    warnings = [line for line in said.splitlines() if line.startswith("WARNING")]
    if any(re.search(r"Retrying \(|Could not fetch|trusted or secure", line) for line in warnings):
        return "unreachable"
    if "ResolutionImpossible" in said or "conflicting dependencies" in said:
        return "conflict"
    return "not_found" if "No matching distribution" in said else "failed"


def _complaints(said: str) -> str:
    """What pip or npm complained of, on one line, without what helps nobody."""
    lines = [re.sub(r"^(ERROR:|npm ERR!) *", "", line) for line in said.splitlines() if _COMPLAINT.match(line)]
    kept = [re.sub(r"\(from versions: .*", "", line).strip() for line in lines if not _NOISE.search(line)]
    return " ".join(line for line in dict.fromkeys(kept) if line)[:MOST_SAID]


def _redacted(said: str) -> str:
    return re.sub(r"//[^/@\s]+@", "//", said)


# --- the network -----------------------------------------------------------------------------------------------


def _size(task: dict[str, Any], url: str) -> int:
    """How many bytes are behind an address: what the server says, else counted."""

    def look(answer: Any) -> int:
        length = answer.headers.get("Content-Length") or ""
        return int(length) if length.isdecimal() else _counted(answer, task["max_bytes"])

    return _asked(task, url, look)


def _counted(answer: Any, most: int) -> int:
    total = 0
    while chunk := answer.read(CHUNK):
        total += len(chunk)
        if total > most:
            raise Failed("too_large")
    return total


def _fetched(task: dict[str, Any], package: dict[str, Any]) -> None:
    kind, _, wanted = package["hash"].partition(":")

    def take(answer: Any) -> None:
        digest, left = hashlib.new(kind), package["size"]
        with (OUT / package["file"]).open("wb") as file:
            while chunk := answer.read(min(CHUNK, left + 1)):
                left -= len(chunk)
                if left < 0:
                    raise Failed("changed", package["name"])
                digest.update(chunk)
                file.write(chunk)
        if left:
            raise ConnectionError("the answer was cut short")
        if digest.hexdigest() != wanted:
            raise Failed("changed", package["name"])

    _asked(task, package["url"], take)


def _asked(task: dict[str, Any], url: str, use: Callable[[Any], T]) -> T:
    """What ``use`` makes of the server's answer; asked again where the connection broke."""
    if not url.startswith(("https://", "http://")):
        raise Failed("unfit", url[:200])
    context = ssl.create_default_context(cafile=str(CA) if CA.exists() else None)
    request = Request(url)  # noqa: S310 - http and https alone, as was looked at
    for name, value in _identity(task, url).items():
        request.add_unredirected_header(name, value)
    said = ""
    for attempt in range(TRIES):
        time.sleep(PAUSE_S * attempt)
        try:
            with urlopen(request, timeout=ANSWER_S, context=context) as answer:  # noqa: S310 - as above
                return use(answer)
        except (OSError, HTTPException) as error:
            if getattr(error, "errno", None) in _FULL:
                raise
            said = f"{urlsplit(url).hostname}: {error}"
    raise Failed("unreachable", said)


def _identity(task: dict[str, Any], url: str) -> dict[str, str]:
    """The name and password of an index go to that index alone."""
    for index in (task["pip_index_url"], task["npm_registry"]):
        owner, _, host = urlsplit(index).netloc.rpartition("@")
        if owner and host == urlsplit(url).netloc and index.partition(":")[0] == url.partition(":")[0]:
            return {"Authorization": "Basic " + base64.b64encode(unquote(owner).encode()).decode()}
    return {}


if __name__ == "__main__":
    main()
