// A fresh login link or API token is shown once, to be copied; and what is typed before a loss has to be the name.

export function startPeople() {
  document.addEventListener("news:login-link", (event) => show(event.detail.url));
  document.addEventListener("news:token", (event) => show(event.detail.token));
  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-must-be]")) check(event.target);
  });
  for (const field of document.querySelectorAll("[data-must-be]")) check(field);
}

function show(url) {
  const dialog = document.querySelector("dialog.link-shown");
  dialog.querySelector("input").value = url;
  dialog.querySelector("[data-copied]").hidden = true;
  dialog.showModal();
  dialog.addEventListener("close", () => (dialog.querySelector("input").value = ""), { once: true });
}

function check(field) {
  const name = field.dataset.mustBe;
  field.setCustomValidity(field.value.trim() === name ? "" : `Type the name as it is: ${name}`);
}
