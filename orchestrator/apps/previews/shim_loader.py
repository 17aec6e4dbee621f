"""The install's own script, which is the first that runs in each page of an app: it gives the app a storage that works
in an opaque origin, leads root-relative addresses to the app's own prefix, and leaves nothing to see outside a frame.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

PLACE = b".hermit"
SCRIPT, STORAGE = b"shim.js", b"storage"
MAX_STORED_BYTES = 256 * 1024
_SOURCE = (Path(__file__).with_name("shim.js")).read_text(encoding="utf-8")
# What was matched once is not tried in another way: an agent's page of many comments would never end else.
_BEFORE = re.compile(rb"\s*+(?:(?><!--.*?-->)\s*+)*+<!doctype[^>]*>", re.IGNORECASE | re.DOTALL)
_SEARCHED_BYTES = 4_096


def with_shim(page: bytes, base: str) -> bytes:
    """The page with the script before everything else but its doctype, so that nothing in it runs earlier."""
    found = _BEFORE.match(page[:_SEARCHED_BYTES].removeprefix(b"\xef\xbb\xbf"))
    at = 0 if found is None else found.end() + (3 if page.startswith(b"\xef\xbb\xbf") else 0)
    return page[:at] + f'<script src="{base}.hermit/shim.js"></script>'.encode() + page[at:]


def shim_script(base: str, stored: Mapping[str, str]) -> bytes:
    """The script of an app at ``base`` that has stored this before."""
    values = json.dumps(dict(stored), ensure_ascii=True).replace("<", "\\u003c")
    return _SOURCE.replace('"__BASE__"', json.dumps(base)).replace('"__STORED__"', values).encode()
