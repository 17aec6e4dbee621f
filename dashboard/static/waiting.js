// How much waits for the person, in the title and the icon of every page, and on the icon of an installed app. The
// number is the server's, in the list of agents. And what a notification still shows of what is dealt with goes away.

let known = null;

export function startWaiting({ signal }) {
  const side = document.querySelector("nav.side");
  if (!side) return;
  const look = () => tell(Number(side.querySelector("[data-waiting]")?.dataset.waiting ?? 0));
  const observer = new MutationObserver(look);
  observer.observe(side, { childList: true });
  signal.addEventListener("abort", () => observer.disconnect());
  document.addEventListener("visibilitychange", look, { signal });
  look();
}

function tell(count) {
  const title = document.title.replace(/^\(\d+\) /, "");
  document.title = count ? `(${count}) ${title}` : title;
  const icon = document.querySelector('link[rel="icon"]');
  const href = count ? icon.dataset.waiting : icon.dataset.calm;
  if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
  const shown = count ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.();
  shown?.catch(() => {}); // not an installed app
  const isSettled = !count && known !== 0; // as the page came, or just now: else the number may be an older one
  known = count;
  if (!document.hidden) clear(isSettled);
}

async function clear(isSettled) {
  const registration = await navigator.serviceWorker?.getRegistration("/").catch(() => null);
  if (!registration?.getNotifications) return;
  const conversation = document.querySelector("[data-conversation]")?.dataset.conversation;
  for (const shown of await registration.getNotifications()) {
    if ((isSettled && /^(approval|question):/.test(shown.tag)) || shown.tag === `chat:${conversation}`) shown.close();
  }
}
