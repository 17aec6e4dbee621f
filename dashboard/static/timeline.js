// Where the entries of a conversation go: turns and notices, in the order of their times. What a person opened stays
// open.

import { carryOver } from "./parts.js";

export function entriesOf(place) {
  return [...place.children].filter((child) => child.matches(".turn, .notice"));
}

export function put(log, fresh) {
  const old = document.getElementById(fresh.id);
  if (old) {
    carryOver(old, fresh);
    if (!old.isEqualNode(fresh)) old.replaceWith(fresh);
    return;
  }
  const next = entriesOf(log).find((entry) => isBefore(fresh, entry));
  if (next) next.before(fresh);
  else log.append(fresh);
}

// Turns keep the order in which they were sent, whatever the clock did.
function isBefore(one, other) {
  if (one.dataset.turn && other.dataset.turn) return Number(one.dataset.turn) < Number(other.dataset.turn);
  return Number(one.dataset.at) < Number(other.dataset.at);
}
