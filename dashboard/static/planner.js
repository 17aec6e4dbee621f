// The calendar of all agents: a new entry begins on the day whose plus was pressed, arrows go from day to day, and what
// happens once is dragged to another day, with a way back. Days are plain dates; clocks are the server's business.

import { call } from "./api.js";
import { fullHour, later } from "./calendar.js";
import { go } from "./pages.js";
import { t } from "./texts.js";

const DAY_MINUTES = 1440;
const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };

let dragged = null;

export function startPlanner({ signal }) {
  if (!document.querySelector(".planner")) return;
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-new-on]");
    if (button) begin(button.dataset.newOn);
    const left = event.target.closest("[data-leave-out]");
    if (left) leaveOut(left);
  }, { signal });
  document.addEventListener("keydown", step, { signal });
  document.addEventListener("dragstart", drag, { signal });
  for (const kind of ["dragenter", "dragover"]) document.addEventListener(kind, over, { signal });
  document.addEventListener("drop", drop, { signal });
  document.addEventListener("dragend", () => mark(null), { signal });
}

function begin(day) {
  const details = document.querySelector("#new");
  const form = details.querySelector("form");
  details.open = true;
  const soonest = fullHour(form.elements.start);
  form.elements.start.value = `${day}T09:00` > soonest ? `${day}T09:00` : soonest;
  form.elements.start.dispatchEvent(new Event("input", { bubbles: true }));
  form.elements.title.focus();
}

function step(event) {
  const from = event.target.closest?.("[data-day]");
  const isWeek = Boolean(from?.closest(".week"));
  const days = isWeek && Math.abs(STEPS[event.key]) === 7 ? Math.sign(STEPS[event.key]) : STEPS[event.key];
  if (!from || !days || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (from.closest(".agenda")) return neighbour(from, Math.sign(days));
  const day = moved(from.dataset.day, days);
  const to = document.querySelector(`[data-day="${day}"]`);
  if (to) to.focus();
  else go(from.href.replace(/at=[\d-]+/, `at=${day}`).replace(/view=\w+/, `view=${isWeek ? "week" : "month"}`));
}

function neighbour(from, by) {
  const days = [...document.querySelectorAll(".agenda [data-day]")];
  days[days.indexOf(from) + by]?.focus();
}

function moved(day, days) {
  return later(`${day}T00:00`, days * DAY_MINUTES).slice(0, 10);
}

// A day of a series, and the way back.
function leaveOut(button) {
  const [without, was] = [button.dataset.leaveOut, button.dataset.leftOut].map((days) => JSON.parse(days));
  put({ ...button.dataset }, { without }, t("“%(title)s” is skipped on that day.", { title: button.dataset.title }), { without: was });
}

// --- dragging --------------------------------------------------------------------------------------------------------

function drag(event) {
  const chip = event.target.closest?.(".chip[data-entry]");
  if (!chip) return;
  if (chip.dataset.repeats) {
    event.preventDefault();
    tell(t("“%(title)s” repeats (%(repeats)s), so it can’t be dragged. Open it to change its days.", { title: chip.dataset.title, repeats: chip.dataset.repeats }));
    return;
  }
  dragged = { ...chip.dataset };
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", chip.dataset.title);
}

function over(event) {
  const place = dragged && event.target.closest?.("[data-drop]");
  if (!dragged) return;
  if (place) event.preventDefault();
  mark(place, true);
}

function mark(place, isDragging = false) {
  for (const old of document.querySelectorAll(".dropping")) old.classList.toggle("dropping", old === place);
  place?.classList.add("dropping");
  if (!isDragging) dragged = null;
}

async function drop(event) {
  const place = dragged && event.target.closest?.("[data-drop]");
  if (!place) return;
  event.preventDefault();
  const chip = dragged;
  mark(null);
  const days = Math.round((Date.parse(place.dataset.drop) - Date.parse(chip.from)) / (DAY_MINUTES * 60000));
  if (!days) return;
  const end = chip.endWall ? later(chip.endWall, days * DAY_MINUTES) : "";
  const was = { start: chip.start, end: chip.end };
  await put(chip, { start: later(chip.wall, days * DAY_MINUTES), end }, t("“%(title)s” moved to %(day)s.", { title: chip.title, day: place.dataset.words }), was);
}

async function put(chip, when, words, was) {
  try {
    await call("PATCH", `/api/agents/${chip.agent}/calendar/${chip.entry}`, when);
    tell(words, was && (() => put(chip, was, t("“%(title)s” is back where it was.", { title: chip.title }))));
  } catch (error) {
    tell(error.message);
  }
  document.dispatchEvent(new CustomEvent("news:calendar", { detail: {} }));
}

function tell(words, back) {
  const place = document.querySelector("[data-moved]");
  const said = document.createElement("p");
  said.className = "banner";
  said.append(words);
  if (back) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = t("Undo");
    button.addEventListener("click", back, { once: true });
    said.append(" ", button);
  }
  place.replaceChildren(said);
}
