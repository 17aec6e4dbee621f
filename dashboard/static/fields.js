// What is wrong with a field is said beside it, in the page's own words, instead of in the browser's bubble. The browser still
// decides what is wrong and keeps the form from being sent.

import { t } from "./texts.js";

let isFirst = true;

export function startFields() {
  document.addEventListener("invalid", refused, true);
  document.addEventListener("input", (event) => clear(event.target));
  document.addEventListener("reset", (event) => [...event.target.elements].forEach(clear));
}

function refused(event) {
  const field = event.target;
  if (!field.labels?.length || field.closest("details:not([open])")) return; // nowhere to be seen: the browser says it
  event.preventDefault();
  let place = placeOf(field);
  if (!place) {
    place = Object.assign(document.createElement("span"), { className: "field-trouble" });
    place.setAttribute("role", "alert");
    field.after(place);
  }
  place.textContent = words(field);
  field.setAttribute("aria-invalid", "true");
  if (isFirst) field.focus();
  isFirst = false; // the others that are refused in the same moment
  setTimeout(() => (isFirst = true));
}

function clear(field) {
  if (!field.hasAttribute?.("aria-invalid")) return;
  field.removeAttribute("aria-invalid");
  placeOf(field)?.remove();
}

function placeOf(field) {
  return field.parentElement.querySelector(":scope > .field-trouble");
}

function words(field) {
  const { validity } = field;
  if (validity.customError) return field.validationMessage;
  if (validity.valueMissing) return field.dataset.missing ?? (field.options ? t("Choose one.") : t("Fill in this field."));
  if (validity.tooShort) return t("Use at least %(count)s characters.", { count: field.minLength });
  if (validity.patternMismatch) return field.title || field.validationMessage;
  if (validity.typeMismatch && field.type === "url") return t("Write a whole address, such as http://127.0.0.1:8080/v1.");
  return field.validationMessage;
}
