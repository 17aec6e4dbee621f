"""The keyboard: typing into fields, choosing from lists, and single keys with or without Ctrl, Alt and Shift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.browser.faults import BrowserError
from orchestrator.browser.page_calls import PageCalls
from orchestrator.browser.snapshots import FoundElement
from orchestrator.browser.supervisor import BrowserSupervisor

MAX_TYPED = 100_000
"""Characters."""
_MODIFIERS = {"Alt": 1, "Control": 2, "Ctrl": 2, "Meta": 4, "Shift": 8}
_NAMED = {
    "Enter": (13, "\r"),
    "Tab": (9, ""),
    "Escape": (27, ""),
    "Backspace": (8, ""),
    "Delete": (46, ""),
    "ArrowDown": (40, ""),
    "ArrowUp": (38, ""),
    "ArrowLeft": (37, ""),
    "ArrowRight": (39, ""),
    "PageDown": (34, ""),
    "PageUp": (33, ""),
    "Home": (36, ""),
    "End": (35, ""),
    "Insert": (45, ""),
    **{f"F{n}": (111 + n, "") for n in range(1, 13)},
}
_COMMANDS = {"a": "selectAll", "c": "copy", "x": "cut", "v": "paste", "z": "undo"}
"""What Ctrl and a letter mean to a field."""


@dataclass(frozen=True)
class KeyStroke:
    """A key as the browser is told of it."""

    key: str
    code: str
    number: int
    text: str
    modifiers: int

    def params(self, kind: str) -> dict[str, Any]:
        """Of one event."""
        base: dict[str, Any] = {
            "type": kind,
            "key": self.key,
            "code": self.code,
            "windowsVirtualKeyCode": self.number,
            "modifiers": self.modifiers,
        }
        if kind == "keyDown" and self.text:
            base["text"] = base["unmodifiedText"] = self.text
        if kind != "keyUp" and self.modifiers == _MODIFIERS["Control"] and self.key in _COMMANDS:
            base["commands"] = [_COMMANDS[self.key]]
        return base


def read_stroke(keys: str) -> KeyStroke:
    """What ``Enter``, ``a`` or ``Control+Shift+ArrowLeft`` mean.

    Raises:
        BrowserError: there is no such key.
    """
    names, key = ([], "+") if keys == "+" else ((parts := keys.split("+"))[:-1], parts[-1])
    if unknown := [name for name in names if name not in _MODIFIERS]:
        raise BrowserError(f"{unknown[0][:20]!r} can't be held. Use Alt, Control, Meta or Shift.")
    modifiers = sum({_MODIFIERS[name] for name in names})
    if key in _NAMED:
        number, text = _NAMED[key]
        return KeyStroke(key, key, number, text, modifiers)
    if key in ("Space", " "):
        return KeyStroke(" ", "Space", 32, " ", modifiers)
    if len(key) != 1 or not key.isprintable():
        raise BrowserError(f"There is no key {key[:20]!r}. Use one character or one of {', '.join(_NAMED)}, Space.")
    number = ord(key.upper()) if key.isascii() and key.isalnum() else 0
    code = f"Key{key.upper()}" if key.isascii() and key.isalpha() else f"Digit{key}" if key in "0123456789" else ""
    has_text = not modifiers & (_MODIFIERS["Control"] | _MODIFIERS["Meta"] | _MODIFIERS["Alt"])
    return KeyStroke(key, code, number, key if has_text else "", modifiers)


class PageKeyboard:
    """Of the tab in front."""

    def __init__(self, supervisor: BrowserSupervisor, calls: PageCalls) -> None:
        self._settings = supervisor.settings
        self._calls = calls

    async def type(self, element: FoundElement, text: str, *, appends: bool = False) -> None:
        """Put the text into a field, in place of what is there unless it ``appends``; choose it in a list.

        Raises:
            BrowserError: the element takes no text or has no such choice; and as ``PageCalls.call``.
        """
        if len(text) > MAX_TYPED:
            raise BrowserError(f"The text is longer than {MAX_TYPED:,} characters.")
        frame = element.frame
        done = await self._calls.run_on(frame, element.handle, _BEGIN_TYPING, text, appends)
        if isinstance(done, str) and done.startswith("no "):
            raise BrowserError(f"{element.ref} has {done[:400]}.")
        if done == "done":
            return
        await self._calls.call("DOM.focus", frame.session, {"objectId": element.handle})
        if not appends:
            await self._calls.run_on(frame, element.handle, _SELECT_ALL)
        if text:
            await self.insert(text, frame.session if frame.is_remote else "")
        elif not appends:
            await self.press("Delete")

    async def insert(self, text: str, session: str = "") -> None:
        """Put the text where the caret is, of the page or of the process of a frame."""
        where = session or self._calls.tab().session
        await self._calls.call("Input.insertText", where, {"text": text}, within_s=self._settings.deed_s)

    async def press(self, keys: str) -> None:
        """One key, with others held.

        Raises:
            BrowserError: there is no such key; and as ``PageCalls.call``.
        """
        stroke = read_stroke(keys)
        session, within_s = self._calls.tab().session, self._settings.deed_s
        down = "keyDown" if stroke.text else "rawKeyDown"
        await self._calls.call("Input.dispatchKeyEvent", session, stroke.params(down), within_s=within_s)
        await self._calls.call("Input.dispatchKeyEvent", session, stroke.params("keyUp"), within_s=within_s)


_BEGIN_TYPING = """function(text, appends) {
  const tell = () => {
    for (const name of ["input", "change"]) this.dispatchEvent(new Event(name, { bubbles: true }));
    return "done";
  };
  if (this.disabled) return "no use: it is disabled";
  if (this.tagName === "SELECT") {
    const all = [...this.options], is = (o) => o.label === text || o.value === text || o.text.trim() === text.trim();
    const option = all.find(is);
    if (!option) return "no option like that, only " + all.slice(0, 20).map((o) => o.label).join(" | ");
    if (this.multiple && !appends) for (const one of all) one.selected = false;
    option.selected = true;
    return tell();
  }
  const isPressed = /^(checkbox|radio|button|submit|reset|image|file|hidden)$/.test(this.type || "");
  if (isPressed || this.tagName === "BUTTON") return "no text: click it, or upload to it";
  if (this.readOnly) return "no use: it is read-only";
  if (this.tagName === "INPUT" && /^(date|time|month|week|datetime-local|color|range)$/.test(this.type)) {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(this, text);
    if (!text || this.value) return tell();
    return `no value like that: it is a ${this.type}, such as 2026-01-31, 2026-01, 2026-W05, 13:45 or 2026-01-31T13:45`;
  }
  return "";
}"""
_SELECT_ALL = "function(){if(this.select)this.select();else getSelection().selectAllChildren(this)}"
