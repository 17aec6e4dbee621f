"""The lines below the input: the tabs with what goes on in each, and what this conversation is and costs. Fits any
width."""

from __future__ import annotations

from collections.abc import Sequence

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.utils import get_cwidth

from orchestrator.cli.talk.tabs import Mark, Tab, Tabs
from orchestrator.core.text import one_line

MARKS: dict[Mark, tuple[str, str]] = {
    "": ("", ""),
    "asks": (" ?", "class:mark.asks"),
    "works": (" …", "class:mark.works"),
    "new": (" •", "class:mark.new"),
}
"""What stands behind a name, and its style: said by signs, not by colours alone."""


def tab_strip(tabs: Tabs, elsewhere: Sequence[str], width: int) -> StyleAndTextTuples:
    """``1 crab …  2 clerk ?``; agents without a tab that wait for an answer are named behind them."""
    line: StyleAndTextTuples = []
    room = width - 1
    for number, tab in enumerate(tabs.all, 1):
        sign, style = MARKS[tab.mark]
        name = f" {number} {one_line(tab.called, 20)}"
        need = get_cwidth(name) + len(sign) + 1
        if need > room:
            break
        room -= need
        line += [("class:tab.here" if tab is tabs.current else "class:tab", name), (style, sign), ("", " ")]
    if elsewhere:
        said = f" {', '.join(elsewhere)} {'asks' if len(elsewhere) == 1 else 'ask'}: /asked"
        line += [("class:mark.asks", said)] if get_cwidth(said) <= room else []
    return line


def status_line(tab: Tab, *, is_live: bool, width: int) -> str:
    """Model, conversation, tokens, cost and what is left of the budget; what doesn't fit is left out from the end."""
    facts = tab.facts
    budget = facts.get("budget") or {}
    model = facts.get("model") or facts.get("default_model") or ""
    more = "+" if tab.has_more else ""
    parts = [] if is_live else ["not connected"]
    parts += [one_line(str(model), 30)] if model else []
    parts += [one_line(tab.name, 28)] if tab.name else []
    parts += [f"{short_count(tab.tokens)}{more} tokens"] if tab.tokens else []
    parts += [f"${tab.cost_usd:,.2f}{more}"] if tab.cost_usd >= 0.005 else []
    if budget.get("is_stopped"):
        parts.insert(0, "budget used up")
    elif budget.get("left_usd") is not None:
        parts.append(f"${max(budget['left_usd'], 0):,.2f} left today")
    line = ""
    for part in parts:
        longer = f"{line} · {part}" if line else f" {part}"
        if get_cwidth(longer) >= width:
            break
        line = longer
    return line


def short_count(count: int) -> str:
    """``950``, ``12.3k``, ``1.2M``."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:.1f}M"


def activity_line(tab: Tab, seconds: float | None, width: int) -> str:
    """What the agent does now, and for how long."""
    stories = tab.open_stories
    if not stories:
        return ""
    took = f" · {seconds:.0f} s" if seconds is not None and seconds >= 2 else ""
    more = f" · {len(stories) - 1} more" if len(stories) > 1 else ""
    end = f"{took}{more} · {'Ctrl+C' if tab.cards else 'Esc'} stops"
    room = max(10, width - get_cwidth(end) - 3)
    return f"⋯ {one_line(f'{tab.called} {stories[0].doing}', room)}{end}"
