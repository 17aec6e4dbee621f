// Questions to a person. Their buttons come alive only after they have been in view for a moment, and sleep again
// whenever a question comes or goes, so that a click which was meant for what lay there before decides nothing. They
// never take the focus.

import { call, show } from "./api.js";

const READ_MS = 700;
const timers = new WeakMap();
const visible = new WeakSet();
let known = "";

export function startApprovals() {
  const eye = new IntersectionObserver((entries) => entries.forEach(seen));
  const look = () => {
    const cards = [...document.querySelectorAll("#main [data-approval]")];
    const now = cards.map((card) => card.dataset.approval).join(" ");
    if (now === known) return;
    known = now;
    for (const card of cards) {
      eye.observe(buttonsOf(card));
      rest(card);
    }
    count(cards.length);
  };
  new MutationObserver(look).observe(document.getElementById("main"), { childList: true, subtree: true });
  look();
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-decide]");
    if (button) decide(button.closest("[data-approval]"), button.dataset.decide);
  });
}

function seen(entry) {
  const card = entry.target.closest("[data-approval]");
  if (!card) return; // it has left the page meanwhile
  if (entry.isIntersecting) visible.add(card);
  else visible.delete(card);
  rest(card);
}

function rest(card) {
  clearTimeout(timers.get(card));
  enable(card, false);
  if (visible.has(card)) timers.set(card, setTimeout(() => enable(card, true), READ_MS));
}

async function decide(card, decision) {
  const trouble = card.querySelector(".trouble");
  show(trouble, null);
  enable(card, false);
  card.dataset.decided = decision;
  try {
    await call("POST", `/api/approvals/${encodeURIComponent(card.dataset.approval)}`, { decision });
    document.dispatchEvent(new CustomEvent("news:approval", { detail: {} }));
  } catch (error) {
    delete card.dataset.decided;
    show(trouble, error);
    rest(card);
  }
}

function enable(card, is) {
  const isOpen = is && !card.dataset.decided;
  for (const button of card.querySelectorAll("[data-decide]")) button.disabled = !isOpen;
}

function buttonsOf(card) {
  return card.querySelector("[data-decide]").parentElement;
}

function count(waiting) {
  const title = document.title.replace(/^\(\d+\) /, "");
  document.title = waiting ? `(${waiting}) ${title}` : title;
}
