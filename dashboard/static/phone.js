// The way into a phone: a fresh login link as a QR code, shown when it is asked for.

export function startPhone() {
  document.addEventListener("news:phone", ({ detail: link }) => {
    const place = document.querySelector("[data-phone]");
    if (!place || !link.qr) return;
    place.querySelector("img").src = link.qr;
    place.querySelector("[data-phone-url]").textContent = link.url;
    place.hidden = false;
  });
}
