// Whether a person is just at something: between a press and its click, and while what it set going is under way. What
// is rendered again in that moment would take the button away from under the finger, and the refusal with it.

const PRESS_MS = 1000; // a longer press is no tap

const acts = new Set();
let pressed = null;
let waiting = [];

export function startPresses() {
  document.addEventListener("pointerdown", press, true);
  // the click comes right after the release, in the same task or the next
  for (const kind of ["pointerup", "pointercancel"]) document.addEventListener(kind, () => setTimeout(release), true);
}

// Resolves when nobody is at anything within the element.
export function free(element) {
  if (![pressed, ...acts].some((at) => at && element.contains(at))) return Promise.resolve();
  return new Promise((resolve) => waiting.push(resolve)).then(() => free(element));
}

// Holds the element's surroundings as they are until the returned function is called.
export function hold(element) {
  acts.add(element);
  return () => {
    acts.delete(element);
    wake();
  };
}

function press(event) {
  pressed = event.target;
  setTimeout(release, PRESS_MS);
}

function release() {
  pressed = null;
  wake();
}

function wake() {
  const resolves = waiting;
  waiting = [];
  for (const resolve of resolves) resolve();
}
