// The person's word on a card: yes, no, yes for longer or no with words for a question about what may be done; a choice
// or a text for what an agent wants to know. Y and N answer the one card that is meant.

import { call, show } from "./api.js";
import { settle } from "./cards.js";

const SAYS = {
  approve: { decision: "approve" },
  deny: { decision: "deny" },
  always: { decision: "approve", always: true },
  hour: { decision: "approve", scope: "hour" },
  conversation: { decision: "approve", scope: "conversation" },
};
const KEYS = { y: "approve", n: "deny" };

export function startApprovals() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-decide], .choices [data-answer]");
    if (!button) return;
    const card = button.closest("[data-approval], [data-question]");
    if (button.dataset.decide === "note") refuse(card);
    else if (button.dataset.decide) decide(card, SAYS[button.dataset.decide]);
    else answer(card, button.value);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("[data-answering]");
    if (!form) return;
    event.preventDefault();
    submit(form);
  });
  document.addEventListener("keydown", (event) => {
    const word = !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key.toLowerCase()];
    if (!word || event.repeat || event.target.closest("input, textarea, select, [contenteditable], iframe")) return;
    const button = meant(event.target)?.querySelector(`[data-decide="${word}"]`);
    if (button && !button.disabled) button.click();
  });
  document.addEventListener("keydown", (event) => {
    const form = event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.closest("[data-answering]");
    if (!form || event.target.matches("button")) return;
    event.preventDefault();
    submit(form);
  });
}

// The card that holds the focus, or the only one there is.
function meant(target) {
  const cards = document.querySelectorAll("#main [data-approval]");
  return target.closest("[data-approval]") ?? (cards.length === 1 ? cards[0] : null);
}

function decide(card, body) {
  return tell(card, `/api/approvals/${encodeURIComponent(card.dataset.approval)}`, body, "approval");
}

function refuse(card) {
  const field = card.querySelector("[name=note]");
  if (field.value.trim()) decide(card, { decision: "deny", note: field.value.trim() });
  else field.focus();
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
