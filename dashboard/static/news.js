// News from the server, handed on as events of the document: "news:turn", "news:step", "news:delta", … and
// "news:again" when something happened after the page was made and before the stream began, which the server tells by
// the mark that the page carries. A hidden page lets go of its stream, as a browser keeps only a few connections per server.

import { leaveIfLoginEnded } from "./api.js";

const KINDS = ["turn", "step", "delta", "output", "plan", "seen", "approval", "question", "notice", "delivery", "conversation", "calendar", "memory", "cubicle", "agent", "people", "doctor", "proof", "backup", "app", "bot", "browser"];
const PATIENCE_MS = 3000;
const mark = document.querySelector('meta[name="news"]')?.content ?? "";

const KEPT_MS = 15000;
const recent = []; // what was told a moment ago, for a page that was made before it and is shown after it

let source = null;
let trouble = 0;

export function startNews() {
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
}

function open() {
  if (source && source.readyState !== EventSource.CLOSED) return;
  source = new EventSource(`/api/events?html=1&since=${encodeURIComponent(mark)}`);
  source.addEventListener("open", heard);
  source.addEventListener("missed", () => tell("again", {}));
  source.addEventListener("error", lost);
  for (const kind of KINDS) {
    source.addEventListener(kind, (event) => tell(kind, JSON.parse(event.data)));
  }
}

function close() {
  source?.close();
  source = null;
}

function heard() {
  clearTimeout(trouble);
  trouble = 0;
  offline(false);
}

function lost() {
  trouble ||= setTimeout(() => offline(true), PATIENCE_MS);
  if (source?.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
  close();
  setTimeout(open, PATIENCE_MS);
  leaveIfLoginEnded();
}

function offline(is) {
  const sign = document.querySelector(".offline");
  if (sign) sign.hidden = !is;
}

// Everything that was told since then is told once more.
export function recall(since) {
  for (const { at, kind, detail } of [...recent]) if (at >= since) say(kind, detail);
}

function tell(kind, detail) {
  const now = Date.now();
  while (recent.length && recent[0].at < now - KEPT_MS) recent.shift();
  recent.push({ at: now, kind, detail });
  say(kind, detail);
}

function say(kind, detail) {
  document.dispatchEvent(new CustomEvent(`news:${kind}`, { detail }));
}
