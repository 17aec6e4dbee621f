// The terminal's page: a screen, a line to a shell, and keys that a telephone has not. Loaded on no other page.

import { allowStyles, colours, deafen, letters } from "./terminal-dress.js";
import { Line } from "./terminal-line.js";
import { FitAddon } from "./vendor/xterm/addon-fit.mjs";
import { Terminal } from "./vendor/xterm/xterm.mjs";
import { t } from "./texts.js";

const RESIZE_MS = 150;
const KEYS = { escape: "\x1b", tab: "\t", up: "A", down: "B", right: "C", left: "D" };

const page = document.querySelector("[data-terminal]");
const over = page.querySelector(".terminal-over");
const again = page.querySelector("[data-again]");
const ctrl = page.querySelector('[data-key="ctrl"]');
const agent = page.closest("[data-agent]").dataset.agent;

allowStyles();
const terminal = new Terminal({
  fontFamily: letters(),
  fontSize: matchMedia("(min-width: 60rem)").matches ? 14 : 12,
  theme: colours(),
  minimumContrastRatio: 4.5,
  cursorBlink: false,
  scrollback: 5000,
  logLevel: "off",
  linkHandler: { activate: () => {} },
});
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(page.querySelector(".terminal-screen"));
deafen(terminal);
fit.fit();

let line = null;
let waiting = 0;

terminal.onData((text) => line?.type(withCtrl(text)));
terminal.onResize(() => {
  clearTimeout(waiting);
  waiting = setTimeout(() => line?.resize(size()), RESIZE_MS);
});
terminal.attachCustomKeyEventHandler(isForShell);
new ResizeObserver(() => fit.fit()).observe(page.querySelector(".terminal-screen"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (terminal.options.theme = colours()));
document.addEventListener("theme", () => (terminal.options.theme = colours()));
page.addEventListener("copy", () => terminal.clearSelection());
window.addEventListener("pagehide", () => line?.close());
window.addEventListener("pageshow", (event) => event.persisted && location.reload());
window.visualViewport?.addEventListener("resize", fitVisible);
again.addEventListener("click", open);
for (const button of page.querySelectorAll("[data-key]")) {
  button.addEventListener("pointerdown", (event) => event.preventDefault()); // the keyboard of a telephone stays
  button.addEventListener("click", () => press(button.dataset.key));
}
open();

async function open() {
  say(t("Opening…"), false);
  terminal.reset();
  const mine = new Line({
    print: (bytes, shown) => terminal.write(bytes, shown),
    away: (is) => mine === line && (is ? say(t("Reconnecting…"), false) : say("", false)),
    over: (why) => mine === line && say(why, true),
  });
  line = mine;
  try {
    await mine.open(agent, size());
    terminal.focus();
  } catch (error) {
    say(error.message, true);
  }
}

function size() {
  return { columns: terminal.cols, rows: terminal.rows };
}

function say(text, isOver) {
  over.querySelector("[data-said]").textContent = text;
  over.hidden = !text;
  again.hidden = !isOver;
  if (isOver) again.focus();
}

// Keys that stay the browser's: F6 goes on to the next place, copying and pasting are what they are elsewhere.
function isForShell(event) {
  if (event.type !== "keydown") return true;
  const key = event.key.toLowerCase();
  if (key === "f6") {
    event.preventDefault();
    document.querySelector(".tabs a[aria-current]").focus();
    return false;
  }
  if (!event.ctrlKey || event.altKey || event.metaKey) return true;
  return !(key === "v" || (key === "c" && terminal.hasSelection()));
}

function press(key) {
  if (key === "ctrl") setCtrl(ctrl.getAttribute("aria-pressed") !== "true");
  else if (key === "escape" || key === "tab") terminal.input(KEYS[key]);
  else terminal.input(`\x1b${terminal.modes.applicationCursorKeysMode ? "O" : "["}${KEYS[key]}`);
  terminal.focus();
}

function setCtrl(is) {
  ctrl.setAttribute("aria-pressed", String(is));
}

function withCtrl(text) {
  if (ctrl.getAttribute("aria-pressed") !== "true") return text;
  setCtrl(false);
  return /^[a-z@[\\\]^_ ]$/i.test(text) ? String.fromCharCode(text.toUpperCase().charCodeAt(0) & 31) : text;
}

// Where the keyboard covers the page instead of making it smaller, the page makes itself smaller.
function fitVisible() {
  document.documentElement.style.setProperty("--visible", `${Math.round(window.visualViewport.height)}px`);
}
