// Notifications on this device: turned on by a person here, kept up afterwards, and offered once, when the first card
// waits. What the browser allows is shown as one state in [data-push]; the server's own list stands beside it.

import { call, show } from "./api.js";
import { t } from "./texts.js";

const ON = "push on"; // whose notifications this browser wants, and the login that it said so with
const OFFERED = "push offered";
const IS_APPLE_PHONE = /iPhone|iPad/.test(navigator.userAgent);
const viewer = document.body.dataset.viewer;
let place = null; // the offer, which stands at the end of the first card
const login = (document.querySelector('meta[name="csrf"]')?.content ?? "").slice(0, 12);

export function startPush({ isFirst }) {
  if (!isFirst) return tellState();
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-push-on], [data-push-off], [data-push-later]");
    if (!button) return;
    if (button.matches("[data-push-later]")) {
      put(OFFERED, "no");
      offer(false);
    } else attempt(button, button.matches("[data-push-on]") ? turnOn : () => turnOff(button.dataset.pushOff));
  });
  document.addEventListener("cards", () => offer(mayOffer()));
  document.addEventListener("news:push", tellState);
  keepUp()
    .catch((error) => console.info(error.message)) // the page is just being left, or the next one does it
    .finally(tellState);
}

// The person logs out here: this browser is not asked to go on by itself at the next login.
export function forgetPush() {
  put(ON, null);
}

function stateHere() {
  if (!isSecureContext) return "insecure";
  if (!("serviceWorker" in navigator && "PushManager" in window && "Notification" in window)) {
    return IS_APPLE_PHONE && !navigator.standalone ? "homescreen" : "unsupported";
  }
  if (Notification.permission === "denied") return "denied";
  return Notification.permission === "granted" && get(ON) === `${viewer} ${login}` ? "on" : "off";
}

function tellState() {
  const box = document.querySelector("[data-push]");
  if (!box) return;
  const state = stateHere();
  box.dataset.state = state;
  for (const place of box.querySelectorAll("[data-when]")) place.hidden = place.dataset.when !== state;
}

async function turnOn() {
  const permission = await Notification.requestPermission();
  put(OFFERED, "yes");
  if (permission !== "granted") {
    if (permission === "denied") return;
    throw new Error(t("The browser wasn’t allowed to show notifications. Try again and choose “Allow”."));
  }
  const { key } = await call("GET", "/api/push");
  await navigator.serviceWorker.register("/sw.js");
  const { pushManager } = await navigator.serviceWorker.ready;
  await tellServer(await subscribe(pushManager, key));
}

async function turnOff(device) {
  put(ON, null);
  const subscription = await subscriptionHere();
  await subscription?.unsubscribe();
  await call("DELETE", `/api/push/devices/${encodeURIComponent(device)}`);
}

// After a new password the login is another one, and a browser may change its address: both are said again, without a
// question. What was turned off from another device stays off.
async function keepUp() {
  if (stateHere() !== "on" && !wasOnBefore()) return;
  const subscription = await subscriptionHere();
  const { key, devices } = await call("GET", "/api/push");
  const own = devices.find((device) => device.is_this);
  if (!own && !wasOnBefore()) {
    put(ON, null);
    await subscription?.unsubscribe();
    return;
  }
  const registration = await navigator.serviceWorker.register("/sw.js");
  const fresh = await subscribe(registration.pushManager, key);
  if (!own || own.endpoint !== fresh.endpoint) await tellServer(fresh);
  put(ON, `${viewer} ${login}`); // a page that was left in between has told the server alone
  const isListed = document.querySelector("[data-push-off]") || !document.querySelector("[data-push]");
  if (!isListed) document.dispatchEvent(new CustomEvent("news:push", { detail: {} })); // nor was it, when this page was made
}

function wasOnBefore() {
  const [whose, by] = (get(ON) ?? "").split(" ");
  return Boolean(by) && whose === viewer && by !== login && isSecureContext && window.Notification?.permission === "granted";
}

async function subscribe(pushManager, key) {
  const known = await pushManager.getSubscription();
  const wanted = bytes(key);
  if (known && isSame(new Uint8Array(known.options?.applicationServerKey ?? wanted), wanted)) return known;
  await known?.unsubscribe(); // it was for another install at this address, or for a key that is gone
  try {
    return await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: wanted });
  } catch (error) {
    throw new Error(t("The browser’s push service gave no address (%(error)s). Is this device online? Some browsers switch push off in their settings.", { error: error.name }));
  }
}

async function tellServer(subscription) {
  const { endpoint, keys } = subscription.toJSON();
  await call("PUT", "/api/push/device", { endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth } });
  put(ON, `${viewer} ${login}`);
  document.dispatchEvent(new CustomEvent("news:push", { detail: {} }));
}

async function subscriptionHere() {
  const registration = await navigator.serviceWorker?.getRegistration("/");
  return registration?.pushManager?.getSubscription();
}

async function attempt(button, deed) {
  const trouble = button.closest("[data-push], .offer")?.querySelector(".trouble");
  show(trouble, null);
  button.disabled = true;
  try {
    await deed();
    offer(false);
  } catch (error) {
    show(trouble, error);
  }
  button.disabled = false;
  document.dispatchEvent(new CustomEvent("news:push", { detail: {} }));
}

function mayOffer() {
  return get(OFFERED) === null && stateHere() === "off" && Notification.permission === "default";
}

function offer(is) {
  place = document.querySelector(".offer") ?? place; // it may have gone with its card
  if (!place) return;
  const card = document.querySelector("#main [data-approval], #main [data-question]");
  if (is && card && !card.contains(place)) card.append(place);
  place.hidden = !(is && card);
}

function bytes(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
}

function isSame(one, other) {
  return one.length === other.length && one.every((byte, n) => byte === other[n]);
}

function get(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return "kept nowhere"; // then nothing is offered or kept up
  }
}

function put(key, text) {
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    return; // the browser keeps nothing
  }
}
