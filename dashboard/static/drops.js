// What was dropped, as files. Those of a folder, and of the folders in it, lie side by side, each under a name that says
// where it was ("trip-days-b.txt"); hidden ones are left out.

export const MOST_DROPPED = 200;
const MOST_DEPTH = 8;

// To be called while the drop is told: what was dropped is gone a moment later.
export function filesOf(transfer) {
  const entries = [...(transfer.items ?? [])].map((item) => (item.kind === "file" ? item.webkitGetAsEntry?.() : null)).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return Promise.resolve([...transfer.files]);
  return gather(entries);
}

async function gather(entries) {
  const found = [];
  for (const entry of entries) await walk(entry, [], found);
  return found;
}

async function walk(entry, above, found) {
  if (found.length >= MOST_DROPPED || above.length > MOST_DEPTH || (above.length && entry.name.startsWith("."))) return;
  if (entry.isFile) {
    const file = await new Promise((resolve) => entry.file(resolve, () => resolve(null))); // null: gone, or shut
    if (file) found.push(above.length ? new File([file], [...above, file.name].join("-"), { type: file.type }) : file);
    return;
  }
  const reader = entry.createReader();
  for (let page = await read(reader); page.length; page = await read(reader)) {
    for (const below of page) await walk(below, [...above, entry.name], found);
  }
}

function read(reader) {
  return new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
}
