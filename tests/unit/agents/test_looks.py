"""How an agent is called and looks: names in any script, signs, emoji and colours, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agents.agents import Agents
from orchestrator.agents.looks import COLORS, SIGNS, look_of, parse_avatar, parse_color, parse_display_name
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict
from orchestrator.core.hooks import Hooks

STYLES = Path("dashboard/static/pieces.css")
LEAST_CONTRAST = 4.5


@pytest.fixture
def agents(tmp_path: Path) -> Agents:
    """Two agents."""
    made = Agents(Store(tmp_path / "hermit.db"), providers=(), toolsets=("memory",), hooks=Hooks())
    made.create({"name": "crab"})
    made.create({"name": "clerk", "display_name": "Ms Ledger"})
    return made


@pytest.mark.parametrize(
    "name", ["", "Juno", "海の友", "نورا", "می‌رود", "Łukasz 2", "Dr. Ámbar", "x" * 40, "👩‍🚀 Sally"]
)
def test_a_name_in_any_script_is_kept(name: str) -> None:
    """Joiners of Persian words and of emoji are part of a name."""
    assert parse_display_name("display_name", name) == name


@pytest.mark.parametrize("name", ["x" * 41, "a\u202eb", "a\x00b", "\u200b", "…", "🦀", 7, None, ["a"]])
def test_what_can_not_be_read_is_no_name(name: Any) -> None:
    """Too long, turned around, invisible, without a letter: the error names the field."""
    with pytest.raises(BadInput, match=r"^display_name: "):
        parse_display_name("display_name", name)


def test_a_name_is_on_one_line() -> None:
    """Blanks and line breaks become one blank."""
    assert parse_display_name("display_name", "  Juno \n the\tBrave ") == "Juno the Brave"


@pytest.mark.parametrize("avatar", ["", *SIGNS, "🦊", "👩‍💻", "👍🏽", "🇦🇹", "❤️", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "3️⃣"])
def test_a_sign_or_one_emoji(avatar: str) -> None:
    """Also with a colour of skin, as a family, or as a flag."""
    assert parse_avatar("avatar", avatar) == ("" if avatar == "shell" else avatar)


@pytest.mark.parametrize("avatar", ["🦊🦊", "ab", "<b>", "\u2800", "🦊" + "\u200d🦊" * 5, "dragon", "◆", 3, None])
def test_anything_else_is_no_avatar(avatar: Any) -> None:
    """Words, markup, several emoji and blanks."""
    with pytest.raises(BadInput, match=r"^avatar: "):
        parse_avatar("avatar", avatar)


def test_colors_are_of_the_palette() -> None:
    """Or the one that goes with the name, which stays the same."""
    assert [parse_color("color", color) for color in ("", *COLORS)] == ["", *COLORS]
    for wrong in ("red", "#fff", None, 1, "lagoon; x"):
        with pytest.raises(BadInput, match=r"^color: "):
            parse_color("color", wrong)
    assert look_of("crab").color == look_of("crab", color="nothing").color in COLORS
    assert look_of("crab", color="plum").color == "plum"


def test_every_color_can_be_read() -> None:
    """What stands on a colour has the contrast of text; the stylesheet has all of them and no more."""
    rules = re.findall(r"\.tone-(\w+) \{ --tone: #(\w{6}); --on-tone: #(\w{6}); \}", STYLES.read_text(encoding="utf-8"))
    assert tuple(name for name, _, _ in rules) == COLORS
    for name, ground, ink in rules:
        low, high = sorted((_luminance(ground), _luminance(ink)))
        assert (high + 0.05) / (low + 0.05) >= LEAST_CONTRAST, name


def test_renaming_keeps_the_technical_name(agents: Agents) -> None:
    """People call it otherwise, and an empty name brings the first back."""
    renamed = agents.update_agent("crab", {"display_name": "Juno", "avatar": "owl", "color": "moss"})
    assert (renamed.name, renamed.display_name, renamed.avatar, renamed.color) == ("crab", "Juno", "owl", "moss")
    assert agents.called("crab") == "Juno"
    assert agents.update_agent("crab", {"display_name": ""}).display_name == ""
    assert agents.called("crab") == "crab"
    assert agents.called("nobody") == "nobody"


def test_no_two_are_called_the_same(agents: Agents) -> None:
    """Neither by a name of the other nor by what the other is called, whatever the capitals."""
    for taken in ("CLERK", "ms ledger"):
        with pytest.raises(Conflict, match=r"^display_name: the agent clerk"):
            agents.update_agent("crab", {"display_name": taken})
    agents.update_agent("crab", {"display_name": "second"})
    with pytest.raises(Conflict, match=r"^name: the agent crab"):
        agents.create({"name": "second"})
    assert agents.update_agent("crab", {"display_name": "Crab"}).display_name == "Crab"


def _luminance(color: str) -> float:
    parts = [int(color[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
