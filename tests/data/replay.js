// Every call that changes something in the dashboard, from inside an app's frame, by each way to send one.
// `house` and `calls` stand above. What was answered, or could be read, is counted; it should be nothing.
const got = [];
const note = (what) => got.push(what);

function byForm(method, url, target) {
  const form = Object.assign(document.createElement("form"), { method, action: url, target });
  form.innerHTML = '<input name="csrf" value="guess"><input name="text" value="hello">';
  document.body.append(form);
  form.submit();
}
function read(what, look) {
  try {
    if (look()) note("read " + what);
  } catch {
    return; // refused
  }
}
async function by(what, promise) {
  try {
    const answer = await promise;
    note(`${what}: ${answer.status} ${answer.type}`);
  } catch {
    return; // refused
  }
}
function byXhr(method, url) {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.onload = () => { note(`xhr ${method} ${url}`); done(); };
    request.onerror = done;
    request.withCredentials = true;
    request.open(method, url);
    request.setRequestHeader("X-CSRF-Token", "guess");
    request.send("{}");
  });
}
addEventListener("load", async () => {
  document.body.insertAdjacentHTML("beforeend", '<iframe name="hidden"></iframe>');
  for (const [method, path] of calls) {
    const url = house + path;
    await by(`fetch ${method} ${path}`, fetch(url, { method, credentials: "include", body: method === "GET" ? undefined : "{}" }));
    if (method === "GET" || method === "POST") await by(`no-cors ${path}`, fetch(url, { method, mode: "no-cors", credentials: "include" }));
    await byXhr(method, url);
    if (method === "POST") {
      byForm("post", url, "hidden");
      navigator.sendBeacon(url, "text=hello");
    }
  }
  new WebSocket(house.replace("http", "ws") + "/api/events").onopen = () => note("socket");
  new EventSource(house + "/api/events", { withCredentials: true }).onopen = () => note("events");
  read("the page around", () => parent.document.body);
  read("its address", () => parent.location.href);
  read("its origin", () => location.ancestorOrigins.length === 0);
  read("who opened it", () => window.opener);
  read("cookies", () => document.cookie);
  for (const said of ["approve", { type: "approve" }, { csrf: true }, JSON.stringify({ decision: "approve" })]) parent.postMessage(said, "*");
  addEventListener("message", () => note("a message"));
  setTimeout(() => { document.title = "done"; document.body.dataset.got = JSON.stringify(got); }, 500);
});
