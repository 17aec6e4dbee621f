// Keeps "3 min ago" true while the page is open. The exact time is in each element's title.

const UNITS = [[86400, "day", "days"], [3600, "h", "h"], [60, "min", "min"]];

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
  if (seconds < 45) return isPast ? "just now" : "in less than a minute";
  const [size, one, many] = UNITS.find(([unit]) => seconds >= unit) ?? UNITS.at(-1);
  const count = Math.max(1, Math.round(seconds / size));
  const span = `${count} ${count === 1 ? one : many}`;
  return isPast ? `${span} ago` : `in ${span}`;
}
