// Keeps "3 min ago" true while the page is open. The exact time is in each element's title.

import { t, tn } from "./texts.js";

const [DAY_S, HOUR_S] = [86400, 3600];

export function startTimes() {
  setInterval(freshen, 20000);
}

function freshen() {
  for (const element of document.querySelectorAll("time[datetime]")) {
    const text = relative(Date.parse(element.dateTime), Date.now());
    if (element.textContent !== text) element.textContent = text;
  }
}

function relative(at, now) {
  const seconds = Math.abs(now - at) / 1000;
  const isPast = at <= now;
  if (seconds < 45) return isPast ? t("just now") : t("in less than a minute");
  const count = Math.max(1, Math.round(seconds / (seconds >= DAY_S ? DAY_S : seconds >= HOUR_S ? HOUR_S : 60)));
  if (seconds >= DAY_S) return isPast ? tn("%(count)s day ago", "%(count)s days ago", count) : tn("in %(count)s day", "in %(count)s days", count);
  if (seconds >= HOUR_S) return isPast ? t("%(count)s h ago", { count }) : t("in %(count)s h", { count });
  return isPast ? t("%(count)s min ago", { count }) : t("in %(count)s min", { count });
}
