// One file on its way into an agent's in/. A request that tells how far it is: fetch can't. What fails is an Error
// whose message is one sentence for the reader.

import { call, csrf } from "./api.js";
import { amount, t } from "./texts.js";

const LOST = t("The connection was lost. Try again.");

export class Upload {
  constructor(agent, file, onProgress) {
    this.agent = agent;
    this.file = file;
    this.onProgress = onProgress;
    this.request = new XMLHttpRequest();
  }

  // The path to name in a message, as the server answered it; null when it was cancelled.
  async start() {
    const ended = await this.sent();
    if (ended === "abort") return null;
    if (ended !== "load") throw new Error(await this.reason());
    const answer = parsed(this.request.responseText);
    if (this.request.status === 201 && answer?.path) return answer.path;
    throw new Error(answer?.error?.message ?? t("The upload failed (%(status)s). Try again.", { status: this.request.status }));
  }

  cancel() {
    this.request.abort();
  }

  sent() {
    const { request, file } = this;
    const name = encodeURIComponent(file.name || "file");
    request.open("PUT", `/api/agents/${this.agent}/files/in/${name}`);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRF-Token", csrf);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    return new Promise((resolve) => {
      for (const kind of ["load", "error", "abort"]) request.addEventListener(kind, () => resolve(kind));
      request.upload.addEventListener("progress", (event) => this.onProgress(event.loaded / Math.max(1, event.total)));
      request.send(file);
    });
  }

  // A browser that is still sending may lose the answer it got, so what it said is found out again.
  async reason() {
    try {
      await this.file.slice(0, 1).arrayBuffer();
    } catch {
      return t("It can't be read: it was moved or changed, or it's a folder.");
    }
    try {
      const { disk } = await call("GET", `/api/agents/${this.agent}/cubicle`);
      const isTooLarge = this.file.size > disk.limit_bytes - disk.used_bytes;
      return isTooLarge ? t("There isn't enough room left in the workspace.") : LOST;
    } catch (error) {
      return error.message;
    }
  }
}

export function size(count) {
  if (count < 1000) return count === 1 ? "1 byte" : `${count} bytes`;
  const [unit, scale] = [["kB", 1e3], ["MB", 1e6], ["GB", 1e9]].find(([, one]) => count < one * 999.5) ?? ["GB", 1e9];
  return `${amount(count / scale, count < scale * 9.95 ? 1 : 0)} ${unit}`;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
