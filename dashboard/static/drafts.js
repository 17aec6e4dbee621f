// What somebody has begun to write to an agent, kept in their browser until it is sent: it outlives a reload, another
// page and a crash. It is gone when they log out.

const PREFIX = "draft ";
const PAUSE_MS = 300;

export class Draft {
  constructor(field, agent, conversation, viewer, signal) {
    this.field = field;
    this.key = `${PREFIX}${viewer} ${agent} ${conversation}`;
    this.timer = 0;
    field.addEventListener("input", () => {
      this.timer ||= setTimeout(() => this.keep(), PAUSE_MS);
    });
    window.addEventListener("pagehide", () => this.timer && this.keep(), { signal });
    signal.addEventListener("abort", () => this.timer && this.keep());
  }

  // What the browser itself put back into the field comes first.
  restore() {
    this.field.value ||= read(this.key) ?? "";
  }

  keep() {
    clearTimeout(this.timer);
    this.timer = 0;
    write(this.key, this.field.value);
  }
}

export function forgetDrafts() {
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch {
    return; // the browser keeps nothing, so there is nothing to forget
  }
}

function read(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key, text) {
  try {
    if (text) localStorage.setItem(key, text);
    else localStorage.removeItem(key);
  } catch {
    return; // no room, or no storage allowed: the text is in the field nevertheless
  }
}
