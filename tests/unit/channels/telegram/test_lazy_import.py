"""``channels.telegram.lazy_import``: the library for Telegram is loaded with the first line, not with the install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.channels.telegram import lazy_import
from orchestrator.channels.telegram.client import TelegramClient
from orchestrator.core.errors import BadInput

ROOT = Path(__file__).resolve().parents[4]


def test_an_install_without_a_bot_does_without_the_library() -> None:
    """The whole orchestrator can be loaded and neither it nor its HTTP client is there."""
    program = (
        "import orchestrator.app.app, orchestrator.cli.up, sys; print(*({'telegram', 'httpx'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, ""), ran.stderr


def test_a_line_is_one_and_says_at_once_what_is_no_token() -> None:
    """As if it had been made without the detour."""
    assert isinstance(lazy_import.make_client(f"12345:{'a' * 35}", api_url="http://127.0.0.1:9"), TelegramClient)
    with pytest.raises(BadInput, match="isn't a bot token"):
        lazy_import.make_client("nonsense", api_url="http://127.0.0.1:9")
    with pytest.raises(BadInput, match="isn't a bot token"):
        lazy_import.check_token("nonsense", "http://127.0.0.1:9")
