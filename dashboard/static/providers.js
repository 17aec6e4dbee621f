// Setting up a provider of models: tried by a real call with the key as it was typed, and kept only when that worked
// (or the person wants it all the same). The key leaves the field as soon as it is kept, and never comes back.

import { call, show } from "./api.js";

export function startProviders() {
  const form = document.querySelector("form[data-provider]");
  document.addEventListener("news:tried", (event) => said(document.querySelector("[data-tried]"), event.detail));
  if (!form) return;
  form.provider.addEventListener("change", () => lay(form));
  form.model.addEventListener("focus", () => offer(form));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(form, () => tried(form));
  });
  form.querySelector("[data-anyway]").addEventListener("click", () => busy(form, () => kept(form, "It is kept, untried.")));
  lay(form);
}

// What is asked for, by the provider that is chosen.
function lay(form) {
  const option = form.provider.selectedOptions[0];
  const { wants, where, model, words } = option.dataset;
  const shown = { server: wants === "server", key: wants !== "", model: option.value !== "rehearsal" };
  for (const label of form.querySelectorAll("[data-for]")) {
    label.hidden = !label.dataset.for.split(" ").some((name) => (name === "key" ? wants === "key" : shown[name]));
  }
  form.base_url.required = wants === "server" && !isUsable(option);
  form.key.required = wants === "key" && !isUsable(option);
  form.querySelector('[data-say="words"]').textContent = words;
  const again = isUsable(option) && wants ? "Empty: the one that is kept. " : "";
  const from = wants === "server" ? "If it wants one." : `Made at ${where}.`;
  form.querySelector('[data-say="where"]').textContent = `${again}${from} It is written down on this machine and never shown again.`;
  form.querySelector('[data-say="model"]').textContent = model ? `Empty: ${model}.` : "Empty: the first that it offers.";
  form.querySelector("#offered").replaceChildren();
  form.model.value = "";
  form.querySelector("[data-anyway]").hidden = true;
  clear(form);
}

async function tried(form) {
  const trial = await call("POST", `/api/providers/${form.provider.value}/test`, typed(form));
  list(form, trial.models);
  const isNew = hasKey(form);
  form.querySelector("[data-anyway]").hidden = trial.ok || !isNew;
  if (!trial.ok) throw new Error(trial.message);
  await kept(form, trial.message, trial.model, trial.models);
}

async function kept(form, message, answered = "", models = []) {
  const option = form.provider.selectedOptions[0];
  const { model: named, ...key } = typed(form);
  const model = named ?? (option.dataset.model ? "" : answered); // a first choice that is not left to chance
  if (hasKey(form)) await call("PUT", `/api/providers/${option.value}`, key);
  const isDefault = form.is_default ? form.is_default.checked : true;
  if (model) await call("PATCH", `/api/providers/${option.value}`, { model });
  if (isDefault) await call("PATCH", "/api/settings", { default_provider: option.value });
  option.setAttribute("data-usable", "");
  if (model) option.dataset.model = model;
  if (key.base_url) option.dataset.words = `at ${key.base_url}`;
  form.key.value = form.base_url.value = ""; // typed again, they would be meant for another one
  lay(form);
  list(form, models);
  const place = form.querySelector("[data-well]");
  place.textContent = message;
  place.hidden = false;
  const next = document.querySelector("[data-next]");
  if (next) {
    next.textContent = "Go on";
    next.classList.add("primary");
    form.querySelector("button").classList.remove("primary");
    for (const words of document.querySelectorAll("[data-until-next]")) words.hidden = true;
  }
  document.dispatchEvent(new CustomEvent("news:providers", { detail: {} }));
}

// What goes to the server: a key only where one was typed.
function typed(form) {
  const body = {};
  if (hasKey(form)) {
    body.key = form.key.value;
    if (form.provider.selectedOptions[0].dataset.wants === "server") body.base_url = form.base_url.value;
  }
  if (form.model.value.trim()) body.model = form.model.value.trim();
  return body;
}

function hasKey(form) {
  const { wants } = form.provider.selectedOptions[0].dataset;
  return wants === "server" ? form.base_url.value.trim() !== "" : wants === "key" && form.key.value.trim() !== "";
}

function isUsable(option) {
  return option.hasAttribute("data-usable");
}

// What a provider that is set up offers, asked for when somebody wants to choose.
async function offer(form) {
  const option = form.provider.selectedOptions[0];
  const provider = option.value;
  if (!isUsable(option) || hasKey(form) || form.querySelector("#offered").children.length) return;
  try {
    const { models } = await call("GET", `/api/providers/${provider}/models`);
    if (form.provider.value === provider) list(form, models);
  } catch {
    // a name can be typed all the same
  }
}

function list(form, models) {
  const options = models.map((name) => Object.assign(document.createElement("option"), { value: name }));
  form.querySelector("#offered").replaceChildren(...options);
}

async function busy(form, deed) {
  clear(form);
  const buttons = form.querySelectorAll("button");
  for (const button of buttons) button.disabled = true;
  buttons[0].toggleAttribute("data-busy", true);
  try {
    await deed();
  } catch (error) {
    show(form.querySelector(".trouble"), error);
  }
  for (const button of buttons) button.disabled = false;
  buttons[0].toggleAttribute("data-busy", false);
}

function clear(form) {
  show(form.querySelector(".trouble"), null);
  form.querySelector("[data-well]").hidden = true;
}

function said(place, trial) {
  if (!place) return;
  place.textContent = trial.message;
  place.className = trial.ok ? "well" : "trouble";
  place.hidden = false;
}
