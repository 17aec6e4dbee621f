"""What has an agent ask again where a person allowed something in advance: the settings that there are."""

from __future__ import annotations

from enum import StrEnum


class AsksAgain(StrEnum):
    """After reading what a grant for a host covers no more, until a person has said yes again."""

    STRICT = "strict"
    """Anything that strangers may have written: from the internet, in files that people gave, in forwarded messages."""
    WEB = "web"
    """What came from the internet alone."""
    OFF = "off"
    """Nothing: what was allowed stays allowed."""
