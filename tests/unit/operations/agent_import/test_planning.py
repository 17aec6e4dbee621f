"""The dry run of the folders of all three products: what comes, what doesn't and why, and what looks like a secret."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from orchestrator.core.errors import BadInput
from orchestrator.operations.agent_import.archive import open_archive
from orchestrator.operations.agent_import.layouts import Product
from orchestrator.operations.agent_import.planning import ImportPlan, plan_import
from tests.support.foreign_agents import FAKE_KEY, HERMES, NANOBOT, OPENCLAW, zipped

NOW = datetime(2026, 3, 2, 12, 34, 56, tzinfo=UTC)


def plan(files: Mapping[str, str | bytes], *ticked: str, zone: str = "UTC") -> ImportPlan:
    """The dry run of these files."""
    return plan_import(open_archive(zipped(files)), zone=zone, now=NOW, ticked=ticked)


def texts(found: ImportPlan) -> list[str]:
    """The memories."""
    return [fact.text for fact in found.facts]


def whys(found: ImportPlan) -> dict[str, str]:
    """What doesn't come."""
    return {one.path: one.why for one in found.left_out}


def test_openclaw() -> None:
    """Who it is, what it knows, its skills, its schedules in their zones."""
    found = plan(OPENCLAW)
    assert (found.product, found.time_zone) == (Product.OPENCLAW, "Europe/Vienna")
    persona = found.persona
    assert (persona.display_name, persona.avatar, persona.role) == ("Molty", "🦞", "sharp, warm, a little chaotic")
    assert "Be genuinely helpful." in persona.personality
    assert texts(found) == [
        "The boat: She is called Nautilus.",
        "The boat: Her mast is of larch,\nfrom Styria.",
        "About the person: Name: Ada Winter",
        "About the person: Timezone: Europe/Vienna",
        "About the person: Context: Builds a wooden boat, hates phone calls.",
        "2026-02-01: Ordered varnish.",
        "Skill “weather”: Reads the sky. Read ../in/skill-weather.md before using it.",
        "Skill “bread”: Bakes bread with a poolish. Read ../in/skill-bread.md before using it.",
    ]
    assert [file.name for file in found.files] == [
        "skill-weather.md",
        "skill-bread.md",
        "skill-bread-scripts-weigh.py",
        "AGENTS.md",
        "HEARTBEAT.md",
    ]
    brief, varnish = found.entries
    assert (brief.entry.repeat, brief.entry.time_zone) == ("0 7 * * 1-5", "America/New_York")
    assert (varnish.entry.repeat, varnish.entry.time_zone) == ("FREQ=HOURLY;INTERVAL=2", "Europe/Vienna")
    assert whys(found)[".openclaw/cron/jobs.json: Long ago"].startswith("start: that time has passed.")
    assert whys(found)[".openclaw/agents/…"] == "Conversations don’t come."


def test_hermes() -> None:
    """Entries between section signs, skills in categories, jobs by minutes and once."""
    found = plan(HERMES)
    assert (found.product, found.time_zone) == (Product.HERMES, "Asia/Tokyo")
    assert found.persona.personality.startswith("# Personality\n\nYou are a pragmatic senior engineer.")
    assert texts(found)[:3] == [
        "Project builds with make -j2; tests need the VPN off.",
        "The staging host is called\nheron.",
        "About the person: Prefers short answers.",
    ]
    assert [file.name for file in found.files] == ["skill-devops-deploy.md", "skill-devops-deploy-references-hosts.md"]
    assert [(one.entry.title, one.entry.repeat, one.was_on) for one in found.entries] == [
        ("Weekly report", "30 16 * * 5", False),
        ("Watch", "FREQ=MINUTELY;INTERVAL=30", True),
        ("Far away", "", True),
    ]
    assert found.entries[2].entry.start.startswith("2030-03-01T09:00:00+09:00")
    assert "no message for the agent" in whys(found)[".hermes/cron/jobs.json: Script"]


def test_nanobot() -> None:
    """What its templates left to be filled in is no memory."""
    found = plan(NANOBOT)
    assert (found.product, found.time_zone) == (Product.NANOBOT, "Asia/Shanghai")
    assert texts(found) == [
        "About the person: Basic Information: Name: Mei",
        "About the person: Communication Style: Casual",
        "Project Context: Learns the cello.",
        "Skill “tuning”: no description. Read ../in/skill-tuning.md before using it.",
    ]
    assert [(one.entry.title, one.rhythm) for one in found.entries] == [
        ("Practise", "every day at 18:00 (Asia/Shanghai)")
    ]


@pytest.mark.parametrize(("files", "top"), [(OPENCLAW, ".openclaw/"), (HERMES, ".hermes/"), (NANOBOT, ".nanobot/")])
def test_it_may_be_packed_from_above_or_from_within(files: dict[str, str], top: str) -> None:
    """The folder itself, what is in it, or a folder around it: the same comes."""
    whole = plan(files)
    for other in (
        {name.removeprefix(top): content for name, content in files.items()},
        {f"home/ada/{name}": content for name, content in files.items()},
    ):
        found = plan(other)
        assert found.product is whole.product
        assert texts(found) == texts(whole)
        assert [one.entry for one in found.entries] == [one.entry for one in whole.entries]


@pytest.mark.parametrize(("files", "top"), [(OPENCLAW, ".openclaw/workspace/"), (NANOBOT, ".nanobot/workspace/")])
def test_the_workspace_alone_is_enough(files: dict[str, str], top: str) -> None:
    """Persona, memories and skills are in it; the rest isn't."""
    found = plan({f"workspace/{n.removeprefix(top)}": c for n, c in files.items() if n.startswith(top)})
    assert found.product is plan(files).product
    assert found.persona.personality
    assert found.facts
    assert found.entries == []


@pytest.mark.parametrize("files", [OPENCLAW, HERMES, NANOBOT])
def test_no_secret_comes_unasked(files: dict[str, str]) -> None:
    """In nothing that comes is a key or a password; every file with one is named."""
    found = plan(files)
    assert FAKE_KEY not in repr((found.persona, texts(found), [one.fields for one in found.entries]))
    for file in found.files:
        assert FAKE_KEY.encode() not in file.content
        assert b"tr0ub4dor" not in file.content
    for name, content in files.items():
        if FAKE_KEY in content or "tr0ub4dor" in content or name.endswith((".env", "auth.json")):
            assert name in found.secrets, name


def test_what_is_ticked_comes_file_by_file() -> None:
    """That file alone: as a file, or its memories with the others."""
    tools, memory, env = ".openclaw/workspace/TOOLS.md", ".openclaw/workspace/MEMORY.md", ".openclaw/.env"
    found = plan(OPENCLAW, tools)
    assert [file.name for file in found.files if file.path == tools] == ["TOOLS.md"]
    assert f"Money: The key of the shop is {FAKE_KEY}" not in texts(found)
    assert f"Money: The key of the shop is {FAKE_KEY}" in texts(plan(OPENCLAW, memory))
    assert [file.name for file in plan(OPENCLAW, env).files if file.path == env] == ["env"]


def test_a_long_personality_is_cut_and_comes_whole_as_a_file() -> None:
    """At a paragraph, with a word about it."""
    soul = "# Soul\n\n" + "\n\n".join(f"Principle {n}: " + "be kind, " * 20 for n in range(60))
    found = plan({"SOUL.md": soul, "IDENTITY.md": "- **Name:** Long\n"})
    assert len(found.persona.personality) <= 4000
    assert soul.startswith(found.persona.personality)
    assert [file.name for file in found.files] == ["SOUL.md"]
    assert "all of it comes as a file" in whys(found)["SOUL.md"]


def test_what_can_not_be_read_is_left_out_and_said() -> None:
    """The rest comes."""
    found = plan(
        {
            "SOUL.md": "Kind.",
            "MEMORY.md": b"\xff\xfe\x00bad",
            "AGENTS.md": "x" * (300 << 10),
            "cron/jobs.json": '{"jobs": 3}',
            "skills/loose.md": "no skill",
        }
    )
    assert found.persona.personality == "Kind."
    told = whys(found)
    assert told["MEMORY.md"] == "It is no text in UTF-8."
    assert told["AGENTS.md"] == "It is larger than 256 KB."
    assert told["cron/jobs.json"] == "It has no list of jobs."
    assert told["skills/loose.md"] == "It belongs to no skill."


@pytest.mark.parametrize(
    "schedule",
    [
        {"kind": "cron", "expr": "0 7 * * * *"},
        {"kind": "cron", "expr": "* * * * *"},
        {"kind": "cron", "expr": "0 7 * * *", "tz": "Mars/Olympus"},
        {"kind": "cron", "expr": ["0 7 * * *"]},
        {"kind": "every", "everyMs": 1000},
        {"kind": "every", "everyMs": "soon"},
        {"kind": "interval", "minutes": True},
        {"kind": "interval", "minutes": 1e300},
        {"kind": "at", "at": "tomorrow"},
        {"kind": "at", "atMs": -5},
        {"kind": "at"},
        {"kind": "moon"},
        {},
        "0 7 * * *",
        None,
    ],
)
def test_a_schedule_that_can_not_come_says_why(schedule: object) -> None:
    """It alone stays out."""
    import json

    jobs = {"jobs": [{"name": "Odd", "schedule": schedule, "payload": {"message": "Do it."}}]}
    found = plan({"SOUL.md": "x", "IDENTITY.md": "y", "cron/jobs.json": json.dumps(jobs)})
    assert found.entries == []
    assert len(whys(found)["cron/jobs.json: Odd"]) > 10


@pytest.mark.parametrize("files", [{"README.md": "hi"}, {"node_modules/x/AGENTS.md": "no"}, {"a/b.txt": "c"}])
def test_another_folder_is_refused(files: dict[str, str]) -> None:
    """With what may be sent."""
    with pytest.raises(BadInput, match="none of the folders"):
        plan(files)
