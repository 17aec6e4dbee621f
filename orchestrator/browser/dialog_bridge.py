"""A stand-in for alert, confirm and prompt that asks us by a request: for browsers that close dialogs by themselves.
Where a page's own policy forbids the request, the browser's dialog opens as ever."""

from __future__ import annotations

import base64
import json
from urllib.parse import parse_qs, urlsplit

from orchestrator.browser.dialogs import Dialogs, OpenDialog
from orchestrator.browser.fields import Fields, text_of
from orchestrator.browser.wire import Wire

ADDRESS = "https://hermit-dialog-bridge.invalid/"
_KINDS = frozenset({"alert", "confirm", "prompt"})
SCRIPT = """(() => {
  const ask = (kind, message, preset) => {
    const request = new XMLHttpRequest();
    const said = String(message ?? "").slice(0, 2000);
    const query = new URLSearchParams({ kind, message: said, preset: String(preset ?? "").slice(0, 2000) });
    try {
      request.open("GET", ADDRESS + "?" + query, false);
      request.send();
      return JSON.parse(request.responseText);
    } catch {
      return null;
    }
  };
  const own = { alert: window.alert, confirm: window.confirm, prompt: window.prompt };
  window.alert = function alert(message) { if (!ask("alert", message)) return own.alert.call(window, message); };
  window.confirm = function confirm(message) {
    const told = ask("confirm", message);
    return told ? !!told.accept : own.confirm.call(window, message);
  };
  window.prompt = function prompt(message, preset) {
    const told = ask("prompt", message, preset);
    return told ? (told.accept ? String(told.text ?? "") : null) : own.prompt.call(window, message, preset);
  };
})()""".replace("ADDRESS", json.dumps(ADDRESS))


def is_of_bridge(url: str) -> bool:
    """The request is a dialog's."""
    return url.startswith(ADDRESS)


def take_request(dialogs: Dialogs, fields: Fields, session: str) -> None:
    """A page's stand-in asks: a dialog opens."""
    query = parse_qs(urlsplit(text_of(fields, "request", "url", most=16_000)).query, max_num_fields=10)
    asked = {name: (query.get(name) or [""])[0] for name in ("kind", "message", "preset")}
    dialogs.take_bridged(
        session=session,
        request=text_of(fields, "requestId", most=200),
        kind=asked["kind"] if asked["kind"] in _KINDS else "alert",
        message=asked["message"],
        default=asked["preset"][:2000],
        url=text_of(fields, "request", "headers", "Referer", most=2000),
    )


def send_answer(wire: Wire, dialog: OpenDialog, text: str, *, accept: bool) -> None:
    """Answer the request that waits."""
    body = json.dumps({"accept": accept, "text": text}).encode()
    headers = {"Access-Control-Allow-Origin": "*", "Content-Type": "application/json"}
    answer = {
        "requestId": dialog.bridge_request,
        "responseCode": 200,
        "body": base64.b64encode(body).decode(),
        "responseHeaders": [{"name": name, "value": value} for name, value in headers.items()],
    }
    wire.tell("Fetch.fulfillRequest", dialog.session, answer)
