// A fresh login link or API token is shown once, to be copied: a link for whoever was just added, too. And what is typed
// before a loss has to be the name.

import { call, show } from "./api.js";
import { t } from "./texts.js";

export function startPeople() {
  document.addEventListener("news:login-link", (event) => showLink(event.detail));
  document.addEventListener("news:person-added", (event) => linkFor(event.detail.id));
  document.addEventListener("news:token", (event) => present(event.detail.token));
  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-must-be]")) check(event.target);
  });
}

export function checkNames() {
  for (const field of document.querySelectorAll("[data-must-be]")) check(field);
}

async function linkFor(user) {
  try {
    showLink(await call("POST", "/api/login-links", { user }));
  } catch (error) {
    show(document.querySelector("form.panel .trouble"), error);
  }
}

function showLink(link) {
  const hours = link.valid_for_s / 3600;
  document.querySelector("[data-link-for]").textContent = link.name;
  document.querySelector("[data-link-lasts]").textContent = hours > 1 ? t("%(count)s hours", { count: hours }) : t("%(count)s minutes", { count: link.valid_for_s / 60 });
  document.querySelector("[data-link-local]").hidden = !link.is_local;
  present(link.url);
}

function present(text) {
  const dialog = document.querySelector("dialog.link-shown");
  dialog.querySelector("input").value = text;
  dialog.querySelector("[data-copied]").hidden = true;
  dialog.showModal();
  dialog.addEventListener("close", () => (dialog.querySelector("input").value = ""), { once: true });
}

function check(field) {
  const name = field.dataset.mustBe;
  field.setCustomValidity(field.value.trim() === name ? "" : t("Type the name as it is: %(name)s", { name }));
}
