// Files of a folder that are selected together: by their boxes, with Shift from one to another, by keyboard (arrows,
// Ctrl+A, Delete, F2, Escape). What is done with them is one call. Also the names that a person gives.

import { call, show } from "./api.js";
import { ask } from "./forms.js";
import { go } from "./pages.js";
import { t } from "./texts.js";

export class Picking {
  constructor(page) {
    this.page = page;
    this.agent = page.closest("[data-agent]").dataset.agent;
    this.folder = page.dataset.folder;
    this.list = page.querySelector("[data-picking]");
    this.naming = page.querySelector("[data-naming]");
    this.last = null;
    this.list.addEventListener("click", (event) => this.click(event));
    this.list.addEventListener("change", () => this.count());
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("dragstart", (event) => drag(event));
    this.naming.querySelector("[data-cancel]").addEventListener("click", () => this.naming.close(""));
    page.querySelector(".finding")?.addEventListener("submit", (event) => find(event));
    page.querySelector("[data-make-folder]")?.addEventListener("click", () => this.makeFolder());
    new MutationObserver(() => this.count()).observe(this.list, { childList: true });
    this.count();
  }

  get boxes() {
    return [...this.list.querySelectorAll('.pick input[type="checkbox"]')];
  }

  get picked() {
    return this.boxes.filter((box) => box.checked);
  }

  count() {
    const place = this.list.querySelector("[data-picked-count]");
    const count = this.picked.length;
    if (place) place.textContent = count ? t("%(count)s selected", { count }) : "";
  }

  click(event) {
    const box = event.target.closest(".pick")?.querySelector("input");
    if (box && event.target === box) this.range(box, event.shiftKey);
    else if (event.target.closest("[data-rename]")) this.rename(event.target.closest("[data-entry]"));
    else if (event.target.closest("[data-move-picked]")) this.movePicked();
    else if (event.target.closest("[data-delete-picked]")) this.deletePicked();
    else if (event.target.closest("[data-pick-none]")) this.pick(() => false);
  }

  // From the box that was pressed before to this one, all become what this one became.
  range(box, isRange) {
    const boxes = this.boxes;
    const from = boxes.findIndex((one) => one.value === this.last);
    const to = boxes.indexOf(box);
    if (isRange && from >= 0) {
      for (const one of boxes.slice(Math.min(from, to), Math.max(from, to) + 1)) one.checked = box.checked;
    }
    this.last = box.value;
    this.count();
  }

  pick(is) {
    for (const box of this.boxes) box.checked = is(box);
    this.count();
  }

  key(event) {
    const row = event.target.closest("[data-entry]");
    if (!row || event.altKey || event.target.matches("input:not([type=checkbox])")) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.step(row, step, event.shiftKey);
    else if (event.key === "a" && (event.ctrlKey || event.metaKey)) this.pick(() => true);
    else if (event.key === "Escape" && this.picked.length) this.pick(() => false);
    else if (event.key === "Enter" && event.target.matches("input")) row.querySelector("a.entry-open")?.click();
    else if (event.key === "F2") this.rename(row);
    else if (event.key === "Delete" && this.picked.length) this.deletePicked();
    else return;
    event.preventDefault();
  }

  step(row, step, isRange) {
    const boxes = this.boxes;
    const at = boxes.indexOf(row.querySelector(".pick input"));
    const next = boxes[at + step];
    if (!next) return;
    if (isRange) boxes[at].checked = next.checked = true;
    this.last = next.value;
    next.focus();
    this.count();
  }

  async rename(row) {
    const path = row.dataset.entry;
    const above = path.slice(0, path.lastIndexOf("/"));
    const old = nameOf(path);
    const stem = old.lastIndexOf(".") > 0 ? old.lastIndexOf(".") : old.length;
    await this.name({ title: t("New name for “%(name)s”", { name: old }), yes: t("Rename"), value: old, end: stem }, (name) =>
      name === old ? null : call("PATCH", this.url(path), { to: `${above}/${encodeURIComponent(name)}` }),
    );
  }

  async makeFolder() {
    await this.name({ title: t("Name of the new folder"), yes: t("Create"), value: "", end: 0 }, (name) =>
      call("POST", this.url(`${this.folder}/${encodeURIComponent(name)}`)),
    );
  }

  async movePicked() {
    const paths = this.picked.map((box) => box.closest("[data-entry]").dataset.entry);
    if (!paths.length) return;
    const where = decoded(this.folder);
    this.offerFolders();
    const title = paths.length === 1 ? t("Move “%(name)s” to the folder", { name: nameOf(paths[0]) }) : t("Move %(count)s items to the folder", { count: paths.length });
    await this.name({ title, yes: t("Move"), value: where ? `${where}/` : "work/", end: 1000, isPath: true }, (name) =>
      this.many({ do: "move", paths, to: name.replace(/\/+$/, "").split("/").map(encodeURIComponent).join("/") }),
    );
  }

  async deletePicked() {
    const paths = this.picked.map((box) => box.closest("[data-entry]").dataset.entry);
    if (!paths.length) return;
    const kept = paths.every((path) => !path.startsWith("in/"));
    const end = kept ? t("History keeps a copy, unless it’s very large.") : t("This can’t be undone.");
    const what = paths.length === 1 ? t("Delete “%(name)s”?", { name: nameOf(paths[0]) }) : t("Delete %(count)s items and everything in them?", { count: paths.length });
    if (!(await ask(`${what} ${end}`, t("Delete")))) return;
    const place = this.list.querySelector(".trouble");
    try {
      await this.many({ do: "delete", paths });
      show(place, null);
    } catch (error) {
      show(place, error);
    }
    refresh();
  }

  // All that can be done is done; the first that could not be is said.
  async many(body) {
    const { failed } = await call("POST", `/api/agents/${this.agent}/files/`, body);
    if (!failed.length) return;
    const more = failed.length > 1 ? ` ${t("%(count)s more failed, too.", { count: failed.length - 1 })}` : "";
    throw new Error(`${failed[0].message}${more}`);
  }

  // Asks for a name and does something with it; what is refused is said beneath, and the name can be changed.
  name({ title, yes, value, end, isPath = false }, deed) {
    const dialog = this.naming;
    const [field, trouble] = [dialog.querySelector("input"), dialog.querySelector(".trouble")];
    dialog.querySelector("#naming-title").textContent = title;
    dialog.querySelector('[value="yes"]').textContent = yes;
    field.toggleAttribute("data-path-field", isPath);
    if (!isPath) dialog.querySelector("datalist").replaceChildren();
    field.value = value;
    show(trouble, null);
    dialog.showModal();
    field.setSelectionRange(isPath ? end : 0, end);
    return new Promise((resolve) => {
      const send = async (event) => {
        event.preventDefault();
        try {
          await deed(field.value.trim());
          dialog.close();
        } catch (error) {
          show(trouble, error);
        }
        refresh();
      };
      dialog.querySelector("form").addEventListener("submit", send);
      dialog.addEventListener(
        "close",
        () => {
          dialog.querySelector("form").removeEventListener("submit", send);
          resolve();
        },
        { once: true },
      );
    });
  }

  // What one may type: the agent's own folders, those around this one and those in it.
  async offerFolders() {
    const ways = this.naming.querySelector("datalist");
    const parts = this.folder.split("/");
    const above = parts.slice(0, -1).join("/");
    const lists = await Promise.all([above, this.folder].filter(Boolean).map((at) => this.foldersIn(at)));
    const all = new Set(["work", "out", "www", ...lists.flat()].map((path) => `${decoded(path)}/`));
    ways.replaceChildren(...[...all].map((way) => new Option(way, way)));
  }

  async foldersIn(path) {
    try {
      const { entries } = await call("GET", `${this.url(path)}?limit=200`);
      return entries.filter((entry) => entry.kind === "folder").map((entry) => entry.path);
    } catch {
      return [];
    }
  }

  url(path) {
    return `/api/agents/${this.agent}/files/${path}`;
  }
}

function find(event) {
  event.preventDefault();
  const form = event.target;
  go(`${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`);
}

function refresh() {
  document.dispatchEvent(new CustomEvent("news:files", { detail: {} }));
}

// To the desktop, where the browser can: it fetches the file itself then.
function drag(event) {
  const link = event.target.closest?.("[data-drag]");
  if (!link) return;
  const name = nameOf(link.dataset.drag).replaceAll(":", "_");
  event.dataTransfer.setData("DownloadURL", `application/octet-stream:${name}:${new URL(link.dataset.drag, location)}`);
}

function nameOf(path) {
  return decoded(path.slice(path.lastIndexOf("/") + 1));
}

// A name that is no text stays as it is written in addresses.
function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
