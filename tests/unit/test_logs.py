"""``orchestrator.logs``: one record a line, no secret, no control character."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

import pytest

from orchestrator import logs

SECRET = "a-secret-that-leaks"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The file that everything goes to meanwhile."""
    path = tmp_path / "orchestrator.log"
    logs.to_file(path, {SECRET, SECRET + "-longer", "short"})
    return path


@pytest.mark.parametrize(
    "said",
    [
        f"key={SECRET}",
        f"https://api.telegram.org/bot123456789:{'A' * 35}/getMe",
        "Authorization: Bearer hs_" + "b" * 43,
        "sk-" + "c" * 40,
        "sk-ant-api03-" + "d" * 40,
        "?key=AIza" + "e" * 35,
        "gsk_" + "f" * 40,
    ],
)
def test_blots_out_secrets(log: Path, said: str) -> None:
    """Ours, and whatever looks like one, in messages, arguments and traces."""
    logger = logging.getLogger("test")
    logger.info(said)
    logger.info("%s", said)
    logger.error("it broke", exc_info=ValueError(said))
    text = log.read_text()
    assert "•••" in text
    assert not [part for part in (SECRET, "A" * 35, "b" * 43, "c" * 40, "d" * 40, "e" * 35, "f" * 40) if part in text]


def test_blots_out_the_longer_of_two_secrets_whole(log: Path) -> None:
    """No rest of it stays."""
    logging.getLogger("test").info("%s-longer", SECRET)
    assert "longer" not in log.read_text()


def test_blots_out_what_becomes_a_secret_later(tmp_path: Path) -> None:
    """Such as the token of a bot that somebody sets up, also without its first half; words stay."""
    blots = logs.to_file(tmp_path / "log", ())
    blots.add("a-later-secret")
    blots.add("word")
    logging.getLogger("test").error("bot7%%3A%s, a word", "a-later-secret", exc_info=ValueError("a-later-secret"))
    text = (tmp_path / "log").read_text()
    assert "a-later-secret" not in text
    assert "bot7%3A•••, a word" in text


def test_a_record_is_a_line_and_moves_no_cursor(log: Path) -> None:
    """New lines, carriage returns and escapes in what somebody wrote are written out; a trace is set in."""
    forged = "2026-01-01 00:00:00,000 INFO root: forged"
    logging.getLogger("test").warning("agent said %s", f"x\n{forged}\r\x1b[2J\x9b\x07\t\u202e")
    logging.getLogger("test").error("broke", exc_info=ValueError(f"x\n{forged}"))
    raw = log.read_bytes()
    assert not set(raw) & {0x1B, 0x0D, 0x07, 0x09}
    assert "\x9b" not in raw.decode()
    lines = raw.decode().splitlines()
    assert "x\\n2026" in lines[0]
    assert not [line for line in lines if line.startswith(forged)]


def test_is_the_owners_alone_and_replaces_older_handlers(log: Path, tmp_path: Path) -> None:
    """One file at a time; chatty libraries are quiet."""
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    second = tmp_path / "second.log"
    logs.to_file(second, ())
    logging.getLogger("test").info("hello")
    logging.getLogger("urllib3").info("chatter")
    assert "hello" not in log.read_text()
    assert second.read_text().count("\n") == 1
