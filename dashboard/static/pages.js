// Going from page to page without loading the document anew: a link to a page of ours is fetched, and takes the place of
// what is shown. What begins with a page ends with it, by its signal. Whatever can't be shown so is loaded as browsers do.

import { leaving, reach } from "./api.js";
import { recall } from "./news.js";

const HOVER_MS = 65; // whoever only crosses a link does not mean it
const FRESH_MS = 5000;
const PRIVATE = ["csrf", "held"]; // what a document is given once: its token, and what it may hold in a frame
const OTHERS = /^\/(?:api|static|parts|login|logout|ics|metrics|v1|setup)(?:\/|$)/;

let start = () => {};
const later = []; // what scripts that only some pages name have added
let here = location.href;
let ending = new AbortController();
let under = null; // the visit that is under way
let hovering = 0; // the timer for the link under the pointer
const fetched = new Map(); // address -> { at, answer }

// `setUp` is called for each page, the first one too, with its signal: it is aborted when the page is left.
export function startPages(setUp) {
  start = setUp;
  history.scrollRestoration = "manual";
  document.addEventListener("click", (event) => follow(event));
  document.addEventListener("pointerover", (event) => hover(linkOf(event.target)));
  document.addEventListener("pointerdown", (event) => fetchAhead(linkOf(event.target)), { passive: true });
  window.addEventListener("popstate", () => location.href.split("#")[0] === here.split("#")[0] || visit(location.href, { isBack: true }));
  window.addEventListener("pagehide", keepPlace);
  window.addEventListener("scrollend", () => under || keepPlace()); // on the way, the address is the next page's already
  setUp({ signal: ending.signal, isFirst: true });
  if (history.state?.top && !location.hash) scrollTo({ top: history.state.top, behavior: "instant" });
}

// Of a script that came after the page: it begins at once, and on each page from now on.
export function addParts(parts) {
  later.push(...parts);
  if (document.body.dataset.viewer) for (const begin of parts) begin({ signal: ending.signal, isFirst: true });
  if (!under) document.documentElement.dataset.ready = "";
}

// To another page, or to this one as it is now.
export function go(path) {
  return visit(new URL(path, location.href).href, {});
}

export function reload() {
  return visit(location.href, { isBack: true });
}

// Whoever leaves is asked, as long as it would lose something.
export function holdBack(isBusy, signal) {
  const ask = (event) => isBusy() && event.preventDefault();
  window.addEventListener("beforeunload", ask, { signal });
  document.addEventListener("leave", ask, { signal });
}

function follow(event) {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = linkOf(event.target);
  if (!link) return;
  event.preventDefault();
  for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
  visit(link.href, {});
}

// The link that leads to another page of ours, if that is what was pressed.
function linkOf(target) {
  const link = target instanceof Element ? target.closest("a[href]") : null;
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin || OTHERS.test(link.pathname)) return null;
  return link.hash && link.href.split("#")[0] === location.href.split("#")[0] ? null : link;
}

function hover(link) {
  if (!link) return;
  clearTimeout(hovering);
  hovering = setTimeout(() => fetchAhead(link), HOVER_MS);
  link.addEventListener("pointerleave", () => clearTimeout(hovering), { once: true });
}

function fetchAhead(link) {
  if (!link || link.href === location.href || navigator.connection?.saveData || isFresh(link.href)) return;
  const answer = ask(link.href);
  answer.catch(() => fetched.delete(link.href));
  fetched.set(link.href, { at: Date.now(), answer });
}

function isFresh(address) {
  const known = fetched.get(address);
  return known !== undefined && Date.now() - known.at < FRESH_MS;
}

async function ask(address) {
  const began = Date.now();
  const answer = await reach(address, { headers: { Accept: "text/html" } });
  const isPage = answer.ok && /^text\/html\b/.test(answer.headers.get("Content-Type") ?? "");
  return { began, url: answer.url, text: isPage ? await answer.text() : null };
}

async function visit(address, { isBack = false }) {
  const goes = new Event("leave", { cancelable: true }); // whoever would lose something has the browser ask
  if (!document.dispatchEvent(goes)) return load(address, isBack);
  const visiting = (under = {});
  clearTimeout(hovering);
  const top = isBack ? (history.state?.top ?? 0) : null;
  document.documentElement.removeAttribute("data-ready");
  let found = null;
  try {
    found = await (isFresh(address) ? fetched.get(address).answer : ask(address));
  } catch {
    found = null; // the browser says it better
  }
  fetched.clear();
  if (visiting !== under) return; // they went elsewhere meanwhile
  const next = found?.text ? new DOMParser().parseFromString(found.text, "text/html") : null;
  if (!next || !isAlike(next)) return load(address, isBack);
  try {
    await fetchScripts(next);
  } catch {
    return load(address, isBack);
  }
  if (visiting !== under) return;
  const hash = new URL(address).hash;
  if (!isBack) {
    keepPlace();
    history.pushState({ top: 0 }, "", found.url + (new URL(found.url).hash ? "" : hash));
  }
  await change(() => show(next));
  if (visiting !== under) return;
  here = location.href;
  arrive(hash, top);
  under = null;
  recall(found.began);
}

function load(address, isBack) {
  if (isBack || address.split("#")[0] === location.href.split("#")[0]) location.reload();
  else location.assign(address);
}

// Both documents are of the same program, for the same person, under the same policy, with the same scripts and styles.
function isAlike(next) {
  if (!next.querySelector("body.app > #main") || !document.querySelector("body.app > #main")) return false;
  if (next.body.dataset.viewer !== document.body.dataset.viewer) return false;
  if (PRIVATE.some((name) => meta(next, name) !== meta(document, name))) return false;
  return assets(next) === assets(document);
}

function meta(of, name) {
  return of.querySelector(`meta[name="${name}"]`)?.content ?? "";
}

function assets(of) {
  const all = [...of.querySelectorAll('head > script[src]:not([data-parts]), head > link[rel="stylesheet"]')];
  return all.map((each) => each.getAttribute("src") ?? each.getAttribute("href")).join("\n");
}

// The scripts that the next page names and this document does not have yet.
async function fetchScripts(next) {
  for (const named of next.querySelectorAll("head > script[data-parts]")) {
    const src = named.getAttribute("src");
    if (document.querySelector(`head > script[src="${CSS.escape(src)}"]`)) continue;
    const script = Object.assign(document.createElement("script"), { type: "module", src });
    script.dataset.parts = "";
    await new Promise((resolve, reject) => {
      script.onload = resolve;
      script.onerror = reject;
      document.head.append(script);
    });
  }
}

async function change(show) {
  if (!document.startViewTransition || document.hidden || matchMedia("(prefers-reduced-motion: reduce)").matches) return show();
  const transition = document.startViewTransition(show);
  transition.ready.catch(() => {}); // another one came in between
  transition.finished.catch(() => {});
  await transition.updateCallbackDone;
}

function show(next) {
  ending.abort();
  ending = new AbortController();
  leaving(false);
  document.title = next.title;
  for (const { name } of [...document.body.attributes]) if (!next.body.hasAttribute(name)) document.body.removeAttribute(name);
  for (const { name, value } of next.body.attributes) document.body.setAttribute(name, value);
  for (const place of [".top nav.ways", ".side"]) {
    const [old, fresh] = [document.querySelector(place), next.querySelector(place)];
    if (old && fresh) old.replaceWith(document.adoptNode(fresh));
  }
  document.getElementById("main").replaceChildren(...document.adoptNode(next.getElementById("main")).childNodes);
  const page = { signal: ending.signal, isFirst: false };
  start(page);
  for (const begin of later) begin(page);
  document.documentElement.dataset.ready = "";
}

// Where a browser would be on a new document: at its top, at what the address names, or where one was before.
function arrive(hash, top) {
  const named = hash && document.getElementById(decodeURIComponent(hash.slice(1)));
  if (top !== null) scrollTo({ top, behavior: "instant" });
  else if (named) named.scrollIntoView({ behavior: "instant" });
  else if (!document.querySelector("[data-keeps-place]")) scrollTo({ top: 0, behavior: "instant" });
  if (document.activeElement && document.activeElement !== document.body) return; // the page has put it somewhere
  const main = document.getElementById("main");
  main.tabIndex = -1;
  main.focus({ preventScroll: true });
}

function keepPlace() {
  history.replaceState({ ...history.state, top: Math.round(scrollY) }, "");
}
