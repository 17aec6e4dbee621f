"""The words about the browser: for the person who is asked, for the agent. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.capabilities.browser.capability import KIND
from orchestrator.web.sites import site_of
from orchestrator.web.url_warnings import list_warnings
from orchestrator.web.urls import Link

MOST_HOSTS = 12
INBOX = "/app/workspace/in"
"""Where the agent finds files."""
BROKE = "Something went wrong on the host; its log says what. Try it once more."
CUT_SHORT = "HermitShell was stopped in the middle of it, so it may have happened or not. Look at the page."
CLOSED = "The browser is closed."
DENIED = "A person said no to this site, so nothing was opened."
EXPIRED = "Nobody answered in time, so nothing was opened. Ask again if it is still needed."
CANCELLED = "The question was taken back, so nothing was opened. Ask again if it is still needed."
SENT_MUCH = "It has sent this site 2 MB in this task already. A yes lets it send as much again."
NOTHING_MISSING = "Nothing that could be asked for was kept from this page."
LOADING = "Under way."
FILE_DENIED = "A person said no to this file, so it was not saved."
FILE_EXPIRED = "Nobody answered in time, so the file was not saved. Ask again if it is still needed."
FILE_CANCELLED = "The question was taken back, so the file was not saved. Ask again if it is still needed."
FILE_CHANGED = "The file was changed after a person agreed to it, so it was not saved. Ask again."

UPLOAD_DENIED = "A person said no, so the page got no file."
UPLOAD_EXPIRED = "Nobody answered in time, so the page got no file. Ask again if it is still needed."
UPLOAD_CANCELLED = "The question was taken back, so the page got no file. Ask again if it is still needed."
UPLOAD_CHANGED = "The request was changed after a person agreed to it, so the page got no file. Ask again."


def upload_text(payload: Mapping[str, Any]) -> str:
    """The exact text that is agreed to: who gets what."""
    lines = [f"{one['path']}\n{one['size_bytes']:,} bytes, SHA-256 {one['sha256']}" for one in payload["given"]]
    return "\n".join([f"To {payload['origin']}:", *lines])


def upload_detail(payload: Mapping[str, Any], why: str) -> dict[str, Any]:
    """What a person should know of it."""
    return {"origin": payload["origin"], "why": why, "files": list_files(payload)}


def list_files(payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The files of an upload, without where their copies lie."""
    return [{name: one[name] for name in ("path", "size_bytes", "sha256")} for one in payload["given"]]


HELD = "A person has the browser. This is done when they give it back."
TAKEN = (
    "A person took the browser over meanwhile, so what came of this is not told. The page may be another now. "
    "Look at it: `hermit browser snapshot --full`."
)
PASSED = (
    "A person had the browser meanwhile, so the page may be another, and nothing was done. Look at it first: "
    "`hermit browser snapshot --full`."
)


def asked_text(site: str) -> str:
    """For the agent that waits."""
    return f"A person is asked whether {site} may be opened."


def remote_warning(host: str) -> str:
    """Where the browser is, for whoever is asked."""
    return f"The browser is at {host}. Whoever runs it sees its pages, and what is typed into them."


REMOTE_FILES = (
    "The browser is not on this machine, so no file goes into it or comes out of it. `hermit fetch` downloads."
)


def site_detail(link: Link, why: str, *, has_sent_much: bool = False, remote_host: str = "") -> dict[str, Any]:
    """What a person should know of a site, and what they may allow for longer."""
    site = site_of(link.host)
    first = [*([SENT_MUCH] if has_sent_much else []), *([remote_warning(remote_host)] if remote_host else [])]
    return {
        "site": site,
        "why": why,
        "url_chars": len(link.target),
        "warnings": [*first, *(hint.text for hint in list_warnings(link))],
        "grants": KIND,
        "kinds": [site],
    }


def companions_text(site: str, hosts: Sequence[str]) -> str:
    """The exact text that is agreed to."""
    return "\n".join([f"With {site}:", *hosts])


def companions_detail(site: str, hosts: Sequence[str], why: str) -> dict[str, Any]:
    """The same of what pages of a site load from elsewhere."""
    kinds = [f"{host} with {site}" for host in hosts]
    return {"site": site, "why": why, "hosts": list(hosts), "grants": KIND, "kinds": kinds}


def file_text(name: str, size: int) -> str:
    """Where the picture or the PDF is."""
    return f"It is in ../in/{name} ({size:,} bytes)."
