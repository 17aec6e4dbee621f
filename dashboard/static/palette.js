// The palette: one field that leads everywhere, opened by Ctrl+K. What it finds are links; arrows choose among them.

import { part } from "./api.js";
import { go } from "./pages.js";

const PAUSE_MS = 120;

let dialog, field, list;
let asked = 0;
let found = ""; // the words that the list is for
let timer = 0;

export function startPalette() {
  dialog = document.querySelector("dialog.palette");
  if (!dialog) return;
  field = dialog.querySelector("input");
  list = dialog.querySelector("[data-found]");
  document.addEventListener("click", ({ target }) => {
    if (target.closest("[data-palette]")) openPalette();
    else if (target === dialog || (dialog.open && target.closest(".palette-place"))) dialog.close();
  });
  dialog.addEventListener("close", () => (field.value = ""));
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(find, PAUSE_MS);
  });
  field.addEventListener("keydown", steer);
  dialog.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    choose();
  });
}

export function openPalette() {
  if (!dialog || dialog.open) return;
  dialog.showModal();
  find();
}

async function find() {
  const mine = ++asked;
  const words = field.value;
  let fresh = null;
  try {
    fresh = await part(`/parts/palette?q=${encodeURIComponent(words)}`);
  } catch (error) {
    fresh = Object.assign(document.createElement("p"), { className: "trouble", textContent: error.message });
  }
  if (mine !== asked) return; // something else is looked for by now
  found = words;
  list.replaceChildren(fresh);
  mark(options()[0]);
}

function steer(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const all = options();
  mark(all[(all.indexOf(chosen()) + step + all.length) % all.length]);
}

function mark(option) {
  for (const each of options()) each.setAttribute("aria-selected", String(each === option));
  if (option) field.setAttribute("aria-activedescendant", option.id);
  else field.removeAttribute("aria-activedescendant");
  option?.scrollIntoView({ block: "nearest" });
}

// What was typed a moment ago is looked for first.
async function choose() {
  clearTimeout(timer);
  while (dialog.open && field.value !== found) await find();
  const option = chosen();
  if (!option) return;
  dialog.close();
  go(option.getAttribute("href"));
}

function options() {
  return [...list.querySelectorAll('[role="option"]')];
}

function chosen() {
  return list.querySelector('[aria-selected="true"]');
}
