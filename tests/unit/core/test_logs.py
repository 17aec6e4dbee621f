"""``orchestrator.core.logs``: one record a line, no secret, no control character."""

from __future__ import annotations

import json
import logging
import stat
from logging.handlers import RotatingFileHandler
from pathlib import Path
from secrets import token_urlsafe

import pytest

from orchestrator.apps.previews.signed_urls import Ticket, Tickets
from orchestrator.capabilities.delivery.download_links import DownloadLinks
from orchestrator.core import logs
from orchestrator.core.models import CubicleKey

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


def secrets_of_ours() -> dict[str, tuple[str, str]]:
    """One of each kind that the install makes, as it makes it: a line that would tell it, and the secret."""
    key = CubicleKey("crab", 1)
    link = DownloadLinks("key").make_token(7, now=1_800_000_000)
    ticket = Tickets("key").encode_ticket(Ticket(key, "calc", "http://127.0.0.1:3000", 1_800_000_000))
    random = [token_urlsafe(32) for _ in range(3)]
    return {
        "API token": (f"token hs_{random[0]} is used", random[0]),
        "login link": (f"GET /login/{random[0]} broke", random[0]),
        "session": (f"{{'hermit_session': '{random[1]}'}}", random[1]),
        "session's cookie": (f"Cookie: hermit_session={random[1]}; a=b", random[1]),
        "calendar feed": (f"GET /ics/{random[2]}.ics", random[2]),
        "download link": (f"GET /d/{link} broke", link.rpartition(".")[2]),
        "ticket": (f"GET /{ticket}/index.html", ticket.rpartition(".")[2]),
        "webhook's secret": ("X-Telegram-Bot-Api-Secret-Token: 0123456789abcdef", "0123456789abcdef"),
        "bot's token in a URL": (f"https://api.telegram.org/file/bot123456:{'Q' * 35}/x.jpg", "Q" * 35),
        "index with a password": ("https://ada:lovelace@pypi.example.org/simple", "lovelace"),
        "a provider's own header": ("{'x-api-key': 'abc-def-ghi', 'x': 1}", "abc-def-ghi"),
        "bearer": ("Authorization: Bearer mistral-key-of-mine", "mistral-key-of-mine"),
        "known, in a URL": ("https://x/?key=s%3Dcret%2Fword", "s%3Dcret%2Fword"),
    }


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("kind", secrets_of_ours())
def test_no_kind_of_secret_gets_into_the_log(tmp_path: Path, kind: str, as_json: bool) -> None:  # noqa: FBT001 - pytest's
    """Neither as a message, nor among its arguments, nor in a trace and what caused it."""
    said, secret = secrets_of_ours_at(tmp_path, kind, as_json)
    text = (tmp_path / "log").read_text()
    assert said not in text
    assert secret not in text
    assert text.count("\\u2022" if as_json else "•") >= 12


def secrets_of_ours_at(folder: Path, kind: str, as_json: bool) -> tuple[str, str]:  # noqa: FBT001 - as above
    """Log one kind in all ways."""
    said, secret = secrets_of_ours()[kind]
    logs.to_file(folder / "log", {"s=cret/word"}, as_json=as_json)
    logger = logging.getLogger("test")
    logger.info(said)
    logger.info("%s", said)
    broken = RuntimeError(f"because of {said}")
    broken.__cause__ = ValueError(said)
    logger.error("it broke", exc_info=broken)
    return said, secret


@pytest.mark.parametrize(
    "said",
    [
        "upstream custom at api.example.org: ConnectTimeout",
        "cubicle crab/1 could not be started: the image sha256:" + "0a" * 32,
        "orchestrator.channels.telegram.commands_plans_and_more",
        "https://example.org/a/b@c?d=e",
    ],
)
def test_leaves_what_is_no_secret(log: Path, said: str) -> None:
    """Names, digests and addresses are what a log is for."""
    logging.getLogger("test").info("%s", said)
    assert said in log.read_text()


def test_json_lines_say_what_they_are_about(tmp_path: Path) -> None:
    """Each is one object on one line, in ASCII, whatever somebody wrote; agent, person and turn where known."""
    logs.to_file(tmp_path / "log", (), as_json=True)
    logger = logging.getLogger("orchestrator.test")
    logger.warning("%s said %s", CubicleKey("crab", 2), "x\n{}\x1b[2J\u202e", extra={"turn": 7})
    logger.error("broke", exc_info=ValueError("why"))
    raw = (tmp_path / "log").read_bytes()
    first, second = (json.loads(line) for line in raw.splitlines())
    assert raw.isascii()
    assert not set(raw) & {0x1B, 0x0D}
    assert (first["level"], first["module"]) == ("warning", "orchestrator.test")
    assert (first["agent"], first["user"], first["turn"]) == ("crab", 2, 7)
    assert first["time"].endswith("+00:00")
    assert "ValueError: why" in second["trace"]
    assert "agent" not in second


def test_the_log_is_bounded(tmp_path: Path) -> None:
    """Five files, however much is said; the oldest goes."""
    logs.to_file(tmp_path / "log", ())
    handler = logging.getLogger().handlers[0]
    assert isinstance(handler, RotatingFileHandler)
    handler.maxBytes = 2_000
    for n in range(500):
        logging.getLogger("test").info("line %d", n)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(sizes) == 5
    assert max(sizes) <= 2_000


def test_blots_out_the_longer_of_two_secrets_whole(log: Path) -> None:
    """No rest of it stays."""
    logging.getLogger("test").info("%s-longer", SECRET)
    assert "longer" not in log.read_text()


def test_blots_out_what_becomes_a_secret_later(tmp_path: Path) -> None:
    """Such as the token of a bot that somebody sets up, also without its first half; words stay."""
    blots = logs.to_file(tmp_path / "log", ())
    blots.add_secret("a-later-secret")
    blots.add_secret("word")
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
