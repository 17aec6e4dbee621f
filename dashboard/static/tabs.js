// The bar of an agent's pages, where it is wider than the window: the page that is open is in sight, and the bar says on
// which side there is more (data-more), so that it can fade there.

const SLACK = 2; // browsers round positions

export function startTabs() {
  const bar = document.querySelector("[data-tabs]");
  if (!bar) return;
  const here = bar.querySelector("[aria-current]");
  if (here) bar.scrollLeft = here.offsetLeft - bar.offsetLeft - (bar.clientWidth - here.offsetWidth) / 2;
  const look = () => say(bar);
  bar.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(bar);
  look();
}

function say(bar) {
  const left = bar.scrollLeft;
  const right = bar.scrollWidth - bar.clientWidth - left;
  bar.dataset.more = [left > SLACK ? "start" : "", right > SLACK ? "end" : ""].join(" ").trim();
}
