"""Ids that people type: short, and nothing in them looks like anything else."""

from __future__ import annotations

import secrets

_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_LENGTH = 8


def typed_id() -> str:
    """A new one; guessing is of no use, for whoever answers is known otherwise."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
