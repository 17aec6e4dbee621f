// The page of a folder: files that are chosen or dropped go into in/, a few at a time, each with a chip that tells how
// far it is. One that has arrived leaves its chip, and the list is rendered again.

import { show } from "./api.js";
import { listenForDrops } from "./attach.js";
import { holdBack } from "./pages.js";
import { Picking } from "./pick.js";
import { Upload, size } from "./upload.js";
import { t } from "./texts.js";

const AT_ONCE = 3;
const STAYS_MS = 4000;

export function startFiles({ signal }) {
  const page = document.querySelector("[data-files-page]");
  if (!page) return;
  new Uploads(page, signal);
  new Picking(page);
}

class Uploads {
  constructor(page, signal) {
    this.agent = page.closest("[data-agent]").dataset.agent;
    this.tray = page.querySelector("[data-uploads]");
    this.mold = page.querySelector("[data-chip]");
    this.news = page.querySelector("[data-upload-news]");
    this.trouble = page.querySelector("[data-upload-trouble]");
    this.waiting = [];
    this.under = 0;
    const input = page.querySelector("[data-upload-files]");
    page.querySelector("[data-upload]")?.addEventListener("click", () => input.click());
    input?.addEventListener("change", () => {
      this.add([...input.files]);
      input.value = "";
    });
    listenForDrops(page, (files) => this.add(files), signal);
    holdBack(() => this.under || this.waiting.length, signal);
  }

  add(files) {
    show(this.trouble, null);
    for (const file of files) this.waiting.push(this.chip(file));
    this.tray.hidden = false;
    this.next();
  }

  chip(file) {
    const element = this.mold.content.firstElementChild.cloneNode(true);
    const chip = { file, element, name: file.name || "file", bar: element.querySelector("progress"), isGone: false };
    element.querySelector(".file-name").textContent = chip.name;
    chip.bar.ariaLabel = t("Uploading %(name)s", { name: chip.name });
    const button = element.querySelector(".chip-remove");
    button.ariaLabel = t("Remove %(name)s", { name: chip.name });
    button.addEventListener("click", () => this.leave(chip));
    this.become(chip, "waiting", `${size(file.size)} · waiting`);
    this.tray.append(element);
    return chip;
  }

  next() {
    while (this.under < AT_ONCE && this.waiting.length) this.send(this.waiting.shift());
  }

  async send(chip) {
    this.under += 1;
    this.become(chip, "uploading", size(chip.file.size));
    chip.way = new Upload(this.agent, chip.file, (share) => {
      chip.bar.value = Math.floor(share * 100);
      this.tell(chip, `${size(chip.file.size)} · ${chip.bar.value} %`);
    });
    try {
      const path = await chip.way.start();
      if (path !== null) this.arrived(chip, decodeURIComponent(path));
    } catch (error) {
      this.become(chip, "failed", error.message);
      this.news.textContent = t("%(name)s was not uploaded: %(problem)s", { name: chip.name, problem: error.message });
    }
    this.under -= 1;
    this.next();
  }

  arrived(chip, path) {
    this.become(chip, "done", t("now at %(path)s", { path }));
    this.news.textContent = t("%(name)s was uploaded.", { name: chip.name });
    document.dispatchEvent(new CustomEvent("news:files", { detail: {} }));
    setTimeout(() => this.leave(chip), STAYS_MS);
  }

  leave(chip) {
    if (chip.isGone) return;
    chip.isGone = true;
    this.waiting = this.waiting.filter((other) => other !== chip);
    chip.way?.cancel();
    chip.element.remove();
    this.tray.hidden = !this.tray.children.length;
  }

  become(chip, state, text) {
    chip.element.dataset.state = state;
    chip.bar.hidden = state === "done" || state === "failed";
    this.tell(chip, text);
  }

  tell(chip, text) {
    chip.element.querySelector(".chip-state").textContent = text;
  }
}
