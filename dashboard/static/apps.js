// Pages that hold an app: its width, a fresh start, the agent's log; and the way from a reply to the app that it made,
// which stands beside the conversation where there is room. Nothing here ever talks to what is in the frame.

import { part, show } from "./api.js";
import { t } from "./texts.js";

const WIDE = "(min-width: 75rem)"; // as apps.css has it
const STALE_MS = 11 * 3600 * 1000; // the frame's address is good for twelve hours
const born = Date.now();

export function startApps() {
  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-width], [data-app-reload], [data-log], [data-open-app], [data-app-close]");
    if (!target) return;
    if (target.matches("[data-width]")) widen(target);
    else if (target.matches("[data-app-reload]")) reload();
    else if (target.matches("[data-log]")) openLog(target);
    else leaveChat(event, target);
  });
  document.addEventListener("news:turn", ({ detail }) => changed(detail));
}

function widen(button) {
  document.querySelector("[data-stage]").dataset.device = button.dataset.width;
  for (const other of document.querySelectorAll("[data-width][aria-pressed]")) {
    other.setAttribute("aria-pressed", String(other === button));
  }
}

function reload() {
  if (Date.now() - born > STALE_MS) return location.reload();
  const frame = document.querySelector(".app-frame");
  if (!frame) return location.reload();
  const fresh = frame.cloneNode(); // a frame that went elsewhere within the app starts again, without a step back in the history
  frame.replaceWith(fresh);
  tell("");
}

async function openLog(button) {
  const sheet = document.querySelector("[data-log-sheet]");
  const trouble = sheet.querySelector(".trouble");
  show(trouble, null);
  sheet.showModal();
  try {
    const place = sheet.querySelector("[data-log-text]");
    place.replaceChildren(await part(button.dataset.log));
    const lines = place.querySelector(".log-pane");
    if (lines) lines.scrollTop = lines.scrollHeight;
  } catch (error) {
    show(trouble, error);
  }
}

// The agent changed the app that is on the page: beside the conversation it is shown again, on its own page a person
// may be in the middle of something.
function changed(turn) {
  const stage = document.querySelector("[data-stage]");
  if (!stage || turn.agent !== stage.dataset.agent || turn.user !== Number(stage.dataset.owner)) return;
  if (!turn.apps?.includes(stage.dataset.app)) return;
  if (stage.closest(".beside")) reload();
  else tell(` · ${t("changed just now")}`);
}

function tell(text) {
  const place = document.querySelector("[data-app-news]");
  if (place) place.textContent = text;
}

// --- from and beside a conversation ---

function leaveChat(event, link) {
  if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const field = document.querySelector(".talk [data-composer] textarea");
  const beside = link.dataset.beside;
  if (!beside || !field || !matchMedia(WIDE).matches) return;
  event.preventDefault();
  const isThere = document.querySelector("[data-stage]")?.dataset.app === link.dataset.openApp;
  if (isThere) reload();
  else location.assign(beside);
}
