// The way to a new agent, in three steps on one page. Each step is checked before the next one; what the server refuses is
// said beside the buttons, on the step that it is about, and nothing that was typed is lost.

import { fieldsOf } from "./acts.js";
import { call, leaving, show } from "./api.js";
import { setLook } from "./looks.js";
import { t } from "./texts.js";

export function startWizard() {
  const form = document.querySelector("[data-wizard]");
  if (!form) return;
  const steps = [...form.querySelectorAll("[data-step]")];
  const taken = JSON.parse(form.dataset.taken);
  let at = 0;

  const go = (to) => {
    at = to;
    steps.forEach((step, n) => (step.hidden = n !== at));
    document.querySelectorAll("[data-stage]").forEach((stage, n) => {
      stage.toggleAttribute("aria-current", n === at);
      if (n === at) stage.setAttribute("aria-current", "step");
      stage.classList.toggle("past", n < at);
    });
    form.querySelector("[data-back]").hidden = at === 0;
    const name = form.elements.name.value.trim();
    const called = form.elements.display_name.value.trim() || name;
    form.querySelector("[data-forward]").textContent = at < steps.length - 1 ? t("Continue") : t("Create %(name)s", { name: called });
    form.querySelector("[data-called]").textContent = name || "NAME";
    steps[at].querySelector("h2").focus({ preventScroll: true });
    document.querySelector("[data-step-number]").textContent = at + 1;
    scrollTo(0, 0);
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const wrong = steps.slice(0, at + 1).findIndex((step) => !isFine(step, form, taken));
    if (wrong >= 0) {
      if (wrong !== at) go(wrong);
      isFine(steps[wrong], form, taken, true);
    } else if (at < steps.length - 1) {
      show(form.querySelector(".trouble"), null);
      go(at + 1);
    } else create(form, (field) => go(stepOf(steps, form, field)));
  });
  form.querySelector("[data-back]").addEventListener("click", () => go(at - 1));
  form.addEventListener("change", (event) => {
    if (event.target.dataset.filling) fill(form, JSON.parse(event.target.dataset.filling), taken);
    if (event.target.name === "provider") hint(form);
    if (event.target.name === "toolsets") event.target.dataset.chosen = "";
    if (event.isTrusted && event.target.closest("[data-look]")) form.dataset.hasLook = "";
  });
  form.elements.display_name.addEventListener("input", ({ target }) => suggest(form, target.value, taken));
  fill(form, JSON.parse(form.querySelector("[data-filling]:checked").dataset.filling), taken);
  hint(form);
}

function isFine(step, form, taken, isSaid = false) {
  const { name } = form.elements;
  name.setCustomValidity(taken.includes(name.value.trim()) ? t("An agent with this name already exists. Choose another name.") : "");
  const fields = [...step.querySelectorAll("input, select, textarea")];
  return fields.every((field) => (isSaid ? field.reportValidity() : field.validity.valid));
}

// A role fills what nobody has typed into: empty fields, and those that a role has filled before.
function fill(form, role, taken) {
  for (const [key, value] of Object.entries({ ...role, name: free(role.name, taken) })) {
    if (["toolsets", "avatar", "color"].includes(key)) continue;
    if (key === "name" && form.elements.display_name.value.trim()) continue; // it has one that goes with that
    const field = form.elements[key];
    const isOurs = !field.value.trim() || field.value === (field.dataset.filled ?? field.defaultValue);
    if (isOurs) field.dataset.filled = field.value = value;
  }
  for (const box of form.querySelectorAll('[name="toolsets"]')) {
    if (box.dataset.chosen === undefined) box.checked = role.toolsets.includes(box.value);
  }
  if (form.dataset.hasLook === undefined) setLook(form, role);
}

// What it is called suggests its name, as long as nobody has typed one.
function suggest(form, called, taken) {
  const plain = called.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const name = plain.replace(/[^a-z0-9]+/g, "-").slice(0, 28).replace(/^-+|-+$/g, "");
  const field = form.elements.name;
  if (name && (!field.value.trim() || field.value === field.dataset.filled)) field.dataset.filled = field.value = free(name, taken);
}

function free(name, taken) {
  let n = 1;
  while (taken.includes(n === 1 ? name : `${name}-${n}`)) n += 1;
  return n === 1 ? name : `${name}-${n}`;
}

function hint(form) {
  const chosen = form.elements.provider.selectedOptions[0];
  form.elements.model.placeholder = chosen.dataset.model;
}

async function create(form, backTo) {
  const trouble = form.querySelector(".trouble");
  const buttons = form.querySelectorAll("button");
  const body = fieldsOf(form);
  delete body.begin;
  body.name = body.name.trim();
  show(trouble, null);
  for (const button of buttons) button.disabled = true;
  leaving(true);
  try {
    const agent = await call("POST", "/api/agents", body);
    location.assign(agent.telegram && agent.telegram.state !== "paired" ? `/agents/${agent.name}/settings#telegram` : `/agents/${agent.name}`);
  } catch (error) {
    leaving(false);
    for (const button of buttons) button.disabled = false;
    backTo(error.message.match(/^(\w+)[.:]/)?.[1]);
    show(trouble, error);
  }
}

// The step of the field that a refusal begins with; the last one, where it names none.
function stepOf(steps, form, name) {
  const field = name ? form.querySelector(`[name="${CSS.escape(name)}"]`) : null;
  return field ? steps.findIndex((step) => step.contains(field)) : steps.length - 1;
}
