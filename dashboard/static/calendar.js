// The form of a calendar's entry: it begins at the next full hour; a common way to repeat fills in the rule, "your own"
// shows it; how long it takes and the last day become the entry's end and rule. And copying an address.

import { t } from "./texts.js";

const TOGETHER = "[data-preset], [data-rule], [data-last], [data-length], [name=start]";

export function startCalendar() {
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-preset]")) choose(event.target);
  });
  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (event.target.matches(TOGETHER) && form?.querySelector("[data-preset]")) compose(form);
  });
  document.addEventListener("toggle", (event) => soon(event.target.open && event.target.querySelector("[data-soon]")), true);
  document.addEventListener("reset", (event) => {
    const select = event.target.querySelector("[data-preset]");
    if (select) setTimeout(() => choose(select)); // the fields have their first values only after this
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy-it]");
    if (button) copy(button.closest("[data-copy]"));
  });
}

// Each time the form is unfolded, since its page may be an old one. What somebody wrote stays.
function soon(start) {
  if (start && start.value === start.defaultValue) start.defaultValue = fullHour(start);
}

// The next full hour by the clock of the field's zone.
export function fullHour(start) {
  const clock = new Intl.DateTimeFormat("sv", { timeZone: start.dataset.soon, dateStyle: "short", timeStyle: "short" });
  return later(`${clock.format(new Date()).replace(" ", "T").slice(0, 13)}:00`, 60);
}

function choose(select) {
  const form = select.form;
  const isOwn = select.value === "own";
  form.querySelector("[data-own]").hidden = !isOwn;
  form.querySelector("[data-repeats]").hidden = !select.value;
  if (isOwn) form.querySelector("[data-rule]").focus();
  compose(form);
}

// An end within a day of the start is the end of each time; of a rule with both, the last day is in the rule.
function compose(form) {
  const preset = form.querySelector("[data-preset]").value;
  const rule = preset === "own" ? form.querySelector("[data-rule]").value.trim() : preset;
  const last = preset ? form.querySelector("[data-last]").value : "";
  const length = form.querySelector("[data-length]");
  const minutes = Number(length.value);
  const start = form.elements.start.value;
  const isBoth = Boolean(last && minutes);
  const isCron = Boolean(rule) && !rule.includes("=");
  length.setCustomValidity(isBoth && isCron ? t("With a cron line, set a last day or a duration, not both.") : "");
  form.elements.repeat.value = isBoth ? `${rule};UNTIL=${last.replaceAll("-", "")}` : rule;
  form.elements.end.value = minutes && start ? later(start, minutes) : last;
}

// A wall clock's time, as fields have it, some minutes later.
export function later(wall, minutes) {
  const moment = new Date(`${wall.slice(0, 16)}Z`);
  moment.setUTCMinutes(moment.getUTCMinutes() + minutes);
  return moment.toISOString().slice(0, 16);
}

async function copy(place) {
  const field = place.querySelector("input");
  field.select();
  try {
    if (navigator.clipboard) await navigator.clipboard.writeText(field.value);
    else if (!document.execCommand("copy")) return; // plain HTTP from another machine has no clipboard of its own
    place.querySelector("[data-copied]").hidden = false;
  } catch {
    // it is selected, and the person can copy it by hand
  }
}
