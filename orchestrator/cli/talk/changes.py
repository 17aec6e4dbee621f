"""What a turn has changed in an agent's files, line by line, from its points of time. Prints nothing."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from orchestrator.cli.changed_files import list_changes, show_lines
from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.cli.colors import Paint

_MOST_FILES = 12
_MOST_LINES = 200
_PAGE, _PAGES = 200, 10


def read_changes(client: ApiClient, agent: str, turn: int) -> list[str]:
    """Lines of a diff; empty when it has changed nothing, as far as points are kept."""
    span = _find_span(client, agent, turn)
    if span is None:
        return []
    path = agent_path(agent, f"/checkpoints/{span[0]}/diff")
    found = client.get(path, to=span[1])
    files = [change for change in found["changes"] if _is_file(change)][:_MOST_FILES]
    plain = Paint(is_on=False)
    lines: list[str] = []
    for change in files:
        whole = client.get(f"{path}?path={quote(change['path'], safe='')}", to=found["to"])
        change["lines"] = whole["changes"][0]["lines"] if whole["changes"] else None
        lines += show_lines(change, plain)
    named = {change["path"] for change in files}
    lines += list_changes(
        [change for change in found["changes"] if change["path"] not in named], found["total"] - len(files), plain
    )
    more = len(lines) - _MOST_LINES
    return lines if more <= 0 else [*lines[:_MOST_LINES], f"… {more:,} more lines: ./hermit checkpoints {agent} diff"]


def _find_span(client: ApiClient, agent: str, turn: int) -> tuple[int, int] | None:
    """The points before the turn and at its newest."""
    last = start = None
    before: int | None = None
    for _ in range(_PAGES):
        page: dict[str, Any] = client.get(agent_path(agent, "/checkpoints"), before=before, limit=_PAGE)
        for point in page["checkpoints"]:
            if point["turn"] == turn:
                last = last or point["id"]
                start = point["id"] if point["kind"] == "before" else None
            elif last is not None:
                return (start or point["id"], last) if (start or point["id"]) != last else None
        before = page["next"]
        if before is None:
            break
    return (start, last) if start is not None and last is not None and start != last else None


def _is_file(change: dict[str, Any]) -> bool:
    return any(facts and facts["type"] == "file" for facts in (change["old"], change["new"]))
