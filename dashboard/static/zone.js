// The clock that the person lives by: told to the install once, where nobody has said it yet; and offered on their page.

import { call } from "./api.js";

export function startZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!zone) return;
  if (document.body.hasAttribute("data-zone-unknown")) guess(zone);
  const guessed = document.querySelector("[data-guess-zone]");
  if (guessed && !guessed.value) guessed.value = zone;
  const offer = document.querySelector("[data-own-zone]");
  const field = document.querySelector('[name="time_zone"]');
  if (!offer || field.value === zone) return;
  const button = offer.querySelector("button");
  offer.querySelector("strong").textContent = zone;
  button.addEventListener("click", () => {
    field.value = zone;
    field.focus();
  });
  offer.hidden = false;
}

async function guess(zone) {
  try {
    await call("PATCH", "/api/me", { time_zone: zone, if_unknown: true });
  } catch {
    // a zone that the install does not know: it stays unsaid
  }
}
