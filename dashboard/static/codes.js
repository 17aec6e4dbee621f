// Recovery codes of a second factor are shown once, in a dialog; when it closes they are nowhere on the page any more.

export function startCodes() {
  document.addEventListener("news:recovery-codes", (event) => {
    const dialog = document.querySelector("[data-codes-shown]");
    const codes = dialog.querySelector("pre");
    codes.textContent = event.detail.recovery_codes.join("\n");
    dialog.showModal();
    dialog.addEventListener("close", () => (codes.textContent = ""), { once: true });
  });
}
