"""The system calls that are let through: one list for every container, and what a browser needs beside it to shut its
own parts in.

What is added gives a process capabilities over a user namespace that it made, and over nothing else. Mounts, other
namespaces of files, names and messages, joining any, and netlink stay refused.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

_FILE = Path(__file__).resolve().parents[3] / "cubicle" / "seccomp.json"
_ALL_BITS: Final = 0xFFFF_FFFF
_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC, _NEWUSER = 0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000
_ALLOW: Final = "SCMP_ACT_ALLOW"

_OWN_SANDBOX: Final[tuple[dict[str, Any], ...]] = (
    {
        "comment": "New processes, for a browser's own sandbox also in new user, process and network namespaces.",
        "names": ["clone"],
        "action": _ALLOW,
        "args": [
            {
                "index": 0,
                "value": _NEWNS | _NEWCGROUP | _NEWUTS | _NEWIPC,
                "valueTwo": 0,
                "op": "SCMP_CMP_MASKED_EQ",
            }
        ],
    },
    {
        "comment": "A browser's own sandbox: a user namespace, and nothing else with it.",
        "names": ["unshare"],
        "action": _ALLOW,
        "args": [{"index": 0, "value": _ALL_BITS, "valueTwo": _NEWUSER, "op": "SCMP_CMP_MASKED_EQ"}],
    },
    {
        "comment": "A browser's own sandbox: an empty root, then no capability in its namespace.",
        "names": ["capset", "chroot"],
        "action": _ALLOW,
    },
)


@cache
def seccomp_filter(*, sandboxes_itself: bool = False) -> str:
    """The filter as the engine takes it; for a browser that ``sandboxes_itself``, with what that takes."""
    profile = json.loads(_FILE.read_text(encoding="utf-8"))
    if sandboxes_itself:
        profile["syscalls"] = [rule for rule in profile["syscalls"] if not _lets_clone(rule)] + list(_OWN_SANDBOX)
    return json.dumps(profile)


def _lets_clone(rule: dict[str, Any]) -> bool:
    return bool(rule["names"] == ["clone"] and rule["action"] == _ALLOW)
