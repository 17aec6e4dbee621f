// The person's word on a card: yes, no, always for a question about what may be done; a choice or a text for what an
// agent wants to know.

import { call, show } from "./api.js";
import { settle } from "./cards.js";

const SAYS = {
  approve: { decision: "approve" },
  deny: { decision: "deny" },
  always: { decision: "approve", always: true },
};

export function startApprovals() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-decide], .choices [data-answer]");
    if (!button) return;
    const card = button.closest("[data-approval], [data-question]");
    if (button.dataset.decide) tell(card, `/api/approvals/${encodeURIComponent(card.dataset.approval)}`, SAYS[button.dataset.decide], "approval");
    else answer(card, button.value);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("[data-answering]");
    if (!form) return;
    event.preventDefault();
    submit(form);
  });
  document.addEventListener("keydown", (event) => {
    const form = event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.closest("[data-answering]");
    if (!form || event.target.matches("button")) return;
    event.preventDefault();
    submit(form);
  });
}

function submit(form) {
  const isAwake = !form.querySelector("[data-answer]").disabled;
  if (isAwake && form.reportValidity()) answer(form.closest("[data-question]"), form.elements.answer.value);
}

function answer(card, text) {
  return tell(card, `/api/questions/${encodeURIComponent(card.dataset.question)}`, { answer: text }, "question");
}

async function tell(card, path, body, kind) {
  const trouble = card.querySelector(".trouble");
  show(trouble, null);
  settle(card, true);
  try {
    await call("POST", path, body);
    document.dispatchEvent(new CustomEvent(`news:${kind}`, { detail: {} }));
  } catch (error) {
    settle(card, false);
    show(trouble, error);
  }
}
