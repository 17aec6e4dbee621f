// Long lines of code are wrapped or scrolled, in all blocks alike, as this browser's person last wanted it.

const KEY = "hermit-wrap-code";

export function startWrapping() {
  if (read()) document.documentElement.dataset.wraps = "";
  document.addEventListener("click", ({ target }) => {
    if (!target.closest("button[data-wrap]")) return;
    const is = document.documentElement.toggleAttribute("data-wraps");
    try {
      localStorage.setItem(KEY, is ? "1" : "");
    } catch {
      // it holds for this page alone
    }
  });
}

function read() {
  try {
    return localStorage.getItem(KEY) === "1";
  } catch {
    return false;
  }
}
