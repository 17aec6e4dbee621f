// Passkeys: one is made on one's own page, and one gets in by one on the login page. What the browser is asked for and what
// it answers goes through as JSON, with bytes in base64url.

import { call, leaving, show } from "./api.js";
import { t } from "./texts.js";

export function startPasskeys() {
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-new-passkey]")) return;
    event.preventDefault();
    tell(event.target, () => make(event.target));
  });
}

export function startPasskeyLogin() {
  const button = document.querySelector("button[data-passkey-login]");
  if (!button || !window.PublicKeyCredential) return;
  button.closest("[hidden]").hidden = false;
  button.addEventListener("click", () => tell(button.parentElement, () => enter(button.dataset.next)));
}

async function tell(place, deed) {
  const trouble = place.querySelector(".trouble");
  const button = place.querySelector("button");
  show(trouble, null);
  button.disabled = true;
  try {
    await deed();
  } catch (error) {
    leaving(false);
    show(trouble, error.name === "NotAllowedError" ? new Error(t("It was cancelled, or took too long.")) : error);
  }
  button.disabled = false;
}

async function make(form) {
  if (!window.PublicKeyCredential) throw new Error(t("This browser has no passkeys at this address. They need https, or http://localhost."));
  const current = form.elements.current?.value ?? "";
  const { ticket, options } = await call("POST", "/api/me/passkeys/options", { current });
  const publicKey = { ...options, challenge: bytes(options.challenge), user: { ...options.user, id: bytes(options.user.id) } };
  publicKey.excludeCredentials = options.excludeCredentials?.map((one) => ({ ...one, id: bytes(one.id) }));
  const made = await navigator.credentials.create({ publicKey });
  const response = { clientDataJSON: text(made.response.clientDataJSON), attestationObject: text(made.response.attestationObject) };
  await call("POST", "/api/me/passkeys", { ticket, name: form.elements.name.value, credential: credentialOf(made, response) });
  form.reset();
  document.dispatchEvent(new CustomEvent("news:passkeys", { detail: {} }));
}

async function enter(next) {
  const { ticket, options } = await call("POST", "/api/passkey-login/options", {});
  const publicKey = { ...options, challenge: bytes(options.challenge) };
  const signed = await navigator.credentials.get({ publicKey });
  const { clientDataJSON, authenticatorData, signature, userHandle } = signed.response;
  const response = { clientDataJSON: text(clientDataJSON), authenticatorData: text(authenticatorData), signature: text(signature) };
  if (userHandle) response.userHandle = text(userHandle);
  await call("POST", "/api/passkey-login", { ticket, credential: credentialOf(signed, response) });
  leaving(true);
  location.assign(next);
}

function credentialOf(made, response) {
  return { id: made.id, rawId: made.id, type: made.type, clientExtensionResults: {}, response };
}

function bytes(words) {
  return Uint8Array.from(atob(words.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
}

function text(buffer) {
  const binary = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
