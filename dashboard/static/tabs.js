// The bar of an agent's pages, where it is wider than the window: the page that is open is in sight, and the bar says on
// which side there is more (data-more), so that it can fade there.

const SLACK = 2; // browsers round positions

export function startTabs() {
  const nav = document.querySelector("[data-tabs]");
  if (!nav) return;
  const bar = nav.querySelector(".tabs");
  const here = bar.querySelector("[aria-current]");
  if (here) bar.scrollLeft = here.offsetLeft - bar.offsetLeft - (bar.clientWidth - here.offsetWidth) / 2;
  const look = () => say(nav, bar);
  bar.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(bar);
  look();
}

function say(nav, bar) {
  const left = bar.scrollLeft;
  const right = bar.scrollWidth - bar.clientWidth - left;
  nav.dataset.more = [left > SLACK ? "start" : "", right > SLACK ? "end" : ""].join(" ").trim();
}
