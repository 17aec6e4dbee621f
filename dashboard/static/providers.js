// Setting up a provider of models: tried by a real call with the key as it was typed, and kept only when that worked
// (or the person wants it all the same). The key leaves the field as soon as it is kept, and never comes back.

import { call, show } from "./api.js";
import { t } from "./texts.js";

export function startProviders({ signal }) {
  const form = document.querySelector("form[data-provider]");
  document.addEventListener("news:tried", (event) => said(document.querySelector("[data-tried]"), event.detail), { signal });
  document.addEventListener("news:searched", (event) => said(document.querySelector("[data-searched]"), event.detail), { signal });
  if (!form) return;
  form.provider.addEventListener("change", () => lay(form));
  form.addEventListener("change", (event) => {
    if (event.target.name !== "suggested") return;
    form.model.value = "";
    sayModel(form);
  });
  form.model.addEventListener("focus", () => offer(form));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(form, () => tried(form));
  });
  form.querySelector("[data-anyway]").addEventListener("click", () => busy(form, () => kept(form, "Saved without a test.")));
  lay(form);
}

// What is asked for, by the provider that is chosen.
function lay(form) {
  const option = form.provider.selectedOptions[0];
  const { wants, words } = option.dataset;
  const shown = { server: wants === "server", key: wants !== "", model: option.value !== "rehearsal" };
  for (const label of form.querySelectorAll("[data-for]")) {
    label.hidden = !label.dataset.for.split(" ").some((name) => (name === "key" ? wants === "key" : shown[name]));
  }
  form.base_url.required = wants === "server" && !isUsable(option);
  form.key.required = wants === "key" && !isUsable(option);
  form.querySelector('[data-say="words"]').textContent = words;
  sayWhere(form.querySelector('[data-say="where"]'), option);
  form.querySelector("#offered").replaceChildren();
  form.model.value = "";
  suggest(form, option);
  form.querySelector("[data-anyway]").hidden = true;
  clear(form);
}

// Where a key comes from, as a link; and what an empty field means.
function sayWhere(place, option) {
  const { wants, where } = option.dataset;
  const again = isUsable(option) && wants ? `${t("Leave empty to keep the saved one.")} ` : "";
  const kept = ` ${t("It’s stored on this machine and never shown again.")}`;
  if (wants === "key" && where) {
    const link = Object.assign(document.createElement("a"), { href: `https://${where}`, rel: "noreferrer", target: "_blank", textContent: where });
    place.replaceChildren(`${again}${t("Get one at")} `, link, `.${kept}`);
  } else place.textContent = `${again}${wants === "server" ? t("Only if the server asks for one.") : ""}${kept}`;
}

// The models that we suggest for it with their prices: known without a key, the one in use or the recommended one chosen.
function suggest(form, option) {
  const models = JSON.parse(option.dataset.models);
  const present = option.dataset.model || models[0]?.name;
  const rows = models.map((model, n) => {
    const row = document.createElement("tr");
    const label = document.createElement("label");
    const button = Object.assign(document.createElement("input"), { type: "radio", name: "suggested", value: model.name, checked: model.name === present });
    const name = document.createElement("span");
    const [first, ...rest] = (n ? model.name : `${model.name} (recommended)`).split("/");
    name.append(first, ...rest.flatMap((part) => ["/", document.createElement("wbr"), part]));
    label.append(button, name);
    const cells = [label, model.reading || "–", model.writing || "–", model.context || "–"].map((content) => {
      const cell = document.createElement("td");
      cell.append(content);
      return cell;
    });
    row.append(...cells);
    return row;
  });
  form.querySelector("[data-suggested] tbody").replaceChildren(...rows);
  form.querySelector("[data-suggested]").hidden = !models.length;
  form.querySelector('[data-say="another"]').textContent = models.length ? t("Another model") : t("Model");
  sayModel(form);
}

// Which model is asked when the field is left empty.
function sayModel(form) {
  const option = form.provider.selectedOptions[0];
  const chosen = suggested(form) || option.dataset.model;
  const recommended = JSON.parse(option.dataset.models)[0]?.name;
  let words = t("Leave empty to use the first model that the server offers.");
  if (chosen) words = chosen === recommended ? t("Leave empty for the recommended model (%(model)s).", { model: chosen }) : t("Leave empty to use %(model)s.", { model: chosen });
  form.querySelector('[data-say="model"]').textContent = words;
}

function suggested(form) {
  return form.querySelector('[name="suggested"]:checked')?.value ?? "";
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
  const model = named ?? (option.dataset.model || suggested(form) ? "" : answered); // a first choice that is not left to chance
  if (hasKey(form)) await call("PUT", `/api/providers/${option.value}`, key);
  const isDefault = form.is_default ? form.is_default.checked : true;
  if (model) await call("PATCH", `/api/providers/${option.value}`, { model });
  if (isDefault) await call("PATCH", "/api/settings", { default_provider: option.value });
  option.setAttribute("data-usable", "");
  if (model) option.dataset.model = model;
  if (key.base_url) option.dataset.words = t("at %(address)s", { address: key.base_url });
  form.key.value = form.base_url.value = ""; // typed again, they would be meant for another one
  lay(form);
  list(form, models);
  const place = form.querySelector("[data-well]");
  place.textContent = message;
  place.hidden = false;
  const next = document.querySelector("[data-next]");
  if (next) {
    next.textContent = t("Continue");
    next.classList.replace("plain", "primary");
    form.querySelector("button").classList.remove("primary");
    for (const words of document.querySelectorAll("[data-until-next]")) words.hidden = true;
  }
  document.dispatchEvent(new CustomEvent("news:providers", { detail: {} }));
}

// What goes to the server: a key only where one was typed, a model only where it is another than the present one.
function typed(form) {
  const option = form.provider.selectedOptions[0];
  const body = {};
  if (hasKey(form)) {
    body.key = form.key.value;
    if (option.dataset.wants === "server") body.base_url = form.base_url.value;
  }
  const model = form.model.value.trim() || suggested(form);
  const present = option.dataset.model || JSON.parse(option.dataset.models)[0]?.name;
  const isOld = !isUsable(option) && option.dataset.model; // chosen for a key that is gone: a new one begins with the recommended
  if (model && (model !== present || isOld)) body.model = model;
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
