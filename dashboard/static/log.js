// The page of an agent's own log: new lines come by news and, as the log is written a moment after its news, by asking
// again; earlier ones by a button. What is typed in the field hides all lines that it is not in.

import { part, show } from "./api.js";
import { every, soon } from "./parts.js";
import { t } from "./texts.js";

const ASK_AGAIN_MS = 5000;
const MOST = 3000;

export function startLog({ signal }) {
  const page = document.querySelector("[data-log-page]");
  if (page) new Log(page, signal);
}

class Log {
  constructor(page, signal) {
    for (const [name, key] of Object.entries({ pane: "pane", list: "", earlier: "earlier", follow: "follow", found: "found", trouble: "trouble", empty: "empty", file: "file" })) {
      this[name] = page.querySelector(key ? `[data-log-${key}]` : "[data-log]");
    }
    this.agent = this.list.dataset.agentName;
    this.field = page.querySelector("[data-log-search] input");
    this.isBusy = false;
    this.field.addEventListener("input", () => this.search());
    this.field.form.addEventListener("submit", (event) => event.preventDefault());
    this.earlier.addEventListener("click", () => this.loadEarlier());
    this.follow.addEventListener("change", () => this.follow.checked && this.update());
    for (const kind of ["step", "turn", "again"]) {
      document.addEventListener(`news:${kind}`, ({ detail }) => (detail.agent ?? this.agent) === this.agent && this.update(), { signal });
    }
    every(ASK_AGAIN_MS, () => document.hidden || this.update(), signal);
    this.toEnd();
  }

  update() {
    if (this.follow.checked) soon(this, () => this.loadNew());
  }

  async loadNew() {
    if (this.isBusy) return;
    const fresh = await this.lines(`after=${this.list.dataset.end}`);
    const isAtEnd = this.pane.scrollHeight - this.pane.scrollTop - this.pane.clientHeight < 40;
    if (fresh.dataset.fresh !== undefined) {
      if (fresh.dataset.end === this.list.dataset.end) return;
      this.list.replaceChildren();
      this.place(fresh.dataset.earlier);
    }
    this.list.dataset.end = fresh.dataset.end;
    if (!fresh.children.length) return;
    this.list.append(...fresh.children);
    this.shorten();
    this.search();
    if (isAtEnd) this.toEnd();
    if (fresh.dataset.more !== undefined) this.update();
  }

  async loadEarlier() {
    this.isBusy = true;
    this.earlier.disabled = true;
    show(this.trouble, null);
    try {
      const fresh = await this.lines(`before=${this.list.dataset.earlier}`);
      const height = this.pane.scrollHeight;
      this.list.prepend(...fresh.children);
      this.place(fresh.dataset.earlier);
      this.search();
      this.pane.scrollTop += this.pane.scrollHeight - height;
    } catch (error) {
      show(this.trouble, error);
    }
    this.earlier.disabled = false;
    this.isBusy = false;
  }

  async lines(query) {
    const fragment = await part(`/parts/log/${encodeURIComponent(this.agent)}?${query}`);
    return fragment.querySelector("[data-lines]");
  }

  place(earlier) {
    this.list.dataset.earlier = earlier;
    this.earlier.hidden = !earlier;
  }

  // A page that is left open all day keeps the newest lines; the others are earlier ones again.
  shorten() {
    const over = this.list.children.length - MOST;
    if (over <= 0) return;
    for (const line of [...this.list.children].slice(0, over)) line.remove();
    this.place(this.list.firstElementChild.dataset.at);
  }

  search() {
    const wanted = this.field.value.trim().toLowerCase();
    let found = 0;
    for (const line of this.list.children) {
      line.hidden = Boolean(wanted) && !line.textContent.toLowerCase().includes(wanted);
      found += !line.hidden;
    }
    const all = this.list.children.length;
    this.empty.hidden = all > 0;
    this.file.hidden = all === 0;
    this.found.textContent = wanted ? t("%(found)s of %(all)s lines", { found, all }) : "";
  }

  toEnd() {
    this.pane.scrollTop = this.pane.scrollHeight;
  }
}
