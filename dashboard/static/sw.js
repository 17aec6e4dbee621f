// The service worker: shows what a push says, and brings back what is pressed on it. It answers no request of a page
// and keeps nothing, so every page comes from the server, with its checks; what a push says came encrypted for this
// browser alone.

const ICON = "/static/icons/icon-192.png";
const BADGE = "/static/icons/badge-96.png"; // what Android puts into its bar: a shape
const MUST_SHOW = /AppleWebKit/.test(navigator.userAgent) && !/Chrom|Edg|Android/.test(navigator.userAgent);
// Safari takes the permission away from whoever is pushed to and shows nothing, even while a page is being looked at.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(take(event.data.json())));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(press(event.notification, event.action));
});

async function take(said) {
  await Promise.resolve(said.waiting ? self.navigator.setAppBadge?.(said.waiting) : self.navigator.clearAppBadge?.()).catch(() => {});
  const isSeen = await isLookedAt();
  if (said.is_over) return takeBack(said, isSeen);
  if (isSeen && said.kind !== "test" && !MUST_SHOW) return; // the page itself shows it
  await show(said, { silent: isSeen && said.kind !== "test", renotify: true });
}

// What was decided elsewhere goes away. Browsers want something to be shown for each push, so unless a page is being
// looked at or something else of ours is there, it stays as a quiet line that says how it ended.
async function takeBack(said, isSeen) {
  const all = await self.registration.getNotifications();
  const others = all.filter((shown) => shown.tag !== said.tag);
  if ((isSeen || others.length) && !MUST_SHOW) all.forEach((shown) => shown.tag === said.tag && shown.close());
  else await show(said, { silent: true });
}

function show(said, more) {
  return self.registration.showNotification(said.title, {
    body: said.body,
    tag: said.tag,
    icon: ICON,
    badge: BADGE,
    dir: "auto",
    requireInteraction: Boolean(said.ask),
    actions: (said.buttons ?? []).map(([action, title]) => ({ action, title })),
    data: said,
    ...more,
  });
}

async function isLookedAt() {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  return windows.some((page) => page.visibilityState === "visible");
}

// A button is sent with this browser's own login, which the server asks for, and the notification's ticket.
async function press({ data: said }, action) {
  if (!action || action === "open" || !said.ask) return open(said.path);
  let answer;
  try {
    answer = await fetch("/api/push/answer", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ ...said.ask, button: action }),
    });
  } catch {
    return show({ ...said, body: `${said.texts?.unanswered ?? "HermitShell didn’t answer, so nothing was done. Try again."} ${said.body}` }, { silent: true });
  }
  if (answer.ok) return;
  if (answer.status === 401) return open(`/login?next=${encodeURIComponent(said.path)}`);
  const { error } = await answer.json().catch(() => ({}));
  await show({ tag: said.tag, title: said.texts?.not_done ?? "Not done", body: error?.message ?? said.texts?.open ?? "Open HermitShell to decide.", path: said.path }, { silent: true });
}

async function open(path) {
  const url = new URL(path, self.location.origin);
  if (url.origin !== self.location.origin) return;
  for (const page of await self.clients.matchAll({ type: "window" })) {
    try {
      await page.focus();
      if (page.url !== url.href) await page.navigate(url.href);
      return;
    } catch {
      continue; // a page that is just going away
    }
  }
  await self.clients.openWindow(url.href);
}
