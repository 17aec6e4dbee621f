// The first page: one field that asks any agent, and what each agent writes just now on its card. Whoever comes back to
// it after a while finds it made anew.

import { call, show } from "./api.js";
import { Draft } from "./drafts.js";
import { go, reload } from "./pages.js";

const AWAY_MS = 30 * 60 * 1000; // a visit is over then: orchestrator/operations/visits.py
const LIVE_CHARS = 90;
const UNSEEN = /[\p{C}\p{Z}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f]+/gu; // what draws nothing, or moves its neighbours

export function startHome({ signal }) {
  const page = document.querySelector("[data-home]");
  if (!page) return;
  const form = page.querySelector("[data-ask-any]");
  if (form) new AskField(form, signal);
  followAgents(page, signal);
  let left = 0;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) left = Date.now();
    else if (left && Date.now() - left > AWAY_MS) reload();
  }, { signal });
}

// The end of what each agent writes to the viewer, where its card says that it writes. The server tells it in blocks, of
// which the words alone are taken; cards are made anew meanwhile.
function followAgents(page, signal) {
  const [said, cards] = [new Map(), page.querySelector("[data-live-lines]")];
  const isMine = ({ user }) => user === Number(document.body.dataset.viewer);
  const write = () => {
    for (const [agent, words] of said) {
      const line = cards.querySelector(`[data-agent="${CSS.escape(agent)}"] [data-live]`);
      if (line && line.textContent !== words) line.textContent = words;
    }
  };
  document.addEventListener("news:delta", ({ detail }) => {
    const words = isMine(detail) && endOf(detail.blocks?.at(-1) ?? "");
    if (words) said.set(detail.agent, `Writing “${words}”`);
    write();
  }, { signal });
  for (const kind of ["turn", "step"]) {
    document.addEventListener(`news:${kind}`, ({ detail }) => isMine(detail) && said.delete(detail.agent), { signal });
  }
  new MutationObserver(write).observe(cards, { childList: true });
}

function endOf(block) {
  const holder = document.createElement("template");
  holder.innerHTML = block;
  const words = holder.content.textContent.slice(-LIVE_CHARS * 2).replace(UNSEEN, " ").trim();
  return words.length > LIVE_CHARS ? `…${words.slice(-LIVE_CHARS)}` : words;
}

class AskField {
  constructor(form, signal) {
    this.form = form;
    this.field = form.querySelector("[data-ask-text]");
    this.agent = form.querySelector("[data-ask-agent]");
    this.trouble = form.querySelector(".trouble");
    this.isSending = false;
    this.draft = new Draft(this.field, "", "any", Number(document.body.dataset.viewer), signal);
    this.draft.restore();
    this.field.addEventListener("input", () => this.choose(/^\s*@([a-z0-9-]+)[\s:,]+/i));
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.send(null);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send(event.submitter?.name === "task" ? event.submitter.value : null);
    });
  }

  // A name at the beginning chooses who is asked, and is no part of the message.
  choose(pattern) {
    const found = pattern.exec(this.field.value);
    const option = found && [...this.agent.options].find(({ value }) => value === found[1].toLowerCase());
    if (!option) return;
    this.agent.value = option.value;
    this.field.value = this.field.value.slice(found[0].length);
  }

  async send(task) {
    if (this.isSending) return;
    if (task === null) this.choose(/^\s*@([a-z0-9-]+)(?:[\s:,]+|$)/i);
    const text = task ?? this.field.value;
    if (!text.trim()) {
      this.field.focus();
      return;
    }
    this.busy(true);
    try {
      await this.post(text);
      if (task === null) {
        this.field.value = "";
        this.draft.keep();
      }
    } catch (error) {
      show(this.trouble, error);
    }
    this.busy(false);
  }

  async post(text) {
    const [agent, { conversation, begun }] = [this.agent.value, this.agent.selectedOptions[0].dataset];
    const path = `/api/agents/${encodeURIComponent(agent)}`;
    const isNew = this.form.elements.place.checked && begun !== undefined;
    const place = isNew ? (await call("POST", `${path}/conversations`, {})).id : Number(conversation ?? 0);
    await call("POST", `${path}/messages`, place ? { text, conversation: place } : { text });
    if (this.form.isConnected) go(`/agents/${encodeURIComponent(agent)}${place ? `?conversation=${place}` : ""}`);
  }

  busy(is) {
    this.isSending = this.field.readOnly = is;
    for (const button of this.form.querySelectorAll("button")) button.disabled = is;
    if (is) show(this.trouble, null);
  }
}
