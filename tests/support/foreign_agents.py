# ruff: noqa: E501  # files as they are, line by line
"""Folders of other products as people have them, small: OpenClaw, Hermes and nanobot."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

FAKE_KEY = "sk-or-v1-" + "0123456789abcdef" * 4
"""As an API key looks; nobody's."""

OPENCLAW: dict[str, str] = {
    ".openclaw/openclaw.json": '{\n  // JSON5\n  agents: { defaults: { workspace: "~/.openclaw/workspace",\n'
    '    userTimezone: "Europe/Vienna" } },\n  channels: { telegram: { botToken: "123456789:'
    + "A" * 35
    + '" } },\n}\n',
    ".openclaw/credentials/oauth.json": json.dumps({"access": FAKE_KEY}),
    ".openclaw/.env": f"OPENROUTER_API_KEY={FAKE_KEY}\n",
    ".openclaw/agents/main/sessions/9f1c.jsonl": '{"type":"message"}\n',
    ".openclaw/agents/main/agent/auth-profiles.json": json.dumps({"key": FAKE_KEY}),
    ".openclaw/logs/gateway.log": "started\n",
    ".openclaw/skills/weather/SKILL.md": "---\nname: weather\ndescription: Reads the sky.\n---\n\nLook up.\n",
    ".openclaw/workspace/AGENTS.md": "# AGENTS.md - Your Workspace\n\nRead SOUL.md first.\n",
    ".openclaw/workspace/SOUL.md": "# SOUL.md - Who You Are\n\n_You're not a chatbot._\n\nBe genuinely helpful. Have "
    "opinions. Be careful with anything that leaves the house.\n",
    ".openclaw/workspace/IDENTITY.md": "# IDENTITY.md - Who Am I?\n\n- **Name:** Molty\n- **Creature:** space lobster\n"
    "- **Vibe:** sharp, warm, a little chaotic\n- **Emoji:** 🦞\n- **Avatar:**\n  _(workspace-relative path)_\n",
    ".openclaw/workspace/USER.md": "# USER.md - About Your Human\n\n_Learn about them._\n\n- **Name:** Ada Winter\n"
    "- **Pronouns:** _(optional)_\n- **Timezone:** Europe/Vienna\n\n## Context\n\nBuilds a wooden boat, hates phone calls.\n",
    ".openclaw/workspace/TOOLS.md": "# TOOLS.md\n\n- Camera: front-door, 192.168.1.20\n- NAS password: tr0ub4dor&3\n",
    ".openclaw/workspace/HEARTBEAT.md": "# HEARTBEAT.md\n\n- Look at the mailbox\n",
    ".openclaw/workspace/MEMORY.md": "# Long-term memory\n\n## The boat\n\n- She is called Nautilus.\n- Her mast is of larch,\n"
    f"  from Styria.\n\n## Money\n\n- The key of the shop is {FAKE_KEY}\n",
    ".openclaw/workspace/memory/2026-02-01.md": "# 2026-02-01\n\n- Ordered varnish.\n",
    ".openclaw/workspace/skills/bread/SKILL.md": "---\nname: bread\ndescription: >\n  Bakes bread\n  with a poolish.\n"
    'metadata: {"openclaw":{"emoji":"🍞"}}\n---\n\n1. Mix.\n2. Wait.\n',
    ".openclaw/workspace/skills/bread/scripts/weigh.py": "print('500 g')\n",
    ".openclaw/cron/jobs.json": json.dumps(
        {
            "version": 1,
            "jobs": [
                {
                    "id": "a1",
                    "name": "Morning brief",
                    "enabled": True,
                    "createdAtMs": 1,
                    "updatedAtMs": 1,
                    "schedule": {"kind": "cron", "expr": "0 7 * * 1-5", "tz": "America/New_York"},
                    "sessionTarget": "isolated",
                    "wakeMode": "now",
                    "payload": {"kind": "agentTurn", "message": "Sum up what came overnight.", "deliver": True},
                    "state": {},
                },
                {
                    "id": "a2",
                    "name": "Varnish",
                    "enabled": True,
                    "schedule": {"kind": "every", "everyMs": 7_200_000, "anchorMs": 0},
                    "payload": {"kind": "systemEvent", "text": "Is the varnish dry?"},
                    "state": {},
                },
                {
                    "id": "a3",
                    "name": "Long ago",
                    "enabled": False,
                    "schedule": {"kind": "at", "at": "2024-01-01T09:00:00Z"},
                    "payload": {"kind": "systemEvent", "text": "Happy new year"},
                    "state": {},
                },
            ],
        }
    ),
}
HERMES: dict[str, str] = {
    ".hermes/config.yaml": "model: anthropic/claude\ntimezone: Asia/Tokyo\nterminal:\n  backend: local\n",
    ".hermes/.env": f"ANTHROPIC_API_KEY={FAKE_KEY}\n",
    ".hermes/auth.json": "{}",
    ".hermes/SOUL.md": "# Personality\n\nYou are a pragmatic senior engineer.\n\n## Style\n- Be direct without being cold\n",
    ".hermes/memories/MEMORY.md": "Project builds with make -j2; tests need the VPN off.\n§\nThe staging host is called\n"
    "heron.\n§\n",
    ".hermes/memories/USER.md": "Prefers short answers.\n§\nWrites Python, reads Rust.\n",
    ".hermes/skills/devops/deploy/SKILL.md": '---\nname: deploy\ndescription: "Deploys the site."\nversion: 1.0.0\n---\nSteps.\n',
    ".hermes/skills/devops/deploy/references/hosts.md": "heron\n",
    ".hermes/skills/.hub/lock.json": "{}",
    ".hermes/sessions/1.json": "{}",
    ".hermes/state.db": "SQLite",
    ".hermes/cron/output/x/1.md": "old output",
    ".hermes/cron/jobs.json": json.dumps(
        {
            "jobs": [
                {
                    "id": "j1",
                    "name": "Weekly report",
                    "prompt": "Write the weekly report.",
                    "skills": [],
                    "schedule": {"kind": "cron", "expr": "30 16 * * 5", "display": "every friday 4:30pm"},
                    "repeat": {"times": None, "completed": 3},
                    "enabled": False,
                    "state": "paused",
                    "deliver": "telegram",
                },
                {
                    "id": "j2",
                    "name": "Watch",
                    "prompt": "Look at the queue.",
                    "schedule": {"kind": "interval", "minutes": 30, "display": "every 30m"},
                    "enabled": True,
                },
                {
                    "id": "j3",
                    "name": "Far away",
                    "prompt": "Renew the passport.",
                    "schedule": {"kind": "once", "run_at": "2030-03-01T09:00:00+09:00", "display": "once"},
                    "enabled": True,
                },
                {
                    "id": "j4",
                    "name": "Script",
                    "prompt": "",
                    "script": "x.py",
                    "schedule": {"kind": "interval", "minutes": 5},
                },
            ],
            "updated_at": "2026-02-01T00:00:00+09:00",
        }
    ),
}
NANOBOT: dict[str, str] = {
    ".nanobot/config.json": json.dumps(
        {
            "agents": {"defaults": {"workspace": "~/.nanobot/workspace", "timezone": "Asia/Shanghai"}},
            "providers": {"openrouter": {"apiKey": FAKE_KEY}},
        },
        indent=2,
    ),
    ".nanobot/workspace/SOUL.md": "# Soul\n\nI am nanobot 🐈, a personal AI assistant.\n\n## Core Principles\n\n- Solve by doing.\n",
    ".nanobot/workspace/USER.md": "# User Profile\n\nInformation about the user to help personalize interactions.\n\n"
    "## Basic Information\n\n- **Name**: Mei\n- **Timezone**: (your timezone, e.g., UTC+8)\n\n## Preferences\n\n"
    "### Communication Style\n\n- [x] Casual\n- [ ] Professional\n\n---\n\n*Edit this file to customize nanobot.*\n",
    ".nanobot/workspace/AGENTS.md": "# Agent Instructions\n\nUse the cron tool.\n",
    ".nanobot/workspace/HEARTBEAT.md": "# Heartbeat Tasks\n\n## Active Tasks\n",
    ".nanobot/workspace/memory/MEMORY.md": "# Long-term Memory\n\nThis file stores important information that should persist "
    "across sessions.\n\n## User Information\n\n(Important facts about the user)\n\n## Project Context\n\n- Learns the cello.\n",
    ".nanobot/workspace/memory/history.jsonl": '{"cursor": 1, "content": "- hello"}\n',
    ".nanobot/workspace/skills/tuning/SKILL.md": "# Tuning\n\nA is 442 Hz.\n",
    ".nanobot/workspace/sessions/telegram_1.jsonl": "{}\n",
    ".nanobot/cron/jobs.json": json.dumps(
        {
            "version": 1,
            "jobs": [
                {
                    "id": "x1",
                    "name": "Practise",
                    "enabled": True,
                    "schedule": {"kind": "cron", "atMs": None, "everyMs": None, "expr": "0 18 * * *", "tz": None},
                    "payload": {
                        "kind": "agent_turn",
                        "message": "Remind Mei to practise.",
                        "deliver": True,
                        "channel": "cli",
                    },
                    "state": {"nextRunAtMs": None},
                    "createdAtMs": 1,
                    "updatedAtMs": 1,
                    "deleteAfterRun": False,
                },
                {
                    "id": "x2",
                    "name": "heartbeat",
                    "enabled": True,
                    "schedule": {"kind": "every", "everyMs": 1_800_000},
                    "payload": {"kind": "system_event", "message": ""},
                },
            ],
        }
    ),
}


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """The files as a zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def lay_folder(files: Mapping[str, str], below: Path) -> Path:
    """The files as a folder; its top one."""
    for name, content in files.items():
        path = below / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return below / next(iter(files)).partition("/")[0]
