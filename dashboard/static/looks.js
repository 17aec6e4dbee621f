// How an agent looks, where it is chosen: all signs in the chosen colour, and an emoji of one's own as one sign more.

export function startLooks({ signal } = {}) {
  for (const look of document.querySelectorAll("[data-look]")) {
    const signs = look.querySelector("[data-look-signs]");
    const own = look.querySelector("[data-look-emoji]");
    const radio = own.querySelector("input");
    look.addEventListener("change", ({ target }) => {
      if (target.name === "color") signs.className = `look-signs tone-${target.dataset.tone}`;
    }, { signal });
    look.querySelector("[data-look-own]").addEventListener("input", ({ target }) => {
      const emoji = target.value.trim();
      own.hidden = !emoji;
      radio.value = own.querySelector("[data-look-shown]").textContent = emoji;
      if (emoji) radio.checked = true;
      else if (radio.checked) look.querySelector('[name="avatar"]').checked = true;
    }, { signal });
    look.closest("form").addEventListener("saved", ({ target }) => showAbove(target), { signal });
  }
}

// The page's head shows at once what was saved.
function showAbove(form) {
  const head = document.querySelector(".talk-head");
  if (!head) return;
  head.querySelector("h1").textContent = form.elements.display_name.value.trim() || head.closest("[data-agent]").dataset.agent;
  const face = form.querySelector('[name="avatar"]:checked').parentElement.querySelector(".avatar").cloneNode(true);
  face.classList.add(`tone-${form.querySelector('[name="color"]:checked').dataset.tone}`);
  head.querySelector(".avatar").replaceWith(face);
}

// A role's look, as long as nobody has chosen one.
export function setLook(form, { avatar, color }) {
  for (const [name, value] of [["avatar", avatar], ["color", color]]) {
    const radio = form.querySelector(`[name="${name}"][value="${CSS.escape(value)}"]`);
    if (!radio) continue;
    radio.checked = true;
    radio.dispatchEvent(new Event("change", { bubbles: true }));
  }
}
