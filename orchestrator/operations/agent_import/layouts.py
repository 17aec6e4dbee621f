"""Whose folder it is, and what each of its files is. By names alone; pure.

Each product may be packed from above its folder, from the folder itself or from the workspace in it:

    OpenClaw  .openclaw/{openclaw.json, cron/jobs.json, skills/, workspace/{SOUL, IDENTITY, USER, AGENTS, MEMORY}.md,
              workspace/memory/*.md, workspace/skills/}
    Hermes    .hermes/{config.yaml, .env, SOUL.md, memories/{MEMORY, USER}.md, skills/, cron/jobs.json}
    nanobot   .nanobot/{config.json, cron/jobs.json, workspace/{SOUL, USER, AGENTS}.md, workspace/memory/MEMORY.md,
              workspace/skills/, workspace/cron/jobs.json}
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.core.errors import BadInput


class Product(StrEnum):
    """Where an agent comes from."""

    OPENCLAW = "OpenClaw"
    HERMES = "Hermes"
    NANOBOT = "nanobot"


class Part(StrEnum):
    """What a file is for."""

    SOUL = "soul"
    IDENTITY = "identity"
    MEMORY = "memory"
    SKILL = "skill"
    SCHEDULES = "schedules"
    NOTE = "note"
    CONFIG = "config"
    OTHER = "other"


UNKNOWN = (
    "This is none of the folders that can be imported. Pack the folder of OpenClaw (.openclaw or its workspace), "
    "Hermes (.hermes) or nanobot (.nanobot or its workspace), so that SOUL.md, or a memory folder, is in it."
)
_MARKS = re.compile(
    r"(?P<root>(?:.*/)?)(?P<mark>SOUL\.md|IDENTITY\.md|MEMORY\.md|AGENTS\.md|USER\.md|memories/[^/]+\.md|memory/[^/]+\.md|"
    r"cron/jobs\.json|openclaw\.json|clawdbot\.json|skills/.+/SKILL\.md)"
)
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})[^/]*\.md")
_NOTES = {"AGENTS.md", "TOOLS.md", "HEARTBEAT.md", "BOOT.md"}
_CONFIGS = {"openclaw.json", "clawdbot.json", "moltbot.json", "config.json", "config.yaml", "config.yml"}

_WHY_NOT: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"(?:^|/)(?:sessions|history|transcripts|conversations)/|history\.jsonl$|state\.db"),
        "Conversations don’t come.",
    ),
    (
        re.compile(r"(?:^|/)(?:logs?|cache|tmp|runs|output|media|browser|\.git|node_modules|\.?venv|__pycache__)/"),
        "Logs, caches, media and programs don’t come.",
    ),
    (re.compile(r"(?:^|/)(?:plugins|hooks|extensions|canvas|skins)/"), "Plugins and hooks don’t run here."),
    (re.compile(r"(?:^|/)profiles/|(?:^|/)workspace-[^/]+/"), "Another agent: import its folder by itself."),
    (re.compile(r"(?:^|/)BOOTSTRAP\.md$"), "It is for the first start of the other product."),
)
_PLAIN_WHY = "Nothing here uses it. Upload it into the agent’s files if you need it."


@dataclass(frozen=True, slots=True)
class Layout:
    """A folder that was recognised."""

    product: Product
    root: str
    """What stands before the product's own folder in each path; empty, or with a slash at its end."""
    home: str
    """The same for the folder with SOUL.md in it."""

    def part_of(self, path: str) -> Part:
        """What this file is for."""
        at = path.removeprefix(self.home) if path.startswith(self.home) else None
        above = path.removeprefix(self.root) if path.startswith(self.root) else path
        name = path.rpartition("/")[2]
        if above == "cron/jobs.json" or at == "cron/jobs.json":
            return Part.SCHEDULES
        if above in _CONFIGS:
            return Part.CONFIG
        if (above.startswith("skills/") or (at or "").startswith("skills/")) and "/." not in f"/{above}":
            return Part.SKILL
        if at is None:
            return Part.OTHER
        if at in ("SOUL.md", "IDENTITY.md"):
            return Part.SOUL if at == "SOUL.md" else Part.IDENTITY
        if at in _NOTES:
            return Part.NOTE
        folders = {Product.HERMES: ("memories/",)}.get(self.product, ("memory/",))
        is_of_folder = any(at.startswith(folder) and "/" not in at.removeprefix(folder) for folder in folders)
        if name.lower().endswith(".md") and (is_of_folder or at in ("MEMORY.md", "USER.md", "memory.md")):
            return Part.MEMORY
        return Part.OTHER

    def skill_of(self, path: str) -> tuple[str, str]:
        """The folder of the skill that this file belongs to, and the path within."""
        base = self.home if path.startswith(f"{self.home}skills/") else self.root
        return base, path.removeprefix(base).removeprefix("skills/")


def recognise(paths: Iterable[str]) -> Layout:
    """Whose folder this is. Raises BadInput."""
    known = list(paths)
    marks = [found for path in known if (found := _MARKS.fullmatch(path)) and not _is_beside(found["root"])]
    if not marks:
        raise BadInput(UNKNOWN)
    homes = sorted(
        {_home_of(found["root"], found["mark"]) for found in marks}, key=lambda home: (home.count("/"), home)
    )
    souls = [found["root"] for found in marks if found["mark"] in ("SOUL.md", "IDENTITY.md")]
    home = min(souls, key=lambda root: (root.count("/"), root)) if souls else homes[-1 if _has_workspace(homes) else 0]
    root = home.removesuffix("workspace/")
    return Layout(_product_of(set(known), root, home), root, home)


def why_not(path: str) -> str:
    """Why a file of no part doesn't come."""
    return next((why for pattern, why in _WHY_NOT if pattern.search(path)), _PLAIN_WHY)


def day_of(path: str) -> str:
    """The day that a daily note is of; empty for other files."""
    found = _DAY.fullmatch(path.rpartition("/")[2])
    return found[1] if found else ""


def _is_beside(root: str) -> bool:
    """Within a skill, a profile or a program."""
    return re.search(r"(?:^|/)(?:skills|profiles|node_modules|\.git|sessions|templates)/", root) is not None


def _home_of(root: str, mark: str) -> str:
    return f"{root}workspace/" if mark in ("openclaw.json", "clawdbot.json") else root


def _has_workspace(homes: list[str]) -> bool:
    return homes[-1].endswith("workspace/")


def _product_of(paths: set[str], root: str, home: str) -> Product:
    below = {path.removeprefix(root) for path in paths if path.startswith(root)}
    inside = {path.removeprefix(home) for path in paths if path.startswith(home)}
    if ".hermes/" in root or any(path.startswith("memories/") for path in inside) or "config.yaml" in below:
        return Product.HERMES
    if (
        ".nanobot/" in root
        or "memory/MEMORY.md" in inside
        or "memory/history.jsonl" in inside
        or "config.json" in below
    ):
        return Product.NANOBOT
    return Product.OPENCLAW
