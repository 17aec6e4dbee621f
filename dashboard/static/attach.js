// Files that go with the next message: chosen, dropped or pasted, uploaded at once, shown as chips above the text until
// they are sent or removed.

import { call, show } from "./api.js";
import { filesOf } from "./drops.js";
import { holdBack } from "./pages.js";
import { Upload, size } from "./upload.js";
import { t } from "./texts.js";

const AT_ONCE = 3; // a browser keeps six connections per server, and the page needs some itself
const SAY_AFTER_MS = 150;

export class Attachments {
  // onChange: how many there are, or how far they are, has changed.
  constructor(talk, onChange, signal) {
    this.agent = talk.dataset.agent;
    this.onChange = onChange;
    this.chips = [];
    this.tray = talk.querySelector("[data-tray]");
    this.mold = talk.querySelector("[data-chip]");
    this.news = talk.querySelector("[data-file-news]");
    this.trouble = talk.querySelector(".dock .trouble");
    this.field = talk.querySelector("[data-composer] textarea");
    this.most = Number(talk.querySelector("[data-composer]").dataset.mostFiles);
    this.saying = [];
    this.listen(talk, signal);
  }

  get count() {
    return this.chips.length;
  }

  // Resolves with the chips when none is on its way any more; an Error when one did not arrive.
  async arrived() {
    while (this.chips.some((chip) => chip.isOpen)) await new Promise((resolve) => (this.wake = resolve));
    const lost = this.chips.find((chip) => chip.state === "failed");
    if (lost) throw new Error(t("Not sent, because %(name)s wasn't uploaded. Try it again or remove it.", { name: lost.name }));
    return [...this.chips];
  }

  // Nothing can be removed while the message is on its way.
  hold(is) {
    this.tray.inert = is;
  }

  sent(chips) {
    for (const chip of chips) this.take(chip);
  }

  listen(talk, signal) {
    const input = talk.querySelector("[data-files]");
    talk.querySelector(".attach").addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      this.add([...input.files]);
      input.value = ""; // the same file may be chosen again
    });
    document.addEventListener("paste", (event) => {
      if (!isPicture(event.clipboardData)) return;
      event.preventDefault();
      this.add([...event.clipboardData.files]);
    }, { signal });
    listenForDrops(talk, (files) => this.add(files), signal);
    holdBack(() => this.chips.some((chip) => chip.isOpen), signal);
  }

  add(files) {
    const room = this.most - this.chips.length;
    const isOver = files.length > room;
    show(this.trouble, isOver ? new Error(t("A message can have at most %(count)s files, so not all were attached.", { count: this.most })) : null);
    for (const file of files.slice(0, room)) {
      const chip = new Chip(this, file);
      this.chips.push(chip);
      this.tray.append(chip.element);
    }
    this.tray.lastElementChild?.scrollIntoView({ block: "nearest" });
    this.changed();
    if (matchMedia("(hover: hover)").matches) this.field.focus({ preventScroll: true });
  }

  // Those of a message that was taken back, by their tags there: they still lie in in/.
  back(tags) {
    for (const tag of tags) {
      const name = tag.querySelector(".file-name").textContent;
      const chip = new Chip(this, { name, size: 0 });
      chip.path = `in/${encodeURIComponent(name)}`;
      chip.become("done", tag.querySelector(".quiet").textContent);
      this.chips.push(chip);
      this.tray.append(chip.element);
    }
    this.changed();
  }

  changed() {
    const under = this.chips.filter((chip) => chip.state === "uploading").length;
    for (const chip of this.chips.filter(({ state }) => state === "waiting").slice(0, AT_ONCE - under)) chip.upload();
    this.tray.hidden = this.chips.length === 0;
    this.wake?.();
    this.onChange();
  }

  // By hand: what was uploaded is taken back, and the focus stays near.
  async remove(chip) {
    const at = this.chips.indexOf(chip);
    this.take(chip);
    const near = this.chips[at] ?? this.chips[at - 1];
    (near?.remover ?? this.field).focus({ preventScroll: true });
    this.say(t("%(name)s was removed.", { name: chip.name }));
    if (!chip.path) return;
    try {
      await call("DELETE", `/api/agents/${this.agent}/files/${chip.path}`);
    } catch (error) {
      show(this.trouble, error);
    }
  }

  take(chip) {
    this.chips = this.chips.filter((other) => other !== chip);
    chip.leave();
    this.changed();
  }

  // For who can't see the chips; what happens at about the same time is said together.
  say(sentence) {
    this.saying.push(sentence);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.news.textContent = this.saying.join(" ");
      this.saying = [];
    }, SAY_AFTER_MS);
  }
}

class Chip {
  constructor(all, file) {
    this.all = all;
    this.file = file;
    this.name = file.name || "file";
    this.path = "";
    this.element = all.mold.content.firstElementChild.cloneNode(true);
    this.element.querySelector(".file-name").textContent = this.name;
    this.element.querySelector(".chip-what").title = this.name;
    this.bar = this.element.querySelector("progress");
    this.bar.ariaLabel = t("Uploading %(name)s", { name: this.name });
    this.retrier = this.element.querySelector(".chip-retry");
    this.retrier.ariaLabel = t("Try again: %(name)s", { name: this.name });
    this.retrier.addEventListener("click", () => this.retry());
    this.remover = this.element.querySelector(".chip-remove");
    this.remover.ariaLabel = t("Remove %(name)s", { name: this.name });
    this.remover.addEventListener("click", () => all.remove(this));
    this.become("waiting", `${size(file.size)} · waiting`);
  }

  get isOpen() {
    return this.state === "waiting" || this.state === "uploading";
  }

  async upload() {
    this.become("uploading", size(this.file.size));
    this.bar.value = 0;
    this.way = new Upload(this.all.agent, this.file, (share) => this.progress(share));
    try {
      this.path = await this.way.start();
      if (this.path === null) return; // removed meanwhile
      this.become("done", size(this.file.size));
      this.all.say(t("%(name)s was uploaded.", { name: this.name }));
    } catch (error) {
      this.become("failed", error.message);
      this.all.say(t("%(name)s was not uploaded: %(problem)s", { name: this.name, problem: error.message }));
    }
    this.all.changed();
  }

  retry() {
    this.remover.focus({ preventScroll: true });
    this.become("waiting", `${size(this.file.size)} · waiting`);
    this.all.changed();
  }

  progress(share) {
    this.bar.value = Math.floor(share * 100);
    this.tell(`${size(this.file.size)} · ${this.bar.value} %`);
  }

  become(state, text) {
    this.state = state;
    this.element.dataset.state = state;
    this.bar.hidden = !this.isOpen;
    this.retrier.hidden = state !== "failed";
    this.tell(text);
  }

  tell(text) {
    this.element.querySelector(".chip-state").textContent = text;
  }

  leave() {
    this.state = "gone";
    this.way?.cancel();
    this.element.remove();
  }
}

// Anywhere on the page: a drop that misses by a finger must not make the browser open the file instead.
export function listenForDrops(talk, take, signal) {
  const over = (is) => talk.classList.toggle("dropping", is);
  for (const kind of ["dragenter", "dragover"]) {
    document.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
      over(true);
    }, { signal });
  }
  document.addEventListener("dragleave", (event) => event.relatedTarget ?? over(false), { signal });
  document.addEventListener("drop", (event) => {
    over(false);
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    filesOf(event.dataTransfer).then(take);
  }, { signal });
}

// Office programs put a picture of the text beside the text: there the text is meant.
function isPicture(clipboard) {
  const isText = clipboard?.types.includes("text/plain") && clipboard.types.some((type) => /^text\/(html|rtf)$/.test(type));
  return Boolean(clipboard?.files.length) && !isText;
}
