// Calls to our own server. Every change carries the page's token; a failure is an Error whose message is meant for
// the reader.

import { t } from "./texts.js";

export const csrf = document.querySelector('meta[name="csrf"]')?.content ?? "";

let isLeaving = false;

// The page is about to go somewhere by itself, or stays after all: until then a lost login changes nothing, and what is
// shown may be gone already.
export function leaving(is) {
  isLeaving = is;
}

export function isAboutToLeave() {
  return isLeaving;
}

window.addEventListener("pageshow", () => leaving(false)); // the browser may bring a page back as it was left

export async function call(method, path, body) {
  const headers = { Accept: "application/json", "X-CSRF-Token": csrf };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await reach(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  leaveIfLoggedOut(answer);
  if (!answer.ok) throw new Error(await said(answer));
  return answer.status === 204 ? null : answer.json();
}

export async function part(path) {
  const answer = await reach(path, { headers: { Accept: "text/html" } });
  leaveIfLoggedOut(answer);
  if (!answer.ok) throw new Error(t("Couldn't refresh this page (%(status)s).", { status: answer.status }));
  const holder = document.createElement("template");
  holder.innerHTML = await answer.text();
  return holder.content;
}

export async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch {
    throw new Error(t("HermitShell doesn't answer. Is it still running?"));
  }
}

export async function said(answer) {
  try {
    return (await answer.json()).error.message;
  } catch {
    return t("Something went wrong (%(status)s). Try again.", { status: answer.status });
  }
}

export function show(place, error) {
  if (!place) return;
  place.textContent = error ? inWords(error.message) : "";
  place.hidden = !error;
}

// The API calls a field by its key ("telegram_token: paste…"); on a page it has a label, or needs no name.
function inWords(message) {
  const [, key, rest] = /^([a-z][a-z0-9_.]*): (.+)$/s.exec(message) ?? [];
  if (!key) return message;
  const label = document.getElementsByName(key)[0]?.labels?.[0]?.firstChild?.textContent.trim();
  if (label) return `${label}: ${rest}`;
  return key.includes("_") ? rest[0].toUpperCase() + rest.slice(1) : message;
}

// The stream of news was refused: where that is since the login has ended, the page leads to a new one.
export async function leaveIfLoginEnded() {
  const answer = await fetch("/api/approvals?status=pending&limit=1", { headers: { Accept: "application/json" } }).catch(() => null);
  if (answer) leaveIfLoggedOut(answer);
}

function leaveIfLoggedOut(answer) {
  const isOut = answer.status === 401 || (answer.redirected && new URL(answer.url).pathname === "/login");
  if (isOut && !isLeaving) location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
}
