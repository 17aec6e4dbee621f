// The first page: one field that asks any agent. Whoever comes back to it after a while finds it made anew.

import { call, show } from "./api.js";
import { Draft } from "./drafts.js";
import { go, reload } from "./pages.js";

const AWAY_MS = 30 * 60 * 1000; // a visit is over then: orchestrator/operations/visits.py

export function startHome({ signal }) {
  const page = document.querySelector("[data-home]");
  if (!page) return;
  const form = page.querySelector("[data-ask-any]");
  if (form) new AskField(form, signal);
  let left = 0;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) left = Date.now();
    else if (left && Date.now() - left > AWAY_MS) reload();
  }, { signal });
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
    this.field.addEventListener("input", () => this.choose());
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
  choose() {
    const text = this.field.value.trimStart();
    if (!text.startsWith("@")) return;
    const names = [...this.agent.options].flatMap((option) => [[option.value, option], [option.textContent, option]]);
    const begins = ([name]) => text.slice(1, name.length + 1).toLowerCase() === name.toLowerCase() && /^[\s:,]/.test(text.slice(name.length + 1));
    const found = names.sort(([a], [b]) => b.length - a.length).find(begins);
    if (!found) return;
    this.agent.value = found[1].value;
    this.field.value = text.slice(found[0].length + 1).replace(/^[\s:,]+/, "");
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
