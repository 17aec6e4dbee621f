"""Loads what encrypts and signs with the first notification: the library takes 14 MiB, and many an install has no
device that asked for any."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from orchestrator.core.errors import Unavailable
from orchestrator.core.home import Home, read_or_create

if TYPE_CHECKING:
    from orchestrator.channels.push.vapid import VapidKey


def load_vapid_key(home: Home) -> VapidKey:
    """The install's key, made when it is first asked for, readable by the owner alone. Raises Unavailable."""
    vapid = _module("vapid")
    try:
        key: VapidKey = vapid.VapidKey(read_or_create(home.push_key, vapid.make_key))
    except (OSError, ValueError) as error:
        raise Unavailable(
            f"{home.push_key} can't be used as the key for notifications. Delete it for a new one."
        ) from error
    return key


def encrypt_message(text: bytes, *, p256dh: bytes, auth: bytes) -> bytes:
    """As :func:`orchestrator.channels.push.encryption.encrypt_message`."""
    body: bytes = _module("encryption").encrypt_message(text, p256dh=p256dh, auth=auth)
    return body


def check_keys(p256dh: bytes, auth: bytes) -> None:
    """As :func:`orchestrator.channels.push.encryption.check_keys`."""
    _module("encryption").check_keys(p256dh, auth)


def _module(name: str) -> Any:
    return import_module(f"orchestrator.channels.push.{name}")
