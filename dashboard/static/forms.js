// Forms that are sent without leaving the page, so that a refusal is told beside the button; and the question before
// a loss.

import { leaving, reach, said, show } from "./api.js";
import { forgetDrafts } from "./drafts.js";
import { go } from "./pages.js";
import { forgetPush } from "./push.js";

export function startForms() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches("[data-send]")) sent(event, form, send);
  });
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}

export function ask(question, yes) {
  const dialog = document.querySelector("dialog.ask");
  dialog.querySelector("p").textContent = question;
  dialog.querySelector('[value="yes"]').textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

async function sent(event, form, how) {
  event.preventDefault();
  const buttons = form.querySelectorAll("button");
  const trouble = form.querySelector(".trouble");
  show(trouble, null);
  for (const button of buttons) button.disabled = true;
  leaving(true);
  try {
    const next = await how(form);
    if (form.matches("[data-logout]")) {
      forgetDrafts();
      forgetPush();
    }
    go(next);
  } catch (error) {
    leaving(false);
    show(trouble, error);
    for (const button of buttons) button.disabled = false;
  }
}

async function send(form) {
  const body = new URLSearchParams(new FormData(form));
  const answer = await reach(form.action, { method: "POST", headers: { Accept: "application/json" }, body });
  if (!answer.ok) throw new Error(await said(answer));
  return answer.url;
}
