"""The model that peers are driven by: an OpenAI-compatible provider that answers by tool calls, since that is what they
speak. ``python peer_model.py`` prints its base URL and serves until its standard input ends.

The last message with ``steps=N`` decides: while fewer than N tool results came after it, the answer is a call of the
caller's shell tool; then it is the word ``done``, or, for a caller that ends by a command, that command.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_WANTED = re.compile(r"steps=(\d+)")
_SHELLS = ("bash", "terminal", "exec", "shell", "execute_command")
_USAGE = {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28}


def decide(body: dict[str, Any]) -> dict[str, Any]:
    """The assistant's message."""
    messages = body["messages"]
    asked = max((n for n, m in enumerate(messages) if _WANTED.search(json.dumps(m))), default=-1)
    text = json.dumps(messages[asked]) if asked >= 0 else "steps=0"
    done = sum(message["role"] == "tool" for message in messages[asked + 1 :])
    names = [tool["function"]["name"] for tool in body.get("tools") or ()]
    shell = next((name for name in names if name in _SHELLS), "")
    if shell and done < int(_WANTED.findall(text)[-1]):
        return _calls(shell, f"true {done}", done)
    if shell and "submit" in text:
        return _calls(shell, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", done)
    return {"role": "assistant", "content": "done"}


def _calls(name: str, command: str, n: int) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps({"command": command})}
    call = {"index": 0, "id": f"call_{n}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self) -> None:
        """What models there are."""
        self._send({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        """An answer, streamed where that was asked for."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
        if "messages" not in body:
            self._send({})
            return
        message = decide(body)
        finish = "tool_calls" if "tool_calls" in message else "stop"
        base = {"id": "c1", "created": 1, "model": "scripted"}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            self._send({**base, "object": "chat.completion", "choices": [choice], "usage": _USAGE})
            return
        events: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {"choices": [], "usage": _USAGE},
        ]
        lines = "".join(
            f"data: {json.dumps({**base, 'object': 'chat.completion.chunk', **event})}\n\n" for event in events
        )
        self._answer(f"{lines}data: [DONE]\n\n".encode(), "text/event-stream")

    def log_message(self, *_: object) -> None:
        """Nothing is told."""

    def _send(self, body: dict[str, Any]) -> None:
        self._answer(json.dumps(body).encode(), "application/json")

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


def main() -> None:
    """Serve until standard input ends."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
