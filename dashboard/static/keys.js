// Keys that work on every page. None of them takes a letter from whoever is typing.

import { openPalette } from "./palette.js";

const FIELDS = "input, textarea, select, [contenteditable]";

export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
      return;
    }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape") return stop(event);
    if (event.target.closest?.(FIELDS)) return;
    if (event.key === "/") toField(event);
    else if (event.key === "?") document.querySelector("dialog.keys")?.showModal();
  });
  document.addEventListener("click", ({ target }) => {
    if (target.closest("[data-keys]")) document.querySelector("dialog.keys").showModal();
    else if (target.matches("dialog.keys")) target.close();
  });
}

// To where one writes on this page, or else to the palette.
function toField(event) {
  event.preventDefault();
  const field = document.querySelector("[data-composer] textarea") ?? document.querySelector("#main input[type=search]");
  if (field?.checkVisibility()) field.focus();
  else openPalette();
}

// Of an answer that is on its way, unless Escape closes something first.
function stop(event) {
  const working = document.querySelector(".working:not([hidden]) .stop");
  if (!working || document.querySelector("details.menu[open], [data-conversations].open")) return;
  event.preventDefault();
  working.click();
}
