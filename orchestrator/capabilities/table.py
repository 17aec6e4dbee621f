"""The list of all capabilities. A new one is a folder, and a line here; the order is that of help and of settings."""

from __future__ import annotations

from orchestrator.capabilities.ask import capability as ask
from orchestrator.capabilities.browser import capability as browser
from orchestrator.capabilities.calendar import capability as calendar
from orchestrator.capabilities.checkpoint import capability as checkpoint
from orchestrator.capabilities.delivery import capability as delivery
from orchestrator.capabilities.downloads import capability as downloads
from orchestrator.capabilities.lessons import capability as lessons
from orchestrator.capabilities.mcp import capability as mcp
from orchestrator.capabilities.memory import capability as memory
from orchestrator.capabilities.packages import capability as packages
from orchestrator.capabilities.plan import capability as plan
from orchestrator.capabilities.recall import capability as recall
from orchestrator.capabilities.registry import Registry
from orchestrator.capabilities.roll import capability as roll
from orchestrator.capabilities.search import capability as search
from orchestrator.capabilities.status import capability as status
from orchestrator.capabilities.video import capability as video

CAPABILITIES = (
    calendar.CAPABILITY,
    memory.CAPABILITY,
    downloads.CAPABILITY,
    packages.CAPABILITY,
    ask.CAPABILITY,
    video.CAPABILITY,
    recall.CAPABILITY,
    lessons.CAPABILITY,
    search.CAPABILITY,
    browser.CAPABILITY,
    mcp.CAPABILITY,
    delivery.CAPABILITY,
    checkpoint.CAPABILITY,
    plan.CAPABILITY,
    status.CAPABILITY,
    roll.CAPABILITY,
)

REGISTRY = Registry(CAPABILITIES)

TOOLSETS = tuple(REGISTRY.toolsets)
"""Every switch in an agent's settings."""
