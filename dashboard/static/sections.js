// A long page of settings: its sections are found by any word in them, the one in view is marked, and a form says that
// it holds what is not saved yet, which nobody loses by leaving.

import { holdBack } from "./pages.js";
import { t } from "./texts.js";

const ABOVE_PX = 160;
const FORMS = "form[data-changed], form[data-call=PATCH]";

export function startSections({ signal }) {
  const nav = document.querySelector("[data-sections]");
  if (!nav) return;
  const links = [...nav.querySelectorAll("a")].filter((link) => sectionOf(link));
  const label = nav.querySelector("[data-find-setting]");
  label.hidden = false;
  label.querySelector("input").addEventListener("input", ({ target }) => find(nav, links, target.value));
  const look = () => markShown(links);
  addEventListener("scroll", look, { passive: true, signal });
  addEventListener("hashchange", look, { signal });
  const moved = new IntersectionObserver(look, { rootMargin: `-${ABOVE_PX}px 0px 0px` }); // also by what grows above it
  links.forEach((link) => moved.observe(sectionOf(link)));
  signal.addEventListener("abort", () => moved.disconnect());
  look();
  watchForms(nav.parentElement, signal);
}

function sectionOf(link) {
  return document.getElementById(link.hash.slice(1));
}

function find(nav, links, words) {
  const wanted = words.trim().toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const link of links) {
    const text = textOf(sectionOf(link));
    const isFound = wanted.every((word) => text.includes(word));
    sectionOf(link).hidden = link.parentElement.hidden = !isFound;
    found += isFound;
  }
  nav.querySelector("[data-none-found]").textContent = found ? "" : t("No setting has these words.");
  markShown(links);
}

// With what fields are called elsewhere, and what they hold.
function textOf(section) {
  const fields = [...section.querySelectorAll("input:not([type=password]), select, textarea")];
  return `${section.textContent} ${fields.map((field) => `${field.name} ${field.value}`).join(" ")}`.toLowerCase();
}

function markShown(links) {
  const shown = links.filter((link) => !sectionOf(link).hidden);
  const isAtEnd = scrollY > 0 && innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
  const past = shown.filter((link) => sectionOf(link).getBoundingClientRect().top < ABOVE_PX);
  const here = isAtEnd ? (chosen(shown) ?? shown.at(-1)) : (past.at(-1) ?? shown[0]);
  for (const link of links) {
    if (link === here) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

// The one that somebody went to, where the page ends before it comes to the top.
function chosen(links) {
  const link = links.find((one) => one.hash === location.hash);
  return link && sectionOf(link).getBoundingClientRect().top >= 0 ? link : undefined;
}

function watchForms(page, signal) {
  const isDirty = (form) => [...form.elements].some(isChanged);
  const look = ({ target }) => {
    const form = target.closest?.(FORMS);
    if (!form) return;
    form.toggleAttribute("data-unsaved", isDirty(form));
    if (isDirty(form)) form.querySelector("[data-done]")?.setAttribute("hidden", "");
  };
  page.addEventListener("input", look);
  page.addEventListener("change", look);
  page.addEventListener("saved", ({ target }) => {
    if (!target.matches("form")) return; // a button that did something is no form
    [...target.elements].forEach(keep);
    target.removeAttribute("data-unsaved");
  });
  holdBack(() => page.isConnected && page.querySelector("form[data-unsaved]") !== null, signal);
}

function isChanged(field) {
  if (!field.name) return false;
  if (field.options) return [...field.options].some((option) => option.selected !== option.defaultSelected) && field.value !== firstOf(field);
  return field.type === "checkbox" || field.type === "radio" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
}

// A select without a default shows its first option.
function firstOf(select) {
  return ([...select.options].find((option) => option.defaultSelected) ?? select.options[0])?.value;
}

// What was saved is how the form stands from now on.
function keep(field) {
  if (field.options) for (const option of field.options) option.defaultSelected = option.selected;
  else if (field.type === "checkbox" || field.type === "radio") field.defaultChecked = field.checked;
  else if ("defaultValue" in field) field.defaultValue = field.value;
}
