// A person's pointer and keys on the picture of a browser, in the order in which they came, one call after the other. A
// finger that is drawn over it scrolls. Keys go through a field that is not seen, so that a phone's keyboard comes up.

import { show } from "./api.js";

const MOST = 100;
const TAP_PX = 10;
const BUTTONS = ["left", "middle", "right"];
const NAMED = /^(?:Enter|Tab|Escape|Backspace|Delete|Arrow(?:Up|Down|Left|Right)|Page(?:Up|Down)|Home|End|Insert|F\d{1,2})$/;
const KEPT = " "; // so that a phone's keyboard has something to delete

export class BrowserHands {
  #queue = [];
  #sending = null;
  #finger = null;

  constructor(view, signal) {
    this.view = view;
    const { screen, keys } = view;
    screen.addEventListener("pointerdown", (event) => this.#down(event));
    screen.addEventListener("pointermove", (event) => this.#move(event));
    screen.addEventListener("pointerup", (event) => this.#up(event));
    screen.addEventListener("pointercancel", () => (this.#finger = null));
    screen.addEventListener("contextmenu", (event) => view.held && event.preventDefault());
    screen.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    keys.addEventListener("keydown", (event) => this.#key(event));
    keys.addEventListener("input", (event) => event.isComposing || this.#typed());
    keys.addEventListener("compositionend", () => this.#typed());
    keys.addEventListener("focus", () => this.#reset());
    keys.addEventListener("paste", (event) => {
      event.preventDefault();
      const text = event.clipboardData.getData("text/plain").slice(0, 10000);
      if (text) this.#put({ do: "paste", text });
    });
    view.keyboard.addEventListener("pointerdown", (event) => event.preventDefault());
    view.keyboard.addEventListener("click", () => keys.focus({ preventScroll: true }));
    signal.addEventListener("abort", () => (this.#queue = []));
  }

  // Until everything that was done has arrived.
  async flush() {
    while (this.#sending) await this.#sending;
  }

  #put(...deeds) {
    if (!this.view.held) return;
    for (const deed of deeds) {
      const last = this.#queue.at(-1);
      if (deed.kind === "move" && last?.kind === "move") this.#queue.pop();
      if (this.#queue.length < 5 * MOST) this.#queue.push(deed);
    }
    this.#sending ??= this.#send();
  }

  async #send() {
    await null;
    while (this.#queue.length && this.view.held) {
      if (!(await this.view.does("input", { deeds: this.#queue.splice(0, MOST) }))) this.#queue = [];
    }
    this.#queue = [];
    this.#sending = null;
  }

  #at(event) {
    const box = this.view.picture.getBoundingClientRect();
    const part = (value, from, size) => Math.min(1, Math.max(0, (value - from) / size));
    return { do: "point", x: part(event.clientX, box.left, box.width), y: part(event.clientY, box.top, box.height) };
  }

  #isOver(event) {
    return this.view.held && event.target === this.view.picture;
  }

  #down(event) {
    if (!this.#isOver(event)) return;
    event.preventDefault();
    if (event.pointerType === "touch") {
      this.#finger = { x: event.clientX, y: event.clientY, last: event.clientY, isDrawn: false };
      return;
    }
    this.view.keys.focus({ preventScroll: true });
    this.view.screen.setPointerCapture(event.pointerId);
    this.#put({ ...this.#at(event), kind: "down", button: BUTTONS[event.button] ?? "left", clicks: Math.min(3, Math.max(1, this.#clicks(event))) });
  }

  // How many clicks in a row this one is; pointer events don't count them.
  #clicks(event) {
    const last = this.lastDown;
    const isNear = last && event.timeStamp - last.at < 400 && Math.hypot(event.clientX - last.x, event.clientY - last.y) < TAP_PX;
    this.lastDown = { at: event.timeStamp, x: event.clientX, y: event.clientY, clicks: isNear ? last.clicks + 1 : 1 };
    return this.lastDown.clicks;
  }

  #move(event) {
    if (!this.view.held) return;
    const finger = this.#finger;
    if (event.pointerType === "touch") {
      if (!finger) return;
      finger.isDrawn ||= Math.hypot(event.clientX - finger.x, event.clientY - finger.y) > TAP_PX;
      if (!finger.isDrawn) return;
      const scale = 800 / this.view.picture.getBoundingClientRect().height;
      this.#put({ ...this.#at(event), kind: "wheel", wheel_down: (finger.last - event.clientY) * scale });
      finger.last = event.clientY;
    } else if (this.#isOver(event) || event.buttons) {
      this.#put({ ...this.#at(event), kind: "move", button: event.buttons & 1 ? "left" : "none" });
    }
  }

  #up(event) {
    if (!this.view.held) return;
    if (event.pointerType === "touch") {
      const finger = this.#finger;
      this.#finger = null;
      if (!finger || finger.isDrawn) return;
      const at = this.#at(event);
      this.#put({ ...at, kind: "move" }, { ...at, kind: "down", button: "left" }, { ...at, kind: "up", button: "left" });
    } else if (this.lastDown) {
      this.#put({ ...this.#at(event), kind: "up", button: BUTTONS[event.button] ?? "left", clicks: Math.min(3, this.lastDown.clicks) });
    }
  }

  #wheel(event) {
    if (!this.#isOver(event)) return;
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 40 : 1;
    this.#put({ ...this.#at(event), kind: "wheel", wheel_down: Math.max(-2000, Math.min(2000, event.deltaY * lines)) });
  }

  #key(event) {
    if (event.isComposing || event.key === "Process" || event.key === "Unidentified") return;
    if (event.key === "F6") {
      event.preventDefault();
      this.view.give.focus();
      return;
    }
    const isChar = [...event.key].length === 1;
    const isAltGr = event.getModifierState("AltGraph");
    const isHeld = (event.ctrlKey || event.metaKey || event.altKey) && !isAltGr;
    if (isChar && isHeld && (event.key === "+" || (event.key.toLowerCase() === "v" && (event.ctrlKey || event.metaKey)))) return; // pasting comes as such
    if (!isChar && !NAMED.test(event.key)) return;
    if (isChar && !isHeld && event.key.codePointAt(0) > 0xffff) return; // comes as a text
    event.preventDefault();
    const name = event.key === " " ? "Space" : event.key;
    const held = [];
    if (isHeld) {
      if (event.ctrlKey || event.metaKey) held.push("Control");
      if (event.altKey) held.push("Alt");
    }
    if (event.shiftKey && (!isChar || isHeld)) held.push("Shift");
    this.#put({ do: "key", keys: [...held, isChar && isHeld ? name.toLowerCase() : name].join("+") });
  }

  // What came without keys: from a phone's keyboard, or put together of several.
  #typed() {
    const { value } = this.view.keys;
    if (!value) this.#put({ do: "key", keys: "Backspace" });
    const text = value.startsWith(KEPT) ? value.slice(KEPT.length) : value;
    for (const piece of text.split(/(\n)/)) {
      if (piece === "\n") this.#put({ do: "key", keys: "Enter" });
      else if (piece) this.#put({ do: "paste", text: piece });
    }
    this.#reset();
  }

  #reset() {
    const { keys } = this.view;
    keys.value = KEPT;
    keys.setSelectionRange(KEPT.length, KEPT.length);
    show(this.view.trouble, null);
  }
}
