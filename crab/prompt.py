"""What the model is told before it hears the person: the standing prompt, and the line that says what time it is.

The standing prompt depends on the agent's settings alone, byte for byte, so that providers can cache it.
"""

from __future__ import annotations

import os
import time

PROMPT_FILE = os.path.join(os.path.dirname(__file__), "prompt.md")
INSTALLED = {
    "base": "python3 (standard library only), node, git, rg, jq, sqlite3, bc, file, zip, unzip",
    "studio": "python3 with numpy, pandas, matplotlib, PIL, docx, openpyxl, pypdf, reportlab; "
    "node, ffmpeg, imagemagick, git, rg, jq, sqlite3, bc, file, zip, unzip",
}


def build_system_prompt(agent: dict[str, object]) -> str:
    """The prompt for an agent's ``name, role, personality, image``, and its ``capabilities`` as the host words them."""
    with open(PROMPT_FILE, encoding="utf-8") as file:
        text = file.read()
    image = str(agent.get("image") or "base")
    text = text.replace("{installed}", INSTALLED.get(image, INSTALLED["base"]))
    given = agent.get("capabilities")
    text = text.replace("{capabilities}", given if isinstance(given, str) else "")
    about = [f"Your name is {agent.get('name') or 'crab'}."]
    about += [
        f"{title}: {agent[key]}"
        for title, key in (("Your role", "role"), ("Your manner", "personality"))
        if agent.get(key)
    ]
    return f"{text.strip()}\n\n# You\n" + "\n".join(about)


def time_line(now: str, time_zone: str) -> str:
    """``[2026-02-28 10:00 Europe/Vienna, Saturday]`` for a UTC time in ISO 8601; empty when ``now`` is no time.

    Uses the C library's zones through ``TZ`` (zoneinfo and datetime would cost more than all the rest of the crab).
    """
    zone = time_zone if _is_zone(time_zone) else "UTC"
    before = os.environ.get("TZ")
    try:
        year, month, day = now[:10].split("-")
        hour, minute = now[11:16].split(":")
        _set_zone("UTC")
        epoch = time.mktime((int(year), int(month), int(day), int(hour), int(minute), 0, 0, 0, 0))
        _set_zone(zone)
        return time.strftime(f"[%Y-%m-%d %H:%M {zone}, %A]", time.localtime(epoch))
    except (ValueError, OverflowError):
        return ""
    finally:
        _set_zone(before)


def _is_zone(name: str) -> bool:
    is_plain = name.replace("/", "").replace("_", "").replace("-", "").replace("+", "").isalnum()
    return is_plain and os.path.isfile(f"/usr/share/zoneinfo/{name}")


def _set_zone(name: str | None) -> None:
    if name is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = name
    time.tzset()
