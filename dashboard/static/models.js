// The model of an agent, in its settings: what the chosen provider offers is asked for when somebody comes to the field,
// and is there to choose from. Anything else may be typed.

import { call } from "./api.js";
import { t } from "./texts.js";

export function startModels() {
  const form = document.querySelector("form[data-models]");
  if (!form) return;
  for (const field of [form.elements.model, form.elements.fallback_model]) {
    field.addEventListener("focus", () => offer(form));
  }
  form.elements.provider.addEventListener("change", () => lay(form));
  lay(form);
}

function lay(form) {
  const { model } = form.elements.provider.selectedOptions[0].dataset;
  form.elements.model.placeholder = model || t("the provider’s own choice");
  form.querySelector("datalist").replaceChildren();
  delete form.dataset.offered;
}

async function offer(form) {
  const provider = form.elements.provider.selectedOptions[0].dataset.name;
  if (!provider || form.dataset.offered === provider) return;
  form.dataset.offered = provider;
  try {
    const { models } = await call("GET", `/api/providers/${encodeURIComponent(provider)}/models`);
    const options = models.slice(0, 500).map((name) => Object.assign(document.createElement("option"), { value: name }));
    if (form.dataset.offered === provider) form.querySelector("datalist").replaceChildren(...options);
  } catch {
    delete form.dataset.offered; // what there is can be typed all the same
  }
}
