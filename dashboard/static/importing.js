// An agent from another product: the zip is sent to be looked at, then what was found comes to the agent that is chosen.

import { fieldsOf } from "./acts.js";
import { call, csrf, reach, said, show } from "./api.js";
import { go } from "./pages.js";
import { t } from "./texts.js";

export function startImport({ signal } = {}) {
  const zip = document.querySelector("[data-import-zip]");
  zip?.addEventListener("submit", (event) => {
    event.preventDefault();
    tried(zip, () => look(zip.elements.zip.files[0]));
  }, { signal });
  const form = document.querySelector("[data-import]");
  if (!form) return;
  const isNew = () => !form.elements.into.value;
  form.elements.into.addEventListener("change", () => (form.querySelector("[data-import-new]").hidden = !isNew()), { signal });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (isNew() && !form.reportValidity()) return;
    tried(form, () => take(form, isNew()));
  }, { signal });
}

async function look(file) {
  if (!file) throw new Error(t("Choose a zip first."));
  const headers = { Accept: "application/json", "X-CSRF-Token": csrf, "Content-Type": "application/octet-stream" };
  const answer = await reach("/api/imports", { method: "PUT", headers, body: file });
  if (!answer.ok) throw new Error(await said(answer));
  const { id } = await answer.json();
  return `/import?look=${encodeURIComponent(id)}`;
}

async function take(form, isNew) {
  const { into, agent, display_name: called, secrets = [] } = fieldsOf(form);
  const body = isNew ? { agent: agent.trim(), display_name: called, secrets } : { agent: into, secrets };
  const came = await call("POST", form.dataset.import, body);
  return `/agents/${came.agent}`;
}

async function tried(form, how) {
  const trouble = form.querySelector(".trouble");
  const button = form.querySelector("button");
  show(trouble, null);
  button.disabled = true;
  try {
    go(await how());
  } catch (error) {
    show(trouble, error);
  } finally {
    button.disabled = false;
  }
}
