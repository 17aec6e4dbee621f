// Parts of a page that the server renders again when there is news: an element with data-part (where from) and data-on
// (which news), with data-every every so many seconds, and with data-now at once; where data-soon is in it, it is not
// all there yet. What a person has opened stays open, and what is marked data-keep is carried over as it is,
// untouched.

import { isAboutToLeave, part } from "./api.js";
import { free } from "./press.js";

const PAUSE_MS = 150;
const NOT_YET_MS = 1000;
const pending = new Map();

export function startParts({ signal }) {
  for (const element of document.querySelectorAll("[data-part]")) {
    for (const kind of [...element.dataset.on.split(" "), "again"]) {
      document.addEventListener(`news:${kind}`, () => soon(element, () => refresh(element)), { signal });
    }
    if ("now" in element.dataset || element.querySelector("[data-soon]")) soon(element, () => refresh(element));
    const pause = Number(element.dataset.every ?? 0);
    if (pause) every(pause * 1000, () => document.hidden || soon(element, () => refresh(element)), signal);
  }
}

// Runs again and again until the signal comes.
export function every(pauseMs, work, signal) {
  const timer = setInterval(work, pauseMs);
  signal.addEventListener("abort", () => clearInterval(timer));
}

// Runs once for many calls in a row, and again when there was a call meanwhile.
export function soon(key, work) {
  const known = pending.get(key);
  if (known) {
    known.again = true;
    return;
  }
  const entry = { again: false };
  pending.set(key, entry);
  setTimeout(async () => {
    try {
      await work();
    } catch (error) {
      console.warn(error.message);
    }
    pending.delete(key);
    if (entry.again) soon(key, work);
  }, PAUSE_MS);
}

async function refresh(element) {
  if (isAboutToLeave() || !element.isConnected) return;
  const fresh = await part(element.dataset.part);
  await free(element);
  const active = document.activeElement;
  const link = element.contains(active) && active.getAttribute("href"); // whoever goes by keyboard stays where they are
  carryOver(element, fresh);
  element.replaceChildren(fresh);
  if (element.querySelector("[data-soon]")) setTimeout(() => soon(element, () => refresh(element)), NOT_YET_MS);
  if (element.contains(active)) active.focus({ preventScroll: true }); // it was carried over, and somebody writes in it
  else if (link) element.querySelector(`a[href="${CSS.escape(link)}"]`)?.focus({ preventScroll: true });
}

export function carryOver(old, fresh) {
  for (const details of fresh.querySelectorAll("details[data-key]")) {
    const before = old.querySelector(`details[data-key="${CSS.escape(details.dataset.key)}"]`);
    if (before) details.open = before.open;
  }
  for (const place of fresh.querySelectorAll("[data-keep]")) {
    const kept = old.querySelector(`[data-keep="${CSS.escape(place.dataset.keep)}"]`);
    if (kept) place.replaceWith(kept);
  }
  keepRefusals(old, fresh);
}

// What was refused stays said until the next try, as long as everything that can be tried is as it was.
function keepRefusals(old, fresh) {
  if (offers(old) !== offers(fresh)) return;
  const before = old.querySelectorAll(".trouble");
  fresh.querySelectorAll(".trouble").forEach((place, index) => {
    if (before[index] && !before[index].hidden) place.replaceWith(before[index]);
  });
}

function offers(within) {
  const found = within.querySelectorAll("[data-path], [data-approval], [data-question]");
  return [...found].map((at) => at.dataset.path ?? at.dataset.approval ?? at.dataset.question).join("\n");
}
