// The page on which a file's text is changed: CodeMirror in the place of the plain field. It lives in a shadow tree,
// because there it brings its styles as sheets, which our policy allows, and not as inline ones. Loaded on no other page.

import { csrf, leaving, reach, said, show } from "./api.js";
import { openView } from "./editor-dress.js";
import { holdBack } from "./pages.js";
import { t } from "./texts.js";

class Editor {
  constructor(form) {
    this.form = form;
    this.agent = form.closest("[data-agent]").dataset.agent;
    this.field = form.querySelector("[data-text]");
    this.state = form.querySelector("[data-editor-state]");
    this.trouble = form.querySelector(".trouble");
    this.outdated = form.querySelector("[data-outdated]");
    this.button = form.querySelector("[data-save]");
    this.isNew = !form.dataset.name;
    this.isBusy = false;
    this.view = this.open(form.querySelector("[data-screen]"));
    this.saved = this.isNew || !this.trouble.hidden ? null : this.view.state.doc;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.save();
    });
    form.querySelector("[data-overwrite]").addEventListener("click", () => this.overwrite());
    document.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.key !== "s") return;
      event.preventDefault();
      form.requestSubmit();
    });
    holdBack(() => this.isChanged && !this.isLeft, new AbortController().signal);
  }

  open(screen) {
    const view = openView(screen, {
      text: this.field.value,
      name: this.form.dataset.name,
      label: this.form.dataset.name ? t("Text of %(name)s", { name: this.form.dataset.name }) : t("Text of the new file"),
      onChange: () => this.tell(),
    });
    this.field.closest("label").hidden = true;
    this.field.disabled = true; // it is no part of the form any more
    screen.hidden = false;
    (this.isNew ? this.form.querySelector('[name="name"]') : view).focus();
    return view;
  }

  get isChanged() {
    const doc = this.view.state.doc;
    return this.saved ? !doc.eq(this.saved) : doc.length > 0;
  }

  tell(text) {
    this.state.textContent = text ?? (this.isChanged ? t("Not saved yet") : "");
  }

  get text() {
    return this.view.state.doc.sliceString(0, undefined, this.form.elements.ends.value === "crlf" ? "\r\n" : "\n");
  }

  async save() {
    if (this.isBusy) return;
    const { digest, name } = this.form.elements;
    const path = this.isNew ? `${this.form.dataset.path}/${encodeURIComponent(name.value.trim())}` : this.form.dataset.path;
    await this.send(path, this.isNew ? { "If-None-Match": "*" } : { "If-Match": `"${digest.value}"` });
  }

  // What the agent wrote meanwhile is replaced, knowingly: by the hash of what is there now.
  async overwrite() {
    const answer = await reach(this.url(this.form.dataset.path), { headers: { Accept: "application/json" } });
    const tag = answer.headers.get("ETag");
    await answer.body?.cancel();
    await this.send(this.form.dataset.path, answer.ok && tag ? { "If-Match": tag } : { "If-None-Match": "*" });
  }

  async send(path, precondition) {
    const doc = this.view.state.doc;
    const body = new Blob([this.text]);
    if (body.size > Number(this.form.dataset.most)) return show(this.trouble, new Error(t("This text is too long to be saved here.")));
    this.rest(true);
    show(this.trouble, null);
    this.tell(t("Saving…"));
    try {
      const headers = { Accept: "application/json", "X-CSRF-Token": csrf, "Content-Type": "application/octet-stream", ...precondition };
      const answer = await reach(this.url(path), { method: "PUT", headers, body });
      if (!answer.ok) return await this.refuse(answer);
      this.keep(await answer.json(), doc);
    } catch (error) {
      this.tell(t("Not saved"));
      show(this.trouble, error);
    } finally {
      this.rest(false);
    }
  }

  keep(stored, doc) {
    this.saved = doc;
    this.outdated.hidden = true;
    this.form.elements.digest.value = stored.sha256;
    if (this.isNew) {
      leaving(true);
      this.isLeft = true;
      location.replace(`/agents/${this.agent}/edit/${stored.path}`);
    }
    this.tell(this.isChanged ? undefined : t("Saved"));
  }

  async refuse(answer) {
    const isGone = answer.status === 404 && !this.isNew;
    this.outdated.hidden = answer.status !== 412 && !isGone;
    show(this.trouble, new Error(isGone ? t("The file isn’t there any more, so nothing was saved.") : await said(answer)));
    this.tell(t("Not saved"));
  }

  rest(is) {
    this.isBusy = is;
    this.button.disabled = is;
    this.button.toggleAttribute("data-busy", is);
  }

  url(path) {
    return `/api/agents/${this.agent}/files/${path}`;
  }
}

new Editor(document.querySelector("[data-editor]"));
