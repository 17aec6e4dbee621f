"""A certified OpenID provider that nobody here wrote (``oidc-provider`` from npm), as a process of its own. Its exact
version and hashes are in ``tests/thirdparty/oidc``; it is installed once into ``.cache/npm``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.npm import find_npm
from tests.support.oidc_provider import CLIENT, SECRET

ROOT = Path(__file__).parents[2]
PINNED = ROOT / "tests" / "thirdparty" / "oidc"
VERSION = "9.13.3"
_FILES = ("package.json", "package-lock.json", "provider.mjs")


def _installed() -> list[str]:
    """How to start it."""
    npm, node = find_npm()
    home = ROOT / ".cache" / "npm" / f"oidc-provider-{VERSION}"
    home.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        shutil.copy(PINNED / name, home / name)
    if not (home / "node_modules" / "oidc-provider" / "package.json").exists():
        install = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(home)]
        subprocess.run(install, check=True, capture_output=True, timeout=300)
    return [node, str(home / "provider.mjs")]


@contextmanager
def certified_provider(redirect_uri: str) -> Iterator[str]:
    """It runs, and sends browsers back to this address alone; gives its issuer."""
    argv = [*_installed(), redirect_uri]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8") as process:
        try:
            yield _issuer(process)
        finally:
            process.terminate()


def settings_for(issuer: str, **more: str) -> dict[str, str]:
    """The settings of an install that uses it."""
    return {
        "HERMIT_OIDC_ISSUER": issuer,
        "HERMIT_OIDC_CLIENT_ID": CLIENT,
        "HERMIT_OIDC_CLIENT_SECRET": SECRET,
        "HERMIT_OIDC_NAME": "Authentik",
        **more,
    }


def _issuer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if match := re.search(r"listening on (http://\S+)", line):
            threading.Thread(target=process.stdout.read, daemon=True).start()  # a full pipe never stops it
            return match[1]
    raise AssertionError("the provider did not start: " + "".join(seen))
