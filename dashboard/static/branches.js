// Branches of the conversation: a message is edited or asked again beside itself, another version of it is shown, and a
// new conversation begins where a turn ended. The conversation ("chat.js") shows the branch that is told in the event.

import { call, leaving, show } from "./api.js";
import { ask } from "./forms.js";
import { go } from "./pages.js";
import { t } from "./texts.js";

export function startBranches() {
  const talk = document.querySelector(".talk[data-conversation]");
  if (!talk) return;
  const { agent, conversation } = talk.dataset;
  const path = `/api/agents/${agent}/conversations`;
  const trouble = talk.querySelector(".dock .trouble");
  talk.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    const turn = button?.closest(".turn");
    if (!turn) return;
    if (button.matches("[data-edit]")) edit(turn);
    else if (button.matches("[data-edit-cancel]")) close(turn);
    else if (button.matches("[data-ask-again]")) act(button, () => send(turn));
    else if (button.matches("[data-version]")) act(button, () => choose(Number(button.dataset.version)));
    else if (button.matches("[data-fork]")) act(button, () => fork(turn));
    else if (button.matches("[data-delete-turn]")) act(button, () => remove(turn));
  });
  talk.addEventListener("submit", (event) => {
    const form = event.target.closest(".edit-form");
    if (!form) return;
    event.preventDefault();
    const text = form.elements.text.value;
    const hasFiles = form.closest(".turn").querySelector(".said .tag") !== null;
    if (!text.trim() && !hasFiles) {
      show(form.querySelector(".trouble"), new Error("Write a message first."));
      return;
    }
    const files = form.elements.files.checked;
    act(form.querySelector("button:not([type])"), () => send(form.closest(".turn"), text, files), form.querySelector(".trouble"));
  });
  talk.addEventListener("keydown", (event) => {
    const form = event.target.closest(".edit-form");
    if (!form || event.isComposing) return;
    if (event.key === "Escape") close(form.closest(".turn"));
    if (event.key !== "Enter" || event.shiftKey || !event.target.matches("textarea")) return;
    event.preventDefault();
    form.requestSubmit();
  });

  async function act(button, work, place = trouble) {
    button.disabled = true;
    show(place, null);
    try {
      await work();
    } catch (error) {
      leaving(false);
      show(place, error);
    }
    button.disabled = false;
  }

  async function send(turn, text, files = false) {
    const body = { turn: Number(turn.dataset.turn), files, ...(text === undefined ? {} : { text }) };
    const made = await call("POST", `${path}/${conversation}/branch`, body);
    close(turn);
    tell(made.turn);
  }

  async function choose(turn) {
    await call("PATCH", `${path}/${conversation}`, { turn });
    tell(turn);
  }

  // What is around it is where one was, so it stays in view.
  async function remove(turn) {
    const near = [turn.nextElementSibling, turn.previousElementSibling].find((one) => one?.matches(".turn"));
    const told = t("Delete this message and its answer? %(agent)s forgets both, and what the commands printed is gone. Files and memories stay, and the audit log keeps what was said.", { agent });
    if (!(await ask(told, t("Delete")))) return;
    await call("DELETE", `/api/turns/${turn.dataset.turn}`);
    turn.remove();
    tell(near ? Number(near.dataset.turn) : undefined);
  }

  async function fork(turn) {
    leaving(true);
    const { id } = await call("POST", path, { turn: Number(turn.dataset.turn) });
    go(`/agents/${agent}?conversation=${id}`);
  }
}

function tell(turn) {
  document.dispatchEvent(new CustomEvent("branch", { detail: { turn } }));
}

function edit(turn) {
  const place = turn.querySelector(".editing");
  if (place.firstChild) return;
  place.append(document.querySelector("template[data-edit-form]").content.cloneNode(true));
  const field = place.querySelector("textarea");
  field.id = `edit-text-${turn.dataset.turn}`;
  place.querySelector("label").htmlFor = field.id;
  field.value = turn.querySelector(".bubble")?.textContent ?? "";
  field.style.height = `${field.scrollHeight}px`;
  field.addEventListener("input", () => {
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  });
  field.focus();
}

function close(turn) {
  const place = turn.querySelector(".editing");
  if (!place?.firstChild) return;
  const hadFocus = place.contains(document.activeElement);
  place.replaceChildren();
  if (hadFocus) turn.querySelector("[data-edit]")?.focus({ preventScroll: true });
}
