// Questions to a person. Their buttons come alive only after the card has been in view for a moment, so that a click which was
// meant for what lay there before decides nothing; they never take the focus by themselves.

import { call, show } from "./api.js";

const READ_MS = 700;
const seen = new WeakSet();

export function startApprovals() {
  const eye = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) setTimeout(() => enable(entry.target, true), READ_MS);
    }
  });
  const look = () => {
    for (const card of document.querySelectorAll("[data-approval]")) {
      if (!seen.has(card)) eye.observe(card);
      seen.add(card);
    }
    count();
  };
  new MutationObserver(look).observe(document.getElementById("main"), { childList: true, subtree: true });
  look();
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-decide]");
    if (button) decide(button.closest("[data-approval]"), button.dataset.decide);
  });
}

async function decide(card, decision) {
  const trouble = card.querySelector(".trouble");
  show(trouble, null);
  enable(card, false);
  try {
    await call("POST", `/api/approvals/${encodeURIComponent(card.dataset.approval)}`, { decision });
    card.dataset.decided = decision;
    document.dispatchEvent(new CustomEvent("news:approval", { detail: {} }));
  } catch (error) {
    show(trouble, error);
    enable(card, true);
  }
}

function enable(card, is) {
  if (card.dataset.decided) return;
  for (const button of card.querySelectorAll("[data-decide]")) button.disabled = !is;
}

function count() {
  const waiting = document.querySelectorAll("#main [data-approval]").length;
  const title = document.title.replace(/^\(\d+\) /, "");
  document.title = waiting ? `(${waiting}) ${title}` : title;
}
