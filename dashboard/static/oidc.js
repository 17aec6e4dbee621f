// Connecting one's account at a provider: our server says where the browser asks, and it goes there.

import { call, leaving, show } from "./api.js";

export function startOidc() {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("form[data-connect-oidc]")) return;
    event.preventDefault();
    const trouble = form.querySelector(".trouble");
    const button = form.querySelector("button");
    show(trouble, null);
    button.disabled = true;
    try {
      const { url } = await call("POST", "/api/me/oidc", { current: form.elements.current?.value ?? "" });
      leaving(true);
      location.assign(url);
    } catch (error) {
      leaving(false);
      show(trouble, error);
    }
    button.disabled = false;
  });
}
