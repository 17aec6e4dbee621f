"""Helper containers: the kinds that there are, and what one is started from. None of them has a network, or sees a
workspace or the door."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path


@dataclass(frozen=True, slots=True)
class HelperKind:
    """What helper containers of one kind have in common."""

    name: str
    label: str
    """Its own: helpers are no cubicles, and whoever looks for those must not find them."""
    program: tuple[str, ...] = ()
    """What it runs; empty for what its image says."""
    cpus: float = 1.0
    shares: int = 1024
    """How much it gets of a processor that others want too."""
    pids: int = 128
    """Processes and threads."""
    open_files: int = 1024
    sandboxes_itself: bool = False
    """Its programs shut parts of themselves in further, in user namespaces of their own."""
    memory_mb: int = 1024
    runs_from_tmp: bool = False
    """What lies in its /tmp may be loaded and run."""


RESOLVER = HelperKind("resolver", "hermitshell.helper-of")
"""Fetches packages, through a gate."""
STUDIO = HelperKind(
    "studio",
    "hermitshell.videos-of",
    program=("/usr/bin/python3", "-I", "/helper/in/clawmotion"),
    cpus=2.0,
    shares=256,
)
"""Animates texts."""
BROWSER = HelperKind("browser", "hermitshell.pictures-of", cpus=2.0, shares=256, pids=256)
"""Takes pictures of web apps. A browser's own sandbox can't stand within these walls, nor needs to."""
PAGE_BROWSER = HelperKind("page-pictures", "hermitshell.page-pictures-of", cpus=2.0, shares=256, pids=256)
"""Takes pictures of single pages, beside the one for apps."""
PAGES = HelperKind("pages", "hermitshell.pages-of", program=("/usr/bin/python3", "-I", "/app/pages.py"), shares=256)
"""Draws the pages of PDFs."""
SHEETS = HelperKind(
    "sheets", "hermitshell.sheets-of", program=("/usr/bin/python3", "-I", "/helper/in/sheets.py"), shares=256, pids=32
)
"""Reads spreadsheets."""
LISTER = HelperKind(
    "lister",
    "hermitshell.listings-of",
    program=("/bin/sh", "-c", "exec dpkg-query -W -f '${Package}\\t${Version}\\t${Architecture}\\n' >/helper/out/list"),
)
"""Lists the Debian packages of its image."""
LIVE_BROWSER = HelperKind(
    "live-browser",
    "hermitshell.browsers-of",
    program=("/usr/bin/python3", "-I", "/app/live_browser.py", "--sandbox=on"),
    cpus=2.0,
    shares=256,
    pids=512,
    open_files=4096,
    sandboxes_itself=True,
)
"""The browser that an agent uses; it lives longer than a call. Seven tabs are 164 processes and threads."""
BARE_LIVE_BROWSER = replace(
    LIVE_BROWSER,
    program=("/usr/bin/python3", "-I", "/app/live_browser.py", "--sandbox=off"),
    sandboxes_itself=False,
)
"""The same on a kernel where Chromium's own sandbox can't stand. It has the same label and names."""
MCP_PACKER = HelperKind(
    "mcp-packer", "hermitshell.mcp-packers-of", program=("/usr/bin/python3", "-I", "/helper/in/mcp_pack.py")
)
"""Lays out the packages of an MCP server, and runs nothing of them."""
MCP_SERVER = HelperKind(
    "mcp-server",
    "hermitshell.mcp-servers-of",
    program=("/usr/bin/python3", "-I", "/helper/in/mcp_server.py"),
    shares=512,
    memory_mb=512,
    runs_from_tmp=True,
)
"""An MCP server, for one cubicle; it lives longer than a call. Its packages have native libraries, which are loaded."""
_SHOW_NOTHING = (
    "exec timeout 30 /usr/bin/chromium-headless-shell --disable-gpu --disable-dev-shm-usage --disable-breakpad"
    " --user-data-dir=/tmp/profile --dump-dom {} about:blank >/helper/out/page"
)
SANDBOX_TRIAL = replace(
    LIVE_BROWSER,
    name="sandbox-trial",
    label="hermitshell.sandbox-trials-of",
    program=("/bin/sh", "-c", _SHOW_NOTHING.format("")),
)
"""Shows an empty page, which Chromium refuses to where its own sandbox can't stand."""
BARE_TRIAL = replace(
    SANDBOX_TRIAL,
    program=("/bin/sh", "-c", _SHOW_NOTHING.format("--no-sandbox --no-zygote")),
    sandboxes_itself=False,
)
"""The same without it, which tells a kernel that is in its way from a browser that is broken."""


@dataclass(frozen=True, slots=True)
class HelperSpec:
    """All that an engine needs to start one helper container."""

    id: str
    """Tells it from others of its kind."""
    kind: HelperKind
    image: str
    uid: int
    gid: int
    given: Path
    """What it gets, read-only inside."""
    brought: Path
    """What it brings; of its own making, so a stranger's word."""
    time_s: float
    """How long it may run."""
    max_bytes: int
    """How much it may bring."""
    sockets: Path | None = None
    """A folder of sockets at which the host listens, read-only inside (/run/helper); None for none."""
    hosts: tuple[tuple[str, str], ...] = ()
    """Names that lead to addresses on its own loopback, each with its address."""


class HelperEnd(StrEnum):
    """Why a helper container runs no more."""

    ENDED = "ended"
    """By itself, or the engine ended it."""
    TOO_LONG = "too long"
    TOO_MUCH = "too much"
    """It brought more than it may, or folders."""
    NOT_WANTED = "not wanted"
