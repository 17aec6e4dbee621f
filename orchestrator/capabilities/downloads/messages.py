"""The words of downloads: what a person is shown before they decide, what a file shall be called, how it ended.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.capabilities.downloads.records import Asset, AssetStatus
from orchestrator.core.text import one_line
from orchestrator.files.names import display_path, safe_name
from orchestrator.web.url_warnings import list_warnings
from orchestrator.web.urls import Link

INBOX = "/app/workspace/in"
NAMELESS = "download"
_ENDING = re.compile(r"[A-Za-z0-9]{1,10}")
_HAS_ENDING = re.compile(r".\.[A-Za-z0-9]{1,16}\Z", re.DOTALL)
_MOST_NAME = 120
_SHOWN_URL = 200
_MOST_NOTES = 20

_UNFETCHED = {
    AssetStatus.DENIED: "A person said no to this download, so nothing was fetched.",
    AssetStatus.EXPIRED: "Nobody answered in time, so nothing was fetched. Ask again if it is still needed.",
    AssetStatus.CANCELLED: "The question was taken back, so nothing was fetched. Ask again if it is still needed.",
}


def approval_reason(link: Link) -> str:
    """Why a person is asked, in one sentence."""
    return f"The host would fetch a file from {link.host} into in/."


def approval_detail(link: Link, *, description: str, file_type: str, led_by: str = "") -> dict[str, Any]:
    """What a person should know; ``led_by`` is the URL that sends on to this one."""
    cautions = [hint.text for hint in list_warnings(link)]
    told: dict[str, Any] = {
        "host": link.host,
        "host_shown": link.readable_host,
        "url_chars": len(link.target),
        "warnings": cautions,
        "description": description,
        "file_type": file_type,
    }
    if led_by:
        told["led_by"] = led_by
        told["warnings"] = [f"It was not asked for itself: {led_by} sends on to it, to another host.", *cautions]
    return told


def name_of(link: Link, file_type: str) -> str:
    """How the file shall be called: as its URL says, with the ending that was expected where there is none."""
    last = unquote(link.path.rstrip("/").rpartition("/")[2])
    name = safe_name(last) if last.strip("._- ") else NAMELESS
    ending = file_type.rpartition("/")[2]
    if not _HAS_ENDING.search(name):
        name = name[:_MOST_NAME] + (f".{ending}" if _ENDING.fullmatch(ending) else "")
    return safe_name(name)


def asked_text(asset: Asset) -> str:
    """What the agent is told while a person is asked."""
    return (
        f"A person is asked whether the host may fetch this from {asset.host} (question {asset.id}). {_where(asset)} "
        "Go on without it, or wait: hermit fetch with the same URL waits for the answer."
    )


def under_way(asset: Asset) -> str:
    """What the agent is told while it is fetched."""
    return f"It is being fetched from {asset.host} ({asset.id}). {_where(asset)} hermit fetch with the same URL waits."


def _where(asset: Asset) -> str:
    return f"The file will be {INBOX}/{display_path(asset.wanted.encode())}, with a number if that name is taken."


def outcome_text(asset: Asset) -> str:
    """How it ended, for the call that waits."""
    if asset.status is AssetStatus.DONE:
        return f"The file is {INBOX}/{asset.name} ({format_size(asset.size_bytes)})."
    unfetched = _UNFETCHED.get(asset.status, "The download failed.")
    return f"{unfetched} {asset.error}".strip()


def outcome_result(asset: Asset) -> dict[str, Any]:
    """The same for programs."""
    if asset.status is AssetStatus.DONE:
        return {"path": f"{INBOX}/{asset.name}", "size_bytes": asset.size_bytes, "sha256": asset.sha256}
    return {"code": str(asset.status)}


def led_astray(asset: Asset, other: Asset) -> str:
    """Why a download failed that sends on to another."""
    return f"{asset.host} sends on to {other.host}. {outcome_text(other)}"


def agent_note(asset: Asset) -> str:
    """How it ended, for the agent at the start of a turn."""
    url = one_line(asset.url, _SHOWN_URL)
    if asset.status is AssetStatus.DONE:
        return f"{_landed(asset)} has arrived (you asked for {url})."
    return f"You asked for {url}. {outcome_text(asset)}"


def agent_notes(ended: Sequence[Asset]) -> str:
    """How several ended: of many the latest, so that a prompt has room for more."""
    told = [agent_note(asset) for asset in ended[-_MOST_NOTES:]]
    if len(ended) > len(told):
        told.insert(0, f"{len(ended) - len(told):,} earlier downloads have ended, too: look into {INBOX}.")
    return " ".join(told)


def person_notice(asset: Asset, agent: str) -> str:
    """How it ended, for the person."""
    if asset.status is AssetStatus.DONE:
        return f"{_landed(asset)} has arrived for {agent}: {format_size(asset.size_bytes)} from {asset.host}."
    return f"The download of {one_line(asset.url, _SHOWN_URL)} for {agent} failed. {asset.error}"


def audit_text(asset: Asset) -> str:
    """How it ended, for the audit log."""
    if asset.status is AssetStatus.DONE:
        return f"{_landed(asset)} came from {asset.host} ({asset.size_bytes:,} bytes)."
    return f"The download of {asset.url} ended: {asset.status}. {asset.error}".rstrip()


def _landed(asset: Asset) -> str:
    return display_path(b"in", asset.name.encode())


def as_json(asset: Asset) -> dict[str, Any]:
    """The download as surfaces show it."""
    is_done = asset.status is AssetStatus.DONE
    return {
        "id": asset.id,
        "agent": asset.cubicle.agent,
        "user": asset.cubicle.user,
        "turn": asset.turn,
        "description": asset.description,
        "url": asset.url,
        "host": asset.host,
        "file_type": asset.file_type,
        "status": str(asset.status),
        "error": asset.error,
        "onward": asset.onward or None,
        "path": display_path(b"in", asset.name.encode()) if is_done else None,
        "size_bytes": asset.size_bytes if is_done else None,
        "sha256": asset.sha256 if is_done else None,
        "content_type": asset.content_type if is_done else None,
        "asked_at": asset.asked_at,
        "ended_at": asset.ended_at,
    }
