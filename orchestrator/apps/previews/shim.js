// Runs before anything of the app. See docs/security.md: it is a convenience for apps, no wall; the walls are the
// headers that come with every answer.
(() => {
  "use strict";
  const base = "__BASE__";
  const stored = "__STORED__";

  if (window.top === window) {
    window.stop();
    document.documentElement.textContent = "This app runs inside the dashboard. Open it there, under Apps.";
    return;
  }

  const kept = (values, changed) => {
    const map = new Map(Object.entries(values));
    const methods = {
      getItem: (key) => (map.has(String(key)) ? map.get(String(key)) : null),
      setItem: (key, value) => {
        const before = map.get(String(key));
        map.set(String(key), String(value));
        try {
          changed(map);
        } catch (full) {
          if (before === undefined) map.delete(String(key));
          else map.set(String(key), before);
          throw full;
        }
      },
      removeItem: (key) => {
        if (map.delete(String(key))) changed(map);
      },
      clear: () => {
        map.clear();
        changed(map);
      },
      key: (index) => [...map.keys()][index] ?? null,
    };
    return new Proxy(methods, {
      get: (target, name) => {
        if (name === "length") return map.size;
        if (typeof name !== "string" || name in target) return target[name];
        return map.get(name);
      },
      set: (target, name, value) => {
        methods.setItem(name, value);
        return true;
      },
      deleteProperty: (target, name) => {
        methods.removeItem(name);
        return true;
      },
      has: (target, name) => name === "length" || name in target || map.has(name),
      ownKeys: () => [...map.keys()],
      getOwnPropertyDescriptor: (target, name) =>
        map.has(name) ? { value: map.get(name), writable: true, enumerable: true, configurable: true } : undefined,
    });
  };

  let waiting = 0;
  const rawFetch = window.fetch.bind(window);
  const save = (map) => {
    clearTimeout(waiting);
    waiting = 0;
    rawFetch(base + ".hermit/storage", {
      method: "PUT",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(Object.fromEntries(map)),
      keepalive: true,
    }).then((answer) => {
      if (!answer.ok) console.warn("What this app wanted to remember was not kept: " + answer.status);
    }, () => undefined);
  };
  let latest = null;
  const changed = (map) => {
    const bytes = [...map].reduce((sum, [key, value]) => sum + key.length + value.length, 0);
    if (bytes > 256 * 1024) throw new DOMException("The app's storage is full.", "QuotaExceededError");
    latest = map;
    if (!waiting) waiting = setTimeout(() => save(map), 250);
  };
  addEventListener("pagehide", () => {
    if (waiting && latest) save(latest);
  });

  const define = (target, name, descriptor) => {
    try {
      Object.defineProperty(target, name, { configurable: true, ...descriptor });
    } catch {
      console.warn("This browser keeps " + name + " to itself.");
    }
  };
  define(window, "localStorage", { value: kept(stored, changed) });
  define(window, "sessionStorage", { value: kept({}, () => undefined) });
  define(document, "cookie", { get: () => "", set: () => undefined });

  const origin = new URL(base).origin;
  const within = (address) => {
    let url;
    try {
      url = new URL(address, document.baseURI);
    } catch {
      return address;
    }
    const http = url.protocol.replace("ws", "http") + "//" + url.host;
    if (http !== origin || url.href.replace(/^ws/, "http").startsWith(base)) return address;
    const prefix = new URL(base).pathname;
    url.pathname = prefix + url.pathname.replace(/^\//, "");
    return url.href;
  };
  window.fetch = (input, options) =>
    rawFetch(input instanceof Request ? new Request(within(input.url), input) : within(String(input)), options);
  const open = XMLHttpRequest.prototype.open;
  XMLHttpRequest.prototype.open = function (method, address, ...rest) {
    return open.call(this, method, within(String(address)), ...rest);
  };
  for (const name of ["WebSocket", "EventSource", "Worker"]) {
    const Original = window[name];
    if (Original) {
      window[name] = class extends Original {
        constructor(address, ...rest) {
          super(within(String(address)), ...rest);
        }
      };
    }
  }
})();
