// What buttons and forms do that call the server and stay on the page. A button or a form has data-call (the method) and
// data-path; data-ask (a question before a loss) with data-yes; data-news (which news it makes, so that parts are
// rendered again); data-go (where to go then); data-logout where that logs this browser out. A button says what it sends in data-body, a form by its fields.

import { call, leaving, show } from "./api.js";
import { forgetDrafts } from "./drafts.js";
import { ask } from "./forms.js";
import { go } from "./pages.js";
import { hold } from "./press.js";
import { forgetPush } from "./push.js";

export function startActs() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-call]");
    if (button) act(button, button.dataset.body ? JSON.parse(button.dataset.body) : undefined);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-call]")) return;
    event.preventDefault();
    act(event.target, fieldsOf(event.target));
  });
}

async function act(source, body) {
  if (source.dataset.ask && !(await ask(source.dataset.ask, source.dataset.yes))) return;
  const trouble = placeOf(source);
  const done = source.matches("form") ? source.querySelector("[data-done]") : null;
  show(trouble, null);
  if (done) done.hidden = true;
  rest(source, true);
  const letGo = hold(source);
  if (source.dataset.go) leaving(true);
  try {
    const answer = await call(source.dataset.call, filled(source.dataset.path, body), body);
    if (source.matches("[data-logout]")) {
      forgetDrafts();
      forgetPush();
    }
    if (source.dataset.go) return go(source.dataset.go);
    if (source.matches("[data-reset]")) source.reset();
    if (source.matches("[data-fold]")) source.closest("details").open = false;
    if (done) done.hidden = false;
    source.dispatchEvent(new Event("saved", { bubbles: true }));
    for (const kind of (source.dataset.news ?? "").split(" ").filter(Boolean)) {
      document.dispatchEvent(new CustomEvent(`news:${kind}`, { detail: answer ?? {} }));
    }
  } catch (error) {
    leaving(false);
    show(trouble, error);
  } finally {
    letGo();
  }
  rest(source, false);
}

// "{name}" in a path stands for the field of that name, which is then no part of what is sent.
function filled(path, body) {
  return path.replace(/\{(\w+)\}/g, (_, name) => {
    const value = String(body[name]).trim();
    delete body[name];
    return encodeURIComponent(value).replaceAll("%2F", "/");
  });
}


// The nearest place for a refusal: the form's own, else that of what the button is about.
function placeOf(source) {
  for (let near = source; near; near = near.parentElement) {
    const place = near.querySelector(":scope > .trouble, :scope > * > .trouble");
    if (place) return place;
  }
  return null;
}

function rest(source, is) {
  const buttons = source.matches("form") ? [...source.querySelectorAll("button")] : [source];
  for (const button of buttons) button.disabled = is;
  buttons.find((button) => button.type === "submit" || button === source)?.toggleAttribute("data-busy", is);
}

// Numbers are numbers, boxes that share a name with data-list are a list, a box alone is true or false. An empty field
// with data-optional is left out, one with data-or-null is null; in a form with data-changed, whatever is as it was. What a
// select or a list with data-number has is a number, a ticked box with data-or-null makes the list of its name null, and a name such as "limits.cpus" is a field within "limits".
export function fieldsOf(form) {
  const body = {};
  const nulls = [];
  const isChange = form.matches("[data-changed]");
  for (const field of form.elements) {
    if (!field.name || field.disabled || (isChange && isAsItWas(field))) continue;
    if (field.type === "radio" && !field.checked) continue;
    if (field.dataset.list !== undefined) {
      body[field.name] ??= [];
      if (field.checked) body[field.name].push(isNumber(field) ? Number(field.value) : field.value);
    } else if (field.type === "checkbox" && field.dataset.orNull !== undefined) {
      if (field.checked) nulls.push(field.name);
    } else if (field.type === "checkbox") body[field.name] = field.checked;
    else if (field.dataset.orNull !== undefined && !field.value.trim()) body[field.name] = null;
    else if (isChange || field.value.trim() || field.dataset.optional === undefined) {
      put(body, field.name, isNumber(field) ? Number(field.value) : field.value);
    }
  }
  for (const name of nulls) body[name] = null;
  return body;
}

function isNumber(field) {
  return field.type === "number" || field.dataset.number !== undefined;
}

function put(body, name, value) {
  const [first, within] = name.split(".");
  if (within) (body[first] ??= {})[within] = value;
  else body[first] = value;
}

function isAsItWas(field) {
  if (field.options) return [...field.options].every((option) => option.selected === option.defaultSelected);
  return field.type === "checkbox" ? field.checked === field.defaultChecked : field.value === field.defaultValue;
}
