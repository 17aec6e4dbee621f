"""The engine and the image for the chaos suite: those of the other tests on the real engine."""

from __future__ import annotations

from tests.integration.conftest import client, image, image_tag, machine

__all__ = ["client", "image", "image_tag", "machine"]
