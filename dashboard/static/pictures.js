// Pictures that somebody sent are shown from where the files are now: one that is there no more leaves its name alone.

export function startPictures() {
  const talk = document.querySelector(".log");
  talk?.addEventListener("error", ({ target }) => target.matches?.("img[data-or-gone]") && leave(target), true);
  for (const image of talk?.querySelectorAll("img[data-or-gone]") ?? []) if (image.complete && !image.naturalWidth) leave(image);
}

function leave(image) {
  image.closest(".tag")?.classList.remove("pictured");
  image.closest("a").remove();
}
