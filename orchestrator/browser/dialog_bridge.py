"""A stand-in for alert, confirm and prompt that asks us by a request: for browsers that close dialogs by themselves.
Where a page's own policy forbids the request, the browser's dialog opens as ever. Where the request breaks off, as the
connection to us was lost, the page asks on by a note (``dialog_notes``)."""

from __future__ import annotations

import base64
import json
from urllib.parse import parse_qs, urlsplit

from orchestrator.browser.dialog_notes import ASKED, MOST_CHARS, TOLD
from orchestrator.browser.dialogs import ANSWER_S, Dialogs, OpenDialog
from orchestrator.browser.fields import Fields, text_of
from orchestrator.browser.wire import Wire

ADDRESS = "https://hermit-dialog-bridge.invalid/"
_WAITED_MS = 20
"""A request that breaks off later than this was waiting for an answer: the connection was lost. One that fails at once
was forbidden by the page's own policy."""
_KINDS = frozenset({"alert", "confirm", "prompt"})
SCRIPT = """(() => {
  const sign = Symbol.for("hermit.dialogs");
  if (window.alert[sign]) return;
  const now = Date.now.bind(Date);
  const askByNote = (kind, message, preset) => {
    const bytes = crypto.getRandomValues(new Uint8Array(8));
    const id = Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("");
    const asked = JSON.stringify([kind, message.slice(0, MOST), preset.slice(0, MOST)]);
    const end = now() + ANSWER_MS;
    const where = "; path=/" + (location.protocol === "https:" ? "; samesite=none; secure" : "");
    const drop = () => {
      for (const name of ["ASKED" + id, "TOLD" + id]) document.cookie = name + "=; max-age=0" + where;
    };
    document.cookie = "ASKED" + id + "=" + encodeURIComponent(asked) + "; max-age=" + ANSWER_MS / 1000 + where;
    for (let next = 0; now() < end && document.cookie.includes("ASKED" + id + "="); ) {
      if (now() < next) continue;
      next = now() + 25;
      const told = document.cookie.split("; ").find((one) => one.startsWith("TOLD" + id + "="));
      if (!told) continue;
      drop();
      return JSON.parse(decodeURIComponent(told.slice(told.indexOf("=") + 1)));
    }
    drop();
    return null;
  };
  const ask = (kind, given, suggested) => {
    const message = String(given ?? "").slice(0, 2000), preset = String(suggested ?? "").slice(0, 2000);
    const begun = now();
    try {
      const request = new XMLHttpRequest();
      request.open("GET", ADDRESS + "?" + new URLSearchParams({ kind, message, preset }), false);
      request.send();
      return JSON.parse(request.responseText);
    } catch {
      try {
        return now() - begun < WAITED_MS ? null : askByNote(kind, message, preset) ?? { accept: false };
      } catch {
        return null;
      }
    }
  };
  const own = { alert: window.alert, confirm: window.confirm, prompt: window.prompt };
  window.alert = function alert(message) { if (!ask("alert", message)) return own.alert.call(window, message); };
  window.alert[sign] = true;
  window.confirm = function confirm(message) {
    const told = ask("confirm", message);
    return told ? !!told.accept : own.confirm.call(window, message);
  };
  window.prompt = function prompt(message, preset) {
    const told = ask("prompt", message, preset);
    return told ? (told.accept ? String(told.text ?? "") : null) : own.prompt.call(window, message, preset);
  };
})()"""
for _name, _value in (
    ("ADDRESS", json.dumps(ADDRESS)),
    ("ANSWER_MS", str(int(ANSWER_S * 1000))),
    ("WAITED_MS", str(_WAITED_MS)),
    ("ASKED", ASKED),
    ("TOLD", TOLD),
    ("MOST", str(MOST_CHARS)),
):
    SCRIPT = SCRIPT.replace(_name, _value)


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
