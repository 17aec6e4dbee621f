// A reply while it is written: the server sends its blocks as they change (HTML of its own making), and only what has
// changed is touched, so that what somebody reads, marks or has scrolled stays as it is, also when the reply has ended.

const known = new Map(); // by turn: its blocks so far

// Returns whether the page has a place for it.
export function growReply({ turn, from, blocks }) {
  const held = known.get(turn) ?? [];
  if (from > held.length) return false;
  held.splice(from, Infinity, ...blocks);
  known.set(turn, held);
  return draw(turn, from);
}

// The blocks from this one on are as they were told; all of them where a place has just come.
export function draw(turn, from = 0) {
  const place = document.querySelector(`#turn-${Number(turn)} .live`);
  const blocks = known.get(turn);
  if (!place || !blocks) return place !== null;
  const holder = document.createElement("template");
  holder.innerHTML = blocks.slice(from).join("");
  morph(place, holder.content, from);
  return true;
}

export function forget(turn) {
  known.delete(turn);
  document.querySelector(`#turn-${Number(turn)} .live`)?.replaceChildren();
}

// The reply that has ended takes over what was on the page while it grew, as far as it is the same.
export function takeOver(old, fresh) {
  const before = old.querySelector(".live, .reply");
  const after = fresh.querySelector(".reply");
  if (!before?.firstChild || !after) return () => {};
  const { anchorNode, anchorOffset, focusNode, focusOffset, isCollapsed } = getSelection();
  const marks = !isCollapsed && before.contains(anchorNode) && before.contains(focusNode);
  const aim = after.cloneNode(true);
  [...aim.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).forEach((node) => node.remove()); // between blocks
  morph(before, aim);
  const scrolled = [...before.querySelectorAll("*")].filter((one) => one.scrollLeft || one.scrollTop).map((one) => [one, one.scrollLeft, one.scrollTop]);
  after.replaceChildren(...before.childNodes);
  return () => {
    if (marks && anchorNode.isConnected && focusNode.isConnected) getSelection().setBaseAndExtent(anchorNode, anchorOffset, focusNode, focusOffset);
    for (const [one, left, top] of scrolled) one.scrollTo({ left, top, behavior: "instant" });
  };
}

// Makes the children of one element those of the other, from a number on, and touches only what differs.
function morph(old, fresh, from = 0) {
  const rest = [...old.childNodes].slice(from);
  for (const node of [...fresh.childNodes]) {
    const now = rest.shift();
    if (!now) old.append(node);
    else if (isDrawn(now, node)) continue;
    else if (!isAlike(now, node)) now.replaceWith(node);
    else if (now.nodeType !== Node.ELEMENT_NODE) write(now, node.data);
    else if (!now.isEqualNode(node)) morph(now, node);
  }
  rest.forEach((node) => node.remove());
}

// A text that only got longer keeps what is marked in it.
function write(text, data) {
  if (data === text.data) return;
  if (data.startsWith(text.data)) text.appendData(data.slice(text.data.length));
  else text.data = data;
}

// The page has made a picture of it.
function isDrawn(one, other) {
  return one.nodeType === Node.ELEMENT_NODE && one.matches("[data-seen]") && other.querySelector?.("code")?.textContent === one.querySelector("code").textContent;
}

function isAlike(one, other) {
  if (one.nodeType !== other.nodeType || one.nodeName !== other.nodeName) return false;
  if (one.nodeType !== Node.ELEMENT_NODE) return true;
  return one.attributes.length === other.attributes.length && [...one.attributes].every(({ name, value }) => other.getAttribute(name) === value);
}
