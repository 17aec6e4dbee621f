// The conversation: sends messages, shows replies while they are written, and has each turn rendered again when it has
// news.

import { call, isAboutToLeave, part, show } from "./api.js";
import { Attachments } from "./attach.js";
import { Draft } from "./drafts.js";
import { ask } from "./forms.js";
import { draw, forget, growReply } from "./growing.js";
import { reload } from "./pages.js";
import { carryOver, soon } from "./parts.js";
import { entriesOf, keepFocus, put, remember } from "./timeline.js";
import { t } from "./texts.js";

const NEAR_PX = 160;

let agent = "";
let seen = "";
let viewer = 0;
let conversation = 0;
const elsewhere = new Set(); // turns of other conversations
let isSending = false;
let log, asking, form, field, button, trouble, working, files, draft;

export function startChat({ signal }) {
  const talk = document.querySelector(".talk");
  if (!talk) return;
  agent = talk.dataset.agent;
  conversation = Number(talk.dataset.conversation);
  viewer = Number(document.body.dataset.viewer);
  log = talk.querySelector(".log");
  form = talk.querySelector("[data-composer]");
  field = form.querySelector("textarea");
  button = form.querySelector(".send");
  trouble = talk.querySelector(".dock .trouble");
  working = talk.querySelector(".working");
  isSending = false;
  seen = "";
  elsewhere.clear();
  files = new Attachments(talk, grow, signal);
  draft = new Draft(field, agent, conversation, viewer, signal);
  draft.restore();
  asking = talk.querySelector(".asking");
  keepInView(talk.querySelector(".dock"), () => true);
  keepInView(asking, (grown) => isNearEnd(grown));
  listen(talk);
  follow(signal);
  settle();
  if (!location.hash) toEnd();
  if (matchMedia("(hover: hover)").matches) field.focus({ preventScroll: true });
}

function listen(talk) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  field.addEventListener("input", grow);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  working.querySelector(".stop").addEventListener("click", stop);
  talk.addEventListener("click", (event) => {
    const target = event.target.closest("button");
    if (!target) return;
    if (target.matches(".try")) say(target);
    else if (target.matches("[data-withdraw]")) withdraw(target);
    else if (target.matches("[data-clear]")) clear(target);
    else if (target.matches("[data-reset]")) reset(target);
  });
}

function follow(signal) {
  const on = (kind, work) => document.addEventListener(kind, work, { signal });
  const mine = (news) => {
    const isHere = document.getElementById(`turn-${Number(news.turn)}`) !== null; // forks share turns
    if (news.conversation && news.turn && news.conversation !== conversation && !isHere) elsewhere.add(Number(news.turn));
    return news.agent === agent && news.user === viewer && !elsewhere.has(Number(news.turn));
  };
  on("news:turn", ({ detail }) => mine(detail) && look(detail.turn));
  on("news:step", ({ detail }) => mine(detail) && stepped(detail));
  on("news:delta", ({ detail }) => mine(detail) && write(detail));
  on("news:output", ({ detail }) => mine(detail) && print(detail));
  on("visibilitychange", see);
  on("news:approval", ({ detail }) => {
    if (detail.turn && mine(detail)) look(detail.turn);
    else if (!detail.turn) lookAtOpen();
  });
  on("news:question", ({ detail }) => detail.turn && mine(detail) && look(detail.turn));
  on("news:plan", ({ detail }) => mine(detail) && look(detail.turn));
  on("news:notice", ({ detail }) => mine(detail) && noticed(detail));
  on("cards", settle);
  on("news:delivery", ({ detail }) => detail.turn && mine(detail) && look(detail.turn));
  on("news:app", ({ detail }) => detail.agent === agent && pictured(detail.app));
  on("news:again", reread);
  on("branch", ({ detail }) => showBranch(detail.turn));
  on("news:conversation", ({ detail }) => {
    const isOther = "head" in detail && (detail.head ?? 0) !== lastTurn();
    const isGone = document.getElementById(`turn-${detail.deleted}`) !== null;
    if (detail.conversation === conversation && (isOther || isGone)) soon("branch", () => showBranch());
  });
}

// An app has a new picture: where a reply leads to it, it is shown.
function pictured(app) {
  for (const link of log.querySelectorAll(`[data-open-app="${CSS.escape(app)}"]`)) look(link.closest(".turn").dataset.turn);
}

// --- what the person does ---

async function send() {
  if (button.disabled) return;
  show(trouble, null);
  isSending = field.readOnly = true;
  grow();
  try {
    const chips = await files.arrived();
    if (!isEmpty()) await post(field.value, chips); // the files may have been removed while they were waited for
  } catch (error) {
    show(trouble, error);
  }
  isSending = field.readOnly = false;
  grow();
  const { activeElement } = document; // whoever went on to something else meanwhile stays there
  if (!activeElement || activeElement === document.body || form.contains(activeElement)) field.focus();
}

async function post(text, chips) {
  const [written, kept, tray] = [field, draft, files]; // they may go to another page meanwhile
  const message = text.trim() || !chips.length ? { text, conversation } : { conversation };
  if (chips.length) message.files = chips.map((chip) => chip.path);
  tray.hold(true);
  try {
    const { turn } = await call("POST", `/api/agents/${agent}/messages`, message);
    written.value = "";
    kept.keep();
    tray.sent(chips);
    if (!written.isConnected) return;
    await refresh(turn);
    toEnd();
  } finally {
    tray.hold(false);
  }
}

async function stop() {
  const open = openTurns()[0];
  if (!open) return;
  try {
    await call("POST", `/api/turns/${open.dataset.turn}/stop`);
    look(open.dataset.turn);
  } catch (error) {
    show(trouble, error);
  }
}

// The message has not been begun: it leaves the conversation, and is there to be changed where nothing else is written.
async function withdraw(target) {
  const turn = target.closest(".turn");
  target.disabled = true;
  show(trouble, null);
  try {
    await call("POST", `/api/turns/${turn.dataset.turn}/withdraw`);
    if (isEmpty()) takeBack(turn);
    turn.remove();
    settle();
  } catch (error) {
    show(trouble, error);
    look(turn.dataset.turn);
  }
  target.disabled = false;
}

function takeBack(turn) {
  field.value = turn.querySelector(".bubble")?.textContent ?? "";
  draft.keep();
  files.back([...turn.querySelectorAll(".said .tag")]);
  field.focus({ preventScroll: true });
}

// A button sends a message, beside whatever is being written.
async function say(target) {
  target.disabled = true;
  show(trouble, null);
  try {
    const { turn } = await call("POST", `/api/agents/${agent}/messages`, { text: target.dataset.say ?? target.textContent, conversation });
    await refresh(turn);
    toEnd();
  } catch (error) {
    show(trouble, error);
  }
  target.disabled = false;
}

async function clear(target) {
  target.closest("details").open = false;
  if (!(await ask(t("Clear this conversation with %(agent)s? Files stay, and the audit log keeps what was said.", { agent: called() }), t("Clear")))) return;
  try {
    await call("DELETE", `/api/agents/${agent}/history?conversation=${conversation}`);
    reload();
  } catch (error) {
    show(trouble, error);
  }
}

async function reset(target) {
  target.closest("details").open = false;
  if (!(await ask(t("Reset the cubicle? %(agent)s gets a new container. Running programs end; files in the workspace stay.", { agent: called() }), t("Reset")))) return;
  try {
    await call("POST", `/api/agents/${agent}/cubicle/reset`);
  } catch (error) {
    show(trouble, error);
  }
}

// What people call the agent.
function called() {
  return document.querySelector(".talk-who h1")?.textContent ?? agent;
}

// --- what the agent does ---

function look(turn) {
  soon(`turn ${turn}`, () => refresh(turn));
}

function lookAtOpen() {
  for (const turn of openTurns()) look(turn.dataset.turn);
}

async function reread() {
  lookAtOpen();
  soon("turns", async () => {
    if (isAboutToLeave()) return; // the conversation may be deleted just now
    const place = log;
    const fresh = await part(`/agents/${agent}/turns?conversation=${conversation}`);
    if (!place.isConnected) return;
    for (const entry of entriesOf(fresh)) put(log, entry);
    settle();
  });
}

async function refresh(turn) {
  const place = log;
  const fresh = (await part(`/parts/turns/${turn}?conversation=${conversation}`)).querySelector(".turn");
  if (!place.isConnected) return; // another page is shown by now
  const isHere = document.getElementById(`turn-${turn}`) !== null;
  if (fresh && !isHere && Number(fresh.dataset.conversation) !== conversation) {
    elsewhere.add(Number(turn));
    return;
  }
  if (fresh && !isHere && Number(fresh.dataset.parent) !== lastTurn()) {
    await showBranch(); // it begins or goes on with a branch that may be shown by now
    if (!document.getElementById(`turn-${turn}`)) elsewhere.add(Number(turn));
    return;
  }
  const wasNear = isNearEnd();
  if (fresh) put(log, fresh);
  else document.getElementById(`turn-${turn}`)?.remove(); // its message was withdrawn
  draw(turn);
  settle();
  if (wasNear) toEnd();
}

// The branch that goes on is on the page, back to the fork at this turn; whatever was there of another one is gone.
async function showBranch(turn) {
  const back = turn ? `&back_to=${Number(turn)}` : "";
  const shown = log;
  const fresh = await part(`/agents/${agent}/turns?conversation=${conversation}${back}`);
  if (!shown.isConnected) return;
  const wasNear = isNearEnd();
  const refocus = keepFocus(log);
  elsewhere.clear();
  for (const entry of entriesOf(fresh)) {
    const old = document.getElementById(entry.id);
    remember(entry);
    if (old) carryOver(old, entry);
  }
  log.querySelectorAll(":scope > :not(.empty)").forEach((old) => old.remove());
  log.prepend(fresh);
  refocus(log);
  log.dispatchEvent(new Event("pages"));
  settle();
  const place = turn ? document.getElementById(`turn-${turn}`) : null;
  if (place && place !== entriesOf(log).at(-1)) place.scrollIntoView({ block: "center", behavior: "instant" });
  else if (place || wasNear) toEnd();
  place?.querySelector("[data-version]:not(:disabled)")?.focus({ preventScroll: true });
}

// A notice that is about a turn stands there; one about a turn that is not on the page has no place here, nor has one of
// another conversation.
function noticed({ id, turn, conversation: place }) {
  if (turn) {
    if (document.getElementById(`turn-${turn}`)) look(turn);
    return;
  }
  if (place && place !== conversation) return;
  soon(`notice ${id}`, async () => {
    const [wasNear, shown] = [isNearEnd(), log];
    const fresh = (await part(`/parts/notices/${id}`)).querySelector(".notice");
    if (!shown.isConnected) return;
    put(log, fresh);
    if (wasNear) toEnd();
  });
}

function stepped(news) {
  // What was being written is the step's thought now, and stands there.
  if (news.status !== "done") forget(news.turn);
  look(news.turn);
}

function write(news) {
  const wasNear = isNearEnd();
  if (!growReply(news)) look(news.turn);
  if (wasNear) toEnd();
}

function print(news) {
  const place = document.querySelector(`#turn-${Number(news.turn)} [data-output="${Number(news.n)}"]`);
  if (!place) return; // the step is not on the page yet, or has ended
  const wasNear = isNearEnd();
  place.textContent = news.output;
  showNewest(place);
  if (wasNear) toEnd();
}

// The newest lines of an output that grows are in view, unless somebody reads in it.
function showNewest(place) {
  if (!place.matches(":hover, :focus")) place.scrollTop = place.scrollHeight;
}

// What has ended and is on the page of somebody who looks at it is not new to them any more.
async function see() {
  const ended = [...log.querySelectorAll(".turn:not([aria-busy])")].map((turn) => Number(turn.dataset.turn));
  if (document.hidden || !ended.length) return;
  const known = `${Math.max(...ended)} ${ended.length}`;
  if (known === seen) return;
  seen = known;
  try {
    await call("PUT", `/api/agents/${agent}/seen`, { turn: Math.max(...ended) });
  } catch {
    seen = ""; // it is said again with the next news
  }
}

// --- how the page stands ---

function settle() {
  see();
  log.querySelectorAll("[data-output]").forEach(showNewest);
  const open = openTurns();
  working.hidden = open.length === 0;
  const first = open[0]?.dataset.status;
  const isAsking = first === "waiting_approval" || asking.querySelector("section") !== null;
  const text = !first ? "" : isAsking ? t("%(agent)s is waiting for your answer", { agent: called() }) : t("%(agent)s is working", { agent: called() });
  const place = working.querySelector(".working-text");
  if (place.textContent !== text) place.textContent = text;
  if (isBroken()) soon("branch", () => showBranch());
  const empty = log.querySelector(":scope > .empty");
  const [wasShown, hasBegun] = [!empty.hidden, log.querySelector(".turn") !== null];
  empty.hidden = hasBegun || asking.querySelector("section") !== null; // what waits for an answer comes first
  if (wasShown && empty.hidden) toEnd();
  grow();
}

function isEmpty() {
  return !field.value.trim() && files.count === 0;
}

function grow() {
  button.disabled = isEmpty() || isSending;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

// What could be read above it can still be read when it grows.
function keepInView(element, isWanted) {
  let height = element.offsetHeight;
  new ResizeObserver(() => {
    const grown = element.offsetHeight - height;
    height = element.offsetHeight;
    if (grown > 0 && isWanted(grown)) scrollBy({ top: grown, behavior: "instant" });
  }).observe(element);
}

// Turns of two branches are on the page: each of them should follow the one above it.
function isBroken() {
  const turns = [...log.querySelectorAll(":scope > .turn")];
  return turns.slice(1).some((turn, n) => turn.dataset.parent !== turns[n].dataset.turn);
}

function lastTurn() {
  return Number([...log.querySelectorAll(":scope > .turn")].at(-1)?.dataset.turn ?? 0);
}

function openTurns() {
  return [...log.querySelectorAll('.turn[aria-busy="true"]')];
}

function isNearEnd(grown = 0) {
  const page = document.documentElement;
  return page.scrollHeight - page.scrollTop - page.clientHeight < NEAR_PX + grown;
}

// A conversation that has not begun is read from its top: what one can do stands there.
function toEnd() {
  const empty = log.querySelector(":scope > .empty");
  if (empty && !empty.hidden) return;
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}
