// The form of a calendar's entry: a common way to repeat fills in the rule, "your own" shows it. And copying an address.

export function startCalendar() {
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-preset]")) choose(event.target);
  });
  document.addEventListener("reset", (event) => {
    const select = event.target.querySelector("[data-preset]");
    if (select) setTimeout(() => choose(select)); // the fields have their first values only after this
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy-it]");
    if (button) copy(button.closest("[data-copy]"));
  });
}

function choose(select) {
  const form = select.form;
  const isOwn = select.value === "own";
  form.querySelector("[data-own]").hidden = !isOwn;
  form.querySelector("[data-repeats]").hidden = !select.value;
  if (!select.value) form.elements.end.value = "";
  if (!isOwn) form.elements.repeat.value = select.value;
  else form.elements.repeat.focus();
}

async function copy(place) {
  const field = place.querySelector("input");
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    place.querySelector("[data-copied]").hidden = false;
  } catch {
    // it is selected, and the person can copy it by hand
  }
}
