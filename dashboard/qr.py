"""Addresses as QR codes, for a phone's camera: made here, by nobody else's service."""

from __future__ import annotations

import re

import segno
from markupsafe import Markup

_BOT = re.compile(r"[A-Za-z0-9_]{1,64}")


def of_totp(uri: str) -> Markup:
    """A picture of what an authenticator app reads, always dark on light as below."""
    code = segno.make(uri, error="m", micro=False)
    return Markup(code.svg_inline(omitsize=True, dark="#000", light="#fff"))  # noqa: S704 - numbers and fixed colours


def of_bot(username: str) -> Markup:
    """A picture that opens this bot's chat in Telegram; empty for one without a name of Telegram's form. Always dark on
    light, also on a dark page: some cameras read nothing else."""
    if not _BOT.fullmatch(username):
        return Markup("")
    code = segno.make(f"https://t.me/{username}", error="m")
    return Markup(code.svg_inline(scale=4, dark="#000", light="#fff"))  # noqa: S704 - numbers and fixed colours


def of_login_link(url: str) -> str:
    """The picture as a ``data:`` address, for an image that a script shows."""
    return segno.make(url, error="m").svg_data_uri(scale=4, dark="#000", light="#fff")
