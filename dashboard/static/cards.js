// Cards that want a person's word. Their buttons come alive only after they have been in view for a moment, and sleep
// again whenever a card comes or goes, so that a click which was meant for what lay there before does nothing. They never
// take the focus.

const READ_MS = 700;
const CARDS = "#main [data-approval], #main [data-question]";
const BUTTONS = "[data-decide], [data-answer]";
const timers = new WeakMap();
const visible = new WeakSet();
const eye = new IntersectionObserver((entries) => entries.forEach(seen));
let known = null;

export function startCards({ isFirst }) {
  known = null;
  if (isFirst) new MutationObserver(look).observe(document.getElementById("main"), { childList: true, subtree: true });
  look();
}

function look() {
  const cards = [...document.querySelectorAll(CARDS)];
  const now = cards.map((card) => card.dataset.approval ?? card.dataset.question).join(" ");
  if (now === known) return;
  known = now;
  for (const card of cards) {
    eye.observe(card.querySelector(BUTTONS).parentElement);
    rest(card);
  }
  document.dispatchEvent(new CustomEvent("cards"));
}

// A card was answered: it sleeps for good, unless that fails.
export function settle(card, is) {
  card.toggleAttribute("data-settled", is);
  if (is) enable(card, false);
  else rest(card);
}

function seen(entry) {
  const card = entry.target.closest(CARDS);
  if (!card) return; // it has left the page meanwhile
  if (entry.isIntersecting) visible.add(card);
  else visible.delete(card);
  rest(card);
}

function rest(card) {
  clearTimeout(timers.get(card));
  enable(card, false);
  if (visible.has(card)) timers.set(card, setTimeout(() => enable(card, true), READ_MS));
}

function enable(card, is) {
  const isOpen = is && !card.hasAttribute("data-settled");
  for (const button of card.querySelectorAll(BUTTONS)) button.disabled = !isOpen;
}
