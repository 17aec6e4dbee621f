// Light or dark, as this browser is told; the server reads the cookie, so that no page comes in the wrong one first.

const YEAR_S = 31536000;

export function startTheme() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-choose-theme]");
    if (button) choose(button.dataset.chooseTheme);
  });
}

export function markTheme() {
  const chosen = document.documentElement.dataset.theme ?? "";
  for (const button of document.querySelectorAll("[data-choose-theme]")) {
    button.setAttribute("aria-pressed", String(button.dataset.chooseTheme === chosen));
  }
}

function choose(theme) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `hermit_theme=${theme}; path=/; max-age=${theme ? YEAR_S : 0}; samesite=strict${secure}`;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  markTheme();
  document.dispatchEvent(new Event("theme"));
}
