// The language that is chosen before anybody is inside, and in the first-run page: kept in a cookie, which the server reads;
// of somebody who is known in their settings too.

import { call } from "./api.js";

const YEAR_S = 31536000;

export function startLanguage() {
  document.addEventListener("change", ({ target }) => {
    if (target.matches?.("[data-choose-language]")) choose(target.value);
  });
}

async function choose(language) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `hermit_language=${language}; path=/; max-age=${language ? YEAR_S : 0}; samesite=strict${secure}`;
  try {
    if (document.body.dataset.viewer) await call("PATCH", "/api/me", { language });
  } finally {
    location.reload();
  }
}
