// What can be done with the words of an answer: quoted in the next message (all of it, or what is marked in it), and read
// aloud where the browser can.

import { call, show } from "./api.js";

const MOST_QUOTED = 4000;
let reading = 0; // the turn that is being read aloud

export function startWords({ signal }) {
  const talk = document.querySelector(".talk");
  if (!talk) return;
  const voice = window.speechSynthesis;
  if (voice) document.documentElement.dataset.speaks = "";
  let marked = "";
  talk.addEventListener("pointerdown", ({ target }) => {
    const button = target.closest("[data-quote]");
    if (button) marked = markedIn(button.closest(".turn")); // before the press takes the mark away
  });
  talk.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-quote], [data-aloud]");
    if (!button) return;
    const turn = button.closest(".turn");
    if (button.matches("[data-quote]")) quote(talk, turn, marked || markedIn(turn));
    else if (voice) aloud(voice, turn, button);
    marked = "";
  });
  window.addEventListener("pagehide", () => voice?.cancel(), { signal });
  signal.addEventListener("abort", () => voice?.cancel());
}

function markedIn(turn) {
  const marks = getSelection();
  const reply = turn.querySelector(".reply");
  return reply && marks.rangeCount && reply.contains(marks.getRangeAt(0).commonAncestorContainer) ? marks.toString().trim() : "";
}

async function quote(talk, turn, marked) {
  const trouble = talk.querySelector(".dock .trouble");
  try {
    const text = marked || (await call("GET", `/api/turns/${turn.dataset.turn}`)).reply;
    const lines = text.trim().slice(0, MOST_QUOTED).split("\n");
    const field = talk.querySelector("[data-composer] textarea");
    const before = field.value.trimEnd();
    field.value = `${before ? `${before}\n\n` : ""}${lines.map((line) => `> ${line}`.trimEnd()).join("\n")}\n\n`;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus({ preventScroll: true });
    field.setSelectionRange(field.value.length, field.value.length);
    field.scrollTop = field.scrollHeight;
  } catch (error) {
    show(trouble, error);
  }
}

// A second press ends it. Code is not read, as nobody could follow it.
function aloud(voice, turn, button) {
  const id = Number(turn.dataset.turn);
  const isEnd = reading === id && voice.speaking;
  voice.cancel();
  reading = 0;
  if (isEnd) return;
  const words = turn.querySelector(".reply").cloneNode(true);
  words.querySelectorAll(".code, .host, math, table").forEach((part) => part.remove());
  const pieces = [...words.querySelectorAll("p, li, h3, h4, h5, h6, blockquote")].filter((one) => !one.querySelector("p, li")).map((one) => one.textContent.trim());
  reading = id;
  button.setAttribute("aria-pressed", "true");
  const end = () => {
    if (reading === id) reading = 0;
    button.setAttribute("aria-pressed", "false");
  };
  for (const [n, piece] of pieces.entries()) {
    const said = new SpeechSynthesisUtterance(piece);
    said.onerror = end;
    if (n === pieces.length - 1) said.onend = end;
    voice.speak(said);
  }
  if (!pieces.length) end();
}
