// What a conversation shows of a delivered file that has to be drawn or read first: asked for when it comes near the
// window, one after the other, and again while it is not there.

import { part } from "./api.js";

const NOT_YET_MS = 1500;

export function startGlances({ signal }) {
  const log = document.querySelector(".log");
  if (!log) return;
  let line = Promise.resolve();
  const ask = (place) => {
    line = line.then(() => (place.isConnected && !signal.aborted ? load(place) : null));
  };
  const load = async (place) => {
    try {
      place.replaceChildren(await part(place.dataset.glance));
    } catch {
      place.remove(); // the file is kept no more, and its name says so
      return;
    }
    if (place.querySelector("[data-soon]")) setTimeout(() => ask(place), NOT_YET_MS);
    else if (!place.childElementCount) place.remove();
  };
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        ask(target);
      }
    },
    { rootMargin: "300px" },
  );
  const watch = () => log.querySelectorAll("[data-glance]:empty").forEach((place) => near.observe(place));
  const news = new MutationObserver(watch);
  news.observe(log, { childList: true });
  signal.addEventListener("abort", () => [near, news].forEach((one) => one.disconnect()));
  watch();
}
