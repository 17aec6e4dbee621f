// The way between this page and one shell: what it prints comes as news of its own, what is typed goes in numbered
// pieces, one after the other, so that a piece sent twice is typed once. The page says how far it is, else the shell is
// made to wait.

import { call, csrf, reach, said } from "./api.js";
import { t } from "./texts.js";

const CONFIRM_BYTES = 64 * 1024;
const PIECE_CHARS = 8 * 1024;
const TRIES = 5;
const PAUSE_MS = 700;

export class Line {
  #path = "";
  #source = null;
  #queue = "";
  #next = 1;
  #isSending = false;
  #shown = 0;
  #confirmed = 0;
  #isConfirming = false;
  #hears;

  // hears: { print(bytes, shown), away(is), over(why) }
  constructor(hears) {
    this.#hears = hears;
  }

  async open(agent, size) {
    const path = `/api/agents/${encodeURIComponent(agent)}/terminals`;
    const { id } = await call("POST", path, size);
    this.#path = `${path}/${id}`;
    this.#source = new EventSource(`${this.#path}/output`);
    this.#source.addEventListener("open", () => this.#hears.away(false));
    this.#source.addEventListener("message", (event) => this.#print(event));
    this.#source.addEventListener("closed", (event) => this.#end(JSON.parse(event.data).why));
    this.#source.addEventListener("error", () => this.#lost());
  }

  type(text) {
    if (!this.#source) return;
    this.#queue += text;
    this.#send();
  }

  async resize(size) {
    if (this.#source) await this.#post("size", size);
  }

  // For a page that goes: nobody waits for the answer.
  close() {
    if (!this.#source) return;
    this.#drop();
    fetch(this.#path, { method: "DELETE", keepalive: true, headers: { "X-CSRF-Token": csrf } }).catch(() => {});
  }

  #print(event) {
    const place = Number(event.lastEventId);
    const bytes = Uint8Array.from(atob(event.data), (char) => char.charCodeAt(0));
    this.#hears.print(bytes, () => {
      this.#shown = place;
      this.#confirm();
    });
  }

  async #confirm() {
    if (this.#isConfirming || this.#shown - this.#confirmed < CONFIRM_BYTES) return;
    this.#isConfirming = true;
    const offset = this.#shown;
    if (await this.#post("taken", { offset })) this.#confirmed = offset;
    this.#isConfirming = false;
    this.#confirm();
  }

  async #send() {
    if (this.#isSending) return;
    this.#isSending = true;
    while (this.#queue && this.#source) {
      const text = beginning(this.#queue);
      this.#queue = this.#queue.slice(text.length);
      if (!(await this.#post("input", { seq: this.#next, text }))) break;
      this.#next += 1;
    }
    this.#isSending = false;
  }

  // True when it arrived. A connection that breaks is tried again; a refusal ends the terminal.
  async #post(what, body) {
    const headers = { Accept: "application/json", "Content-Type": "application/json", "X-CSRF-Token": csrf };
    for (let tries = 1; this.#source; tries += 1) {
      try {
        const answer = await reach(`${this.#path}/${what}`, { method: "POST", headers, body: JSON.stringify(body) });
        if (answer.ok) return true;
        return answer.status === 404 ? this.#end(await said(answer)) : this.#giveUp(await said(answer));
      } catch (error) {
        if (tries >= TRIES) return this.#giveUp(error.message);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    }
    return false;
  }

  #lost() {
    // Refused, or the page is about to go, which closes the stream before it is told.
    if (this.#source?.readyState === EventSource.CLOSED) this.#giveUp(t("This terminal is closed."));
    else this.#hears.away(true);
  }

  // It is over there, or it is no use here any more, and is ended there.
  #end(why) {
    if (!this.#source) return false;
    this.#drop();
    this.#hears.over(why);
    return false;
  }

  #giveUp(why) {
    if (!this.#source) return false;
    this.close();
    this.#hears.over(why);
    return false;
  }

  #drop() {
    this.#source.close();
    this.#source = null;
  }
}

// A piece that ends with a whole character.
function beginning(text) {
  const piece = text.slice(0, PIECE_CHARS);
  const last = piece.charCodeAt(piece.length - 1);
  return piece.length < text.length && last >= 0xd800 && last <= 0xdbff ? piece.slice(0, -1) : piece;
}
