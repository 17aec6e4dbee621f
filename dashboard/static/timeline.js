// Where the entries of a conversation go: turns and notices, in the order of their times. What a person opened stays
// open.

import { takeOver } from "./growing.js";
import { carryOver } from "./parts.js";

export function entriesOf(place) {
  return [...place.children].filter((child) => child.matches(".turn, .notice"));
}

const rendered = new WeakMap(); // an entry as the server gave it, before this page dressed it

export function put(log, fresh) {
  const old = document.getElementById(fresh.id);
  remember(fresh);
  if (old && (rendered.get(old) === rendered.get(fresh) || old.isEqualNode(fresh))) return;
  if (old) {
    const refocus = keepFocus(old);
    carryOver(old, fresh);
    const settle = takeOver(old, fresh);
    old.replaceWith(fresh);
    settle();
    refocus(fresh);
    return;
  }
  const next = entriesOf(log).find((entry) => isBefore(fresh, entry));
  if (next) next.before(fresh);
  else log.append(fresh);
}

export function remember(entry) {
  rendered.set(entry, entry.outerHTML);
}

// What has the focus within the old element has it again in the fresh one that stands in its place: itself, where it was
// carried over, else what is the same there.
export function keepFocus(old) {
  const active = document.activeElement;
  if (!active || active === old || !old.contains(active)) return () => {};
  return (fresh) => {
    const again = active.isConnected ? active : [...fresh.querySelectorAll(active.tagName)].find((one) => one.isEqualNode(active));
    if (again && document.activeElement !== again) again.focus({ preventScroll: true });
  };
}

// Turns keep the order in which they were sent, whatever the clock did.
function isBefore(one, other) {
  if (one.dataset.turn && other.dataset.turn) return Number(one.dataset.turn) < Number(other.dataset.turn);
  return Number(one.dataset.at) < Number(other.dataset.at);
}
