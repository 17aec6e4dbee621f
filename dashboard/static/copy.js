// Buttons that copy: a block of code as it stands, or with a turn's number its whole answer as the agent wrote it.

import { call } from "./api.js";
import { t } from "./texts.js";

const SAID_MS = 2000;

let note;
let timer = 0;

export function startCopying() {
  note = document.createElement("p");
  note.className = "copied";
  note.setAttribute("role", "status");
  document.body.append(note);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-copy]");
    if (button) copy(button);
  });
}

async function copy(button) {
  try {
    await write(button.dataset.copy ? await answer(button.dataset.copy) : button.closest(".code").querySelector("code").textContent);
    say(t("Copied"), button);
  } catch {
    say(t("Not copied"), button);
  }
}

// Above the button, and no part of the answer, which may be rendered again at any moment.
function say(text, button) {
  const { top, left } = button.getBoundingClientRect();
  note.textContent = text;
  note.style.top = `${Math.max(0, top - note.offsetHeight)}px`;
  note.style.left = `${Math.min(left, innerWidth - note.offsetWidth - 8)}px`;
  clearTimeout(timer);
  timer = setTimeout(() => (note.textContent = ""), SAID_MS);
}

async function answer(turn) {
  return (await call("GET", `/api/turns/${turn}`)).reply;
}

// A page that came over plain HTTP from another machine has no clipboard of its own.
async function write(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const active = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.focus({ preventScroll: true });
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  active.focus({ preventScroll: true });
  if (!isDone) throw new Error(t("The browser didn't copy it."));
}
