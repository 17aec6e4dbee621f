// Diagrams in replies that are complete: each is drawn in a sandboxed frame that can reach nothing, from the text that
// stands there as code. What can't be drawn stays code.

import { t } from "./texts.js";

const TIME_MS = 10000;
const LONGEST = 10000;
const TALLEST_PX = 1600;
const DARK = matchMedia("(prefers-color-scheme: dark)");
const frames = new Map(); // by the frame's window: its block of code

export function startDiagrams({ signal }) {
  frames.clear();
  const place = document.querySelector("[data-diagrams]");
  if (!place) return;
  const eye = new IntersectionObserver((entries) => entries.filter((one) => one.isIntersecting).forEach(({ target }) => draw(eye, target, place.dataset.diagrams)), { rootMargin: "400px 0px" });
  const look = () => place.querySelectorAll(".reply .code[data-diagram]:not([data-seen])").forEach((code) => {
    code.dataset.seen = "";
    eye.observe(code);
  });
  const watcher = new MutationObserver(look);
  watcher.observe(place, { childList: true, subtree: true });
  signal.addEventListener("abort", () => (watcher.disconnect(), eye.disconnect()));
  look();
  window.addEventListener("message", heard, { signal });
  DARK.addEventListener("change", () => frames.forEach(send), { signal });
  document.addEventListener("theme", () => frames.forEach(send), { signal });
  place.addEventListener("click", ({ target }) => {
    const button = target.closest("button[data-source]");
    if (button) button.closest(".code").toggleAttribute("data-drawn");
  });
}

function draw(eye, code, url) {
  eye.unobserve(code);
  if (textOf(code).length > LONGEST || code.querySelector("iframe")) return;
  const frame = document.createElement("iframe");
  frame.className = "diagram";
  frame.title = t("Diagram");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.setAttribute("referrerpolicy", "no-referrer");
  frame.src = url;
  code.append(frame);
  setTimeout(() => code.isConnected && !frame.dataset.height && give(code), TIME_MS);
}

function heard({ source, data }) {
  const code = frames.get(source) ?? codeOf(source);
  if (!code) return;
  if (data?.isReady) send(code, source);
  else if (Number.isFinite(data?.height)) show(code, data.height);
}

function codeOf(source) {
  const frame = [...document.querySelectorAll("iframe.diagram")].find((one) => one.contentWindow === source);
  if (!frame) return null;
  const code = frame.closest(".code");
  frames.set(source, code);
  return code;
}

function send(code, source) {
  if (!code.isConnected) frames.delete(source);
  else source.postMessage({ text: textOf(code), isDark: isDark() }, "*"); // its origin is opaque
}

function show(code, height) {
  if (height <= 0) return give(code);
  const frame = code.querySelector("iframe.diagram");
  frame.height = Math.min(Math.max(height, 24), TALLEST_PX);
  const isFirst = !frame.dataset.height;
  frame.dataset.height = frame.height;
  if (!isFirst) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain";
  button.dataset.source = "";
  button.append(word("to-source", t("Source")), word("to-diagram", t("Diagram")));
  code.querySelector(".code-head button").before(button);
  code.dataset.drawn = "";
}

// It stays code.
function give(code) {
  code.querySelector("iframe.diagram")?.remove();
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : DARK.matches;
}

function textOf(code) {
  return code.querySelector("code").textContent;
}

function word(className, textContent) {
  return Object.assign(document.createElement("span"), { className, textContent });
}
