// Recovery codes of a second factor are shown once, in a dialog; when it closes they are nowhere on the page any more.

export function startCodes() {
  const dialog = document.querySelector("[data-codes-shown]");
  if (!dialog) return;
  document.addEventListener("news:recovery-codes", (event) => {
    dialog.querySelector("pre").textContent = event.detail.recovery_codes.join("\n");
    dialog.showModal();
  });
  dialog.addEventListener("close", () => (dialog.querySelector("pre").textContent = ""));
}
