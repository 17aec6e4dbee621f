// Reading back, and on: a conversation is shown in pages, and the next one to either side comes as one gets there, or by
// its button. What one reads stays where it is.

import { part, show } from "./api.js";
import { entriesOf } from "./timeline.js";

const AHEAD_PX = 400;

export function startReading() {
  const log = document.querySelector(".log");
  if (!log) return;
  log.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-earlier], [data-later]");
    if (button) more(log, button);
  });
  const here = log.querySelector(".turn.here");
  if (here) here.scrollIntoView({ block: "start", behavior: "instant" });
  // From now on: before, a page that has yet to be scrolled to its end would have everything before it brought.
  requestAnimationFrame(() => requestAnimationFrame(() => watch(log)));
}

function watch(log) {
  const margin = `${AHEAD_PX}px 0px`;
  const watcher = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach(({ target }) => more(log, target)),
    { rootMargin: margin },
  );
  const look = () => {
    watcher.disconnect(); // one that was looked at already is told of again
    log.querySelectorAll("[data-earlier], [data-later]").forEach((button) => watcher.observe(button));
  };
  log.addEventListener("pages", look);
  look();
}

async function more(log, button) {
  if (button.disabled) return;
  const trouble = document.querySelector(".dock .trouble, [data-reading-trouble]");
  button.disabled = true;
  button.setAttribute("aria-busy", "true");
  try {
    const fresh = await part(button.dataset.earlier ?? button.dataset.later);
    show(trouble, null);
    place(log, button, fresh);
    log.dispatchEvent(new Event("pages"));
  } catch (error) {
    show(trouble, error);
    button.disabled = false; // by its button, or when one comes here again
    button.removeAttribute("aria-busy");
  }
}

// The first entry that is on the page stays where it is on the screen, whatever comes before it and whoever else (some
// browsers try) moves the page for that.
function place(log, button, fresh) {
  const known = entriesOf(log)[0];
  for (const entry of entriesOf(fresh)) document.getElementById(entry.id)?.remove(); // news brought it meanwhile
  const anchor = known?.isConnected ? known : null;
  const before = anchor?.getBoundingClientRect().top;
  const hadFocus = document.activeElement === button;
  const first = entriesOf(fresh)[0];
  button.closest(".earlier, .later").replaceWith(fresh);
  if (anchor) scrollBy({ top: anchor.getBoundingClientRect().top - before, behavior: "instant" });
  if (!hadFocus || !first) return;
  first.tabIndex = -1; // whoever goes by keyboard goes on from what came
  first.focus({ preventScroll: true });
}
