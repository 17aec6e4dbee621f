// The page of an agent's browser: pictures of it as they come, what it says of itself, and buttons. One window watches at
// a time; it says which picture it has shown, and only then more come. A hidden page lets go.

import { call, reach, said, show, csrf } from "./api.js";
import { BrowserHands } from "./browser-hands.js";
import { t } from "./texts.js";

const PARTS = ["empty", "open", "whose", "take", "give", "keep", "keep-site", "sites", "way", "address", "keyboard", "tabs", "trouble", "scripted", "wanted", "wanted-url", "warnings", "wanted-yes", "dialog", "dialog-message", "dialog-text", "dialog-acts", "dialog-wait", "dialog-no", "screen", "picture", "keys", "over", "why", "again", "note"];

export function startBrowserView({ signal }) {
  const page = document.querySelector("[data-browser]");
  if (page) new BrowserView(page, signal);
}

class BrowserView {
  #source = null;
  #window = "";
  #shown = 0;
  #confirmed = 0;
  #isConfirming = false;
  #state = { open: false, held: false };
  #isElsewhere = false;

  constructor(page, signal) {
    this.page = page;
    this.path = `/api/agents/${encodeURIComponent(page.dataset.agentName)}/browser`;
    for (const name of PARTS) this[name.replace(/-(\w)/g, (_, one) => one.toUpperCase())] = page.querySelector(`[data-browser-${name}]`);
    this.hands = new BrowserHands(this, signal);
    this.take.addEventListener("click", () => this.does("take-over", {}, this.take));
    this.give.addEventListener("click", () => this.#done());
    for (const button of page.querySelectorAll("[data-browser-go]")) button.addEventListener("click", () => this.does("go", { go: button.dataset.browserGo }, button));
    this.way.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#state.held && this.address.value.trim()) this.does("go", { url: this.address.value.trim() }).then(() => this.keys.focus({ preventScroll: true }));
    });
    this.wantedYes.addEventListener("click", () => this.does("go", { url: this.#state.wanted.url }, this.wantedYes));
    this.dialog.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#answer(true);
    });
    this.dialogNo.addEventListener("click", () => this.#answer(false));
    this.again.addEventListener("click", () => this.watch());
    for (const kind of ["browser", "again"]) {
      document.addEventListener(`news:${kind}`, ({ detail }) => (detail.agent ?? page.dataset.agentName) === page.dataset.agentName && this.look(), { signal });
    }
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#drop() : this.look()), { signal });
    window.addEventListener("pagehide", () => this.#drop(), { signal });
    signal.addEventListener("abort", () => this.#drop());
    this.look();
  }

  get held() {
    return this.#state.held;
  }

  // What a person does; a refusal is told. True when it was done.
  async does(what, body, button) {
    show(this.trouble, null);
    button?.toggleAttribute("data-busy", true);
    try {
      const answer = await call("POST", `${this.path}/${what}`, body);
      if (answer) this.tell(answer);
      return true;
    } catch (error) {
      show(this.trouble, error);
      return false;
    } finally {
      button?.toggleAttribute("data-busy", false);
    }
  }

  // Where the person wants it, logins of the page's site are kept first: what fails then is told while they can act.
  async #done() {
    await this.hands.flush();
    const wants = this.keep.querySelector("input");
    if (!this.keep.hidden && wants.checked) {
      show(this.trouble, null);
      this.give.toggleAttribute("data-busy", true);
      try {
        await call("POST", `${this.path}/logins`, { site: this.keepSite.textContent });
      } catch (error) {
        return show(this.trouble, error);
      } finally {
        this.give.toggleAttribute("data-busy", false);
      }
      document.dispatchEvent(new CustomEvent("news:kept-logins", { detail: {} }));
    }
    wants.checked = false;
    await this.does("give-back", {}, this.give);
  }

  async look() {
    if (this.#source || this.#isElsewhere) return;
    try {
      const state = await call("GET", this.path);
      this.tell(state);
      if (state.open && !document.hidden && this.page.isConnected) this.watch();
    } catch (error) {
      show(this.trouble, error);
    }
  }

  watch() {
    this.#drop();
    this.#isElsewhere = false;
    this.over.hidden = true;
    const source = (this.#source = new EventSource(`${this.path}/frames`));
    const on = (kind, take) => source.addEventListener(kind, (event) => source === this.#source && take(JSON.parse(event.data)));
    on("begin", ({ window }) => {
      this.#window = window;
      this.#shown = this.#confirmed = 0;
    });
    on("state", (state) => this.tell(state));
    on("frame", (frame) => this.#draw(frame));
    on("over", ({ why, elsewhere }) => this.#end(why, elsewhere));
    source.addEventListener("error", () => {
      if (source !== this.#source) return;
      this.#drop();
      setTimeout(() => this.look(), 1500);
    });
  }

  tell(state) {
    const was = this.#state;
    this.#state = state;
    this.empty.hidden = state.open;
    this.open.hidden = !state.open;
    if (!state.open) return;
    const { held } = state;
    this.page.toggleAttribute("data-held", held);
    this.whose.textContent = held ? this.whose.dataset.yours : this.whose.dataset.theirs;
    this.take.hidden = held;
    this.give.hidden = this.note.hidden = !held;
    this.keyboard.hidden = !held;
    this.address.readOnly = !held;
    this.sites.textContent = state.sites.join(", ") || "–";
    if (document.activeElement !== this.address || !held) this.address.value = /^https?:/.test(state.url) ? state.url : "";
    for (const button of this.way.querySelectorAll("[data-browser-go]")) button.disabled = !held;
    this.picture.alt = state.title ? t("The page “%(title)s”", { title: state.title }) : t("The page");
    this.keys.disabled = !held;
    this.scripted.hidden = !(held && state.scripted);
    this.#tellKeep(state);
    this.#tellTabs(state);
    this.#tellWanted(held ? state.wanted : null);
    this.#tellDialog(state.dialogs[0], held);
    if (held && !was.held) this.keys.focus({ preventScroll: true });
  }

  #tellKeep({ held, site }) {
    const kept = [...document.querySelectorAll("[data-kept-site]")].map((one) => one.dataset.keptSite);
    this.keep.hidden = !held || !site || kept.some((one) => site === one || site.endsWith(`.${one}`));
    if (this.keepSite.textContent === site) return;
    this.keepSite.textContent = site;
    this.keep.querySelector("input").checked = false;
  }

  #tellTabs({ tabs, held }) {
    this.tabs.hidden = tabs.length < 2;
    this.tabs.replaceChildren(
      ...tabs.map((tab) => {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "small";
        button.disabled = !held;
        button.setAttribute("aria-pressed", String(tab.is_in_front));
        const name = document.createElement("bdi");
        name.textContent = tab.title || tab.url || t("Empty tab");
        button.append(name);
        button.addEventListener("click", () => this.does("tab", { tab: tab.number }));
        return button;
      }),
    );
  }

  #tellWanted(wanted) {
    this.wanted.hidden = !wanted;
    if (!wanted) return;
    this.wantedUrl.textContent = wanted.url;
    this.warnings.replaceChildren(
      ...wanted.warnings.map((warning) => {
        const line = document.createElement("li");
        line.textContent = warning;
        return line;
      }),
    );
  }

  #tellDialog(dialog, held) {
    this.dialog.hidden = !dialog;
    if (!dialog) return;
    this.dialogMessage.textContent = dialog.message;
    const isPrompt = dialog.kind === "prompt";
    const field = this.dialogText.querySelector("input");
    if (this.dialog.dataset.id !== dialog.id) field.value = dialog.default;
    this.dialog.dataset.id = dialog.id;
    this.dialogText.hidden = !isPrompt || !held;
    this.dialogNo.hidden = dialog.kind === "alert";
    this.dialogActs.hidden = !held;
    this.dialogWait.hidden = held;
  }

  async #answer(accept) {
    const body = { dialog: this.dialog.dataset.id, accept };
    if (!this.dialogText.hidden) body.text = this.dialogText.querySelector("input").value;
    if (await this.does("dialog", body)) this.keys.focus({ preventScroll: true });
  }

  async #draw({ number, jpeg }) {
    const fresh = new Image();
    fresh.src = `data:image/jpeg;base64,${jpeg}`;
    try {
      await fresh.decode();
      if (number > this.#shown) this.picture.src = fresh.src;
      this.picture.hidden = false;
    } catch {
      // a picture that can't be shown is passed over
    }
    this.#shown = Math.max(this.#shown, number);
    this.#confirm();
  }

  async #confirm() {
    if (this.#isConfirming || this.#shown <= this.#confirmed || !this.#source) return;
    this.#isConfirming = true;
    const number = this.#shown;
    const headers = { Accept: "application/json", "Content-Type": "application/json", "X-CSRF-Token": csrf };
    try {
      const answer = await reach(`${this.path}/shown`, { method: "POST", headers, body: JSON.stringify({ window: this.#window, number }) });
      if (!answer.ok && answer.status !== 404) show(this.trouble, new Error(await said(answer)));
      this.#confirmed = number;
    } catch {
      this.#confirmed = number; // the stream notices when the server is gone
    }
    this.#isConfirming = false;
    this.#confirm();
  }

  #end(why, elsewhere) {
    this.#drop();
    this.#isElsewhere = elsewhere;
    if (elsewhere) {
      this.why.textContent = t("The browser is shown in another window of yours.");
      this.over.hidden = false;
      return;
    }
    this.picture.hidden = true;
    this.look();
  }

  #drop() {
    this.#source?.close();
    this.#source = null;
  }
}
