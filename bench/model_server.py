"""A model server for the benches, in a process of its own: answers at once, and tells when it was asked.

The last user message decides: while fewer than ``steps=N`` commands were run in this turn, the answer is the command
``true N``, or with ``file=N`` one that writes a file into ``out/`` and prints when it was closed; then it is a message
with two monotonic times in nanoseconds: when the first call of the turn had arrived and when the last one was answered.
On Linux that clock is the same for all processes.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.scripted_upstream import Reply, Request, ScriptedUpstream, says

WANTED = re.compile(r"steps=(\d+)")
FILE = re.compile(r"file=(\d+)")


class Model:
    """Remembers when each turn began."""

    def __init__(self) -> None:
        self._began_ns = 0

    def __call__(self, request: Request) -> Reply | str:
        now_ns = time.monotonic_ns()
        messages = request.json["messages"]
        asked = max(i for i, m in enumerate(messages) if m["role"] == "user" and "steps=" in str(m["content"]))
        wanted = int(WANTED.findall(str(messages[asked]["content"]))[-1])
        done = (len(messages) - 1 - asked) // 2
        if done == 0:
            self._began_ns = now_ns
        if done < wanted:
            file = FILE.search(str(messages[asked]["content"]))
            write = f"echo {file[1]} > ../out/written-{file[1]}.txt; date +%s%N" if file else f"true {done}"
            return says(json.dumps({"message": "", "terminal": write}))
        return says(json.dumps({"message": f"{self._began_ns} {time.monotonic_ns()}", "terminal": ""}))


def main() -> None:
    """Serve until stdin ends."""
    with ScriptedUpstream() as upstream:
        upstream.answer(Model())
        print(upstream.base_url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
