// The conversations beside the chat: on a narrow screen they are a drawer. A new one is begun here, and the list is
// searched as one types.

import { call, leaving, show } from "./api.js";
import { go } from "./pages.js";

const PAUSE_MS = 250;

export function startConversations({ signal }) {
  const list = document.querySelector("[data-conversations]");
  if (!list) return;
  const opener = document.querySelector("[data-conversations-open]");
  opener.addEventListener("click", () => turn(list, opener, !list.matches(".open")));
  list.querySelector("[data-conversations-close]").addEventListener("click", () => turn(list, opener, false));
  list.querySelector("[data-new-conversation]").addEventListener("click", ({ currentTarget }) => begin(list, currentTarget));
  document.addEventListener("keydown", (event) => event.key === "Escape" && list.matches(".open") && turn(list, opener, false), { signal });
  document.addEventListener("click", ({ target }) => {
    if (list.matches(".open") && !list.contains(target) && !opener.contains(target)) turn(list, opener, false);
  }, { signal });
  list.querySelector("[data-import-conversation]").addEventListener("change", ({ currentTarget }) => bring(list, currentTarget));
  const field = list.querySelector("[data-find-conversation]");
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => find(list, field.value), PAUSE_MS);
  });
}

function turn(list, opener, isOpen) {
  list.classList.toggle("open", isOpen);
  opener.setAttribute("aria-expanded", isOpen);
  if (isOpen) list.querySelector("a[aria-current], [data-new-conversation]").focus({ preventScroll: true });
  else if (list.contains(document.activeElement)) opener.focus({ preventScroll: true });
}

function begin(list, button) {
  return enter(list, button, (path) => call("POST", path, {}));
}

// A file that was saved as JSON. What was delivered is not copied, and may be large.
async function bring(list, field) {
  const [file] = field.files;
  if (!file) return;
  await enter(list, field, async (path) => call("POST", `${path}/import`, read(await file.text())));
  field.value = "";
}

function read(text) {
  try {
    const told = JSON.parse(text);
    for (const turn of told.turns) delete turn.files;
    return told;
  } catch {
    throw new Error("This is no saved conversation. Save one as JSON, then import that file.");
  }
}

async function enter(list, control, work) {
  const { agent } = document.querySelector(".talk").dataset;
  control.disabled = true;
  show(list.querySelector(".trouble"), null);
  leaving(true);
  try {
    const { id } = await work(`/api/agents/${agent}/conversations`);
    go(`/agents/${agent}?conversation=${id}`);
  } catch (error) {
    leaving(false);
    show(list.querySelector(".trouble"), error);
    control.disabled = false;
  }
}

// The part looks where it is told to from now on, and is rendered as if there were news.
function find(list, words) {
  const part = list.querySelector("[data-part]");
  const at = new URL(part.dataset.part, location.origin);
  if (words.trim()) at.searchParams.set("find", words.trim());
  else at.searchParams.delete("find");
  part.dataset.part = at.pathname + at.search;
  document.dispatchEvent(new CustomEvent("news:conversation", { detail: {} }));
}
