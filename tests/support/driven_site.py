"""Pages to drive a browser over: one server on loopback, a site for each host name. Whatever was asked for is noted."""

from __future__ import annotations

import mimetypes
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

LAB = """<!doctype html><title>Lab</title><h1>Lab</h1><a href=/second>second</a> <a href=//frames.test/>frames</a>
<form action=/form method=post enctype=multipart/form-data><label>Name <input name=n></label>
<label>File <input type=file name=f></label>
<select name=s aria-label=Colour><option>red<option>green</select><input type=checkbox id=c><label for=c>Agree</label>
<label>Day <input type=date name=d></label><button>Send</button></form>
<button onclick="document.title='asked '+confirm('Really delete?')">Delete</button>
<button onclick="document.title='said '+prompt('Your name?','Bob')">Ask me</button>
<button onclick="alert('Hello');document.title='alerted'">Hello</button>
<button onclick="setTimeout(()=>console.error('boom from button'),5)">Err</button>
<button onclick="setTimeout(()=>{throw new Error('thrown')},5)">Throw</button>
<button onmouseover="this.textContent='Hovered'">Hover me</button>
<a href=/file.bin download>download</a><div style=height:3000px></div>
<button id=low onclick="this.textContent='clicked low'">Low button</button>"""
SHADOW = """<!doctype html><title>Shadow</title><x-a></x-a><script>class A extends HTMLElement{constructor(){super();
const r=this.attachShadow({mode:'open'});r.innerHTML='<label>Open shadow <input id=i></label>'
+'<button onclick="this.textContent=`hit`">In shadow</button><x-b></x-b>'}}
class B extends HTMLElement{constructor(){super();const r=this.attachShadow({mode:'closed'});
r.innerHTML='<button onclick="document.title=`closed hit`">In closed shadow</button>'}}
customElements.define('x-b',B);customElements.define('x-a',A)</script>"""
FEED = """<!doctype html><title>Feed</title><ul id=u></ul><script>let n=0;function more(){for(let i=0;i<20;i++){
const l=document.createElement('li');l.innerHTML='<h3>Post '+(++n)+'</h3><p>Text '+n+'.</p><button>Like</button>';
u.append(l)}}more();addEventListener('scroll',()=>{if(innerHeight+scrollY>document.body.scrollHeight-300&&n<500)more()})
</script>"""
LOGIN = """<!doctype html><title>Login</title>
<form onsubmit="event.preventDefault();document.title='in as '+p.value.length">
<label>User <input id=user></label><label>Password <input type=password id=p></label><button>Log in</button></form>
<button onclick="p.type='text'">Show</button><button onclick="out.textContent=p.value">Copy</button><p id=out></p>"""
EMBED = """<!doctype html><title>INNER</title><h2>Embedded page</h2><label>Card <input name=card></label>
<button onclick="document.title='paid'">Pay</button>
<button onclick="document.title='c '+confirm('inner confirm?')">Inner confirm</button>
<iframe src=//deep.test/ title=Deep></iframe>"""
MOVING = """<!doctype html><title>Moving</title><canvas id=c width=900 height=500></canvas><input autofocus><script>
const x=c.getContext('2d');let n=0;(function f(){n++;x.fillStyle='hsl('+n%360+',80%,50%)';x.fillRect(0,0,900,500);
requestAnimationFrame(f)})()</script>"""
STORE = """<!doctype html><title>Store</title><p id=o></p><script>o.textContent='visits '+(localStorage.n||0);
localStorage.n=1+(+localStorage.n||0)</script>
<button onclick="localStorage.clear()">Clear</button>"""
REACHING = """<!doctype html><title>Reaching</title><iframe src=//evil.test/frame></iframe><iframe srcdoc="<script>
fetch('http://evil.test/srcdoc',{mode:'no-cors'}).catch(()=>0)</script>"></iframe><img src=//evil.test/image.png>
<link rel=stylesheet href=//evil.test/style.css><iframe src=//embed.test/></iframe><p id=o></p>
<button onclick="open('//evil.test/popup')">Pop up</button><script>
const reach = "fetch('http://evil.test/worker',{mode:'no-cors'}).catch(()=>0).then(()=>postMessage('done'))";
const quiet = () => 0;
(async () => {
  navigator.sendBeacon('//evil.test/beacon', 'x');
  for (const url of ['//evil.test/fetch', '/redirect?to=http://evil.test/redirected', 'http://lab.test:81/port'])
    await fetch(url, {mode: 'no-cors'}).catch(quiet);
  const worker = new Worker(URL.createObjectURL(new Blob([reach])));
  await new Promise((done) => { worker.onmessage = done });
  try { new SharedWorker('/shared.js') } catch {}
  navigator.serviceWorker?.register('/service.js').catch(quiet);
  await fetch('//evil.test/keepalive', {mode: 'no-cors', keepalive: true}).catch(quiet);
  o.textContent = 'tried everything';
})()</script>"""
PAGES: Mapping[tuple[str, str], str] = {
    ("lab.test", "/"): LAB,
    ("lab.test", "/second"): "<!doctype html><title>Second</title><h1>Second page</h1><p>Text</p>",
    ("lab.test", "/shadow"): SHADOW,
    ("lab.test", "/feed"): FEED,
    ("lab.test", "/login"): LOGIN,
    ("lab.test", "/moving"): MOVING,
    ("lab.test", "/store"): STORE,
    ("lab.test", "/unload"): "<!doctype html><title>Unload</title><input aria-label=Field>"
    "<script>onbeforeunload=e=>{e.preventDefault();return 'x'}</script>",
    (
        "lab.test",
        "/popup",
    ): "<!doctype html><title>Popup</title><button onclick=\"window.open('/second')\">Open</button>"
    "<a href=/second target=_blank>blank</a><button onclick=\"window.open('//evil.test/')\">Open evil</button>",
    ("lab.test", "/ways-out"): "<!doctype html><title>Ways out</title><a href=//evil.test/link>link</a>"
    '<a href="/redirect?to=http://evil.test/redirected">redirect</a>'
    "<button onclick=\"location='http://evil.test/script'\">script</button>"
    "<form action=//evil.test/form method=post><button>form</button></form><iframe src=//evil.test/frame></iframe>",
    (
        "lab.test",
        "/covered",
    ): "<!doctype html><title>Covered</title><button onclick=\"document.title='under'\">Under</button>"
    "<div id=veil onclick=\"document.title='veil'\" style='position:fixed;inset:0'></div>",
    ("lab.test", "/chooser"): "<!doctype html><title>Chooser</title><input type=file id=f style=display:none "
    "onchange=\"document.title='got '+f.files[0].name\"><button onclick=f.click()>Choose</button>",
    ("lab.test", "/reaching"): REACHING,
    ("lab.test", "/shared.js"): "fetch('http://evil.test/shared', {mode: 'no-cors'}).catch(() => 0)",
    ("lab.test", "/service.js"): "fetch('http://evil.test/service', {mode: 'no-cors'}).catch(() => 0)",
    ("lab.test", "/images"): "<!doctype html><title>Images</title><img alt='A dot' src='data:image/gif;base64,"
    "R0lGODlhAgACAIAAAAAAAP///yH5BAEAAAAALAAAAAACAAIAAAIDRAJZADs='>",
    (
        "lab.test",
        "/later",
    ): "<!doctype html><title>Later</title><script>setTimeout(()=>document.body.append('It came'),600)"
    "</script><body>Wait",
    ("lab.test", "/endless"): "<!doctype html><title>Endless</title><button onclick='for(;;);'>Loop</button>",
    (
        "lab.test",
        "/odd",
    ): "<!doctype html><title>Odd</title><p>a\u202eb\u200bc</p><script>document.body.append('\\ud800 half');"
    "alertLater=()=>alert('\\ud800');console.error('\\ud800 half')</script><button onclick=alertLater()>Half</button>",
    (
        "lab.test",
        "/huge",
    ): "<!doctype html><title>Huge</title><div id=d></div><script>let h='';for(let n=0;n<110000;n++)"
    "h+='<p>line '+n+'</p>';d.innerHTML=h</script>",
    ("lab.test", "/deep"): "<!doctype html><title>Deep</title><div id=d></div><script>let e=d;for(let n=0;n<2000;n++)"
    "e=e.appendChild(document.createElement('div'));e.textContent='the bottom'</script><p>after</p>",
    ("lab.test", "/meddling"): "<!doctype html><title>Meddling</title><button>Real</button><script>"
    "window.hermitSnapshot=()=>({pieces:['forged']});for(const p of [Element,Node,Array,String,Document,HTMLElement])"
    "for(const n of Object.getOwnPropertyNames(p.prototype))try{p.prototype[n]=()=>'forged'}catch{}</script>",
    (
        "lab.test",
        "/alerts",
    ): "<!doctype html><title>Alerts</title><button onclick=\"for(;;)alert('again')\">Start</button>",
    ("lab.test", "/noisy"): "<!doctype html><title>Noisy</title><button>Still here</button><script>setInterval(()=>{"
    "for(let n=0;n<100;n++)console.error('noise '+n+'x'.repeat(500))},20)</script>",
    (
        "lab.test",
        "/restless",
    ): "<!doctype html><title>Restless</title><script>setTimeout(()=>location.reload(),50)</script>",
    ("lab.test", "/popups"): '<!doctype html><title>Popups</title><button onclick="for(let n=0;n<30;n++)'
    "window.open('/second?'+n)\">Open all</button>",
    ("lab.test", "/parts"): "<!doctype html><title>Parts</title><h1>Parts</h1><img src=//img.test/by-gate.png>"
    "<script src=https://api.test/a.js></script><iframe src=//ads.test/by-gate></iframe>",
    ("frames.test", "/"): "<!doctype html><title>Frames</title><h1>Outer</h1><button>Outer button</button>"
    "<iframe src=//embed.test/ name=one title=Embedded width=400 height=300></iframe>"
    "<iframe srcdoc=\"<button onclick='this.textContent=`src hit`'>Srcdoc button</button>\" title=Src></iframe>",
    ("embed.test", "/"): EMBED,
    (
        "deep.test",
        "/",
    ): "<!doctype html><title>DEEP</title><button onclick=\"document.title='deep hit'\">Deep button</button>"
    "<iframe src=//deeper.test/ title=Deeper></iframe>",
    ("deeper.test", "/"): "<!doctype html><title>DEEPER</title><button>Deeper button</button>",
    ("many.test", "/"): "<!doctype html><title>Many</title><iframe src=//embed.test/></iframe>"
    + "".join(f"<iframe src=//deeper.test/?{n} width=50 height=30></iframe>" for n in range(40)),
    ("phish.test", "/"): "<!doctype html><title>Phish</title><label>Password <input type=password></label>"
    "<iframe src=http://lab.test/login width=600 height=300 title=Real></iframe>",
    ("evil.test", "/"): "<!doctype html><title>Evil</title>evil",
}


class DrivenSite:
    """The server."""

    def __init__(self, folder: Path | None = None) -> None:
        """``folder`` is served as ``files.test``."""
        self.asked: list[tuple[str, str, str]] = []
        """Method, host and path of each request."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self.asked, folder))
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="driven site", daemon=True).start()

    def hosts_asked(self) -> set[str]:
        """The host names of all requests."""
        return {host for _, host, _ in self.asked}

    def close(self) -> None:
        """Stop it."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def driven_site(folder: Path | None = None) -> Iterator[DrivenSite]:
    """One, while it is needed."""
    site = DrivenSite(folder)
    try:
        yield site
    finally:
        site.close()


def _answer(host: str, path: str, query: str, cookie: str, body: bytes) -> tuple[int, bytes, Mapping[str, str]] | None:
    """Status, body and headers of what is no file."""
    if path == "/redirect":
        return 302, b"", {"Location": parse_qs(query)["to"][0]}
    if path == "/file.bin":
        return 200, b"x" * 100_000, {"Content-Disposition": "attachment; filename=file.bin"}
    if path.startswith("/by-gate"):
        return 403, b"<title>Refused</title>", {"X-Hermit-Gate": "host-not-approved"}
    if path == "/form":
        return 200, b"<!doctype html><title>Got</title><pre>" + body[:1500].replace(b"<", b"&lt;") + b"</pre>", {}
    if path == "/cookie":
        told = f"<!doctype html><title>Cookie</title>{cookie or 'none'}".encode()
        return 200, told, {"Set-Cookie": "login=yes; Max-Age=99999; Path=/; HttpOnly"}
    if (host, path) in PAGES:
        return 200, PAGES[host, path].encode(), {}
    return None


def _file(folder: Path | None, path: str) -> tuple[int, bytes, Mapping[str, str]]:
    found = (folder / path.lstrip("/")).resolve() if folder else None
    if found is None or folder is None or not found.is_file() or not found.is_relative_to(folder.resolve()):
        return 404, b"<!doctype html><title>Not found</title>", {}
    kind = mimetypes.guess_type(found.name)[0] or "application/octet-stream"
    return 200, found.read_bytes(), {"Content-Type": kind}


def _handler(asked: list[tuple[str, str, str]], folder: Path | None) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Says nothing."""

        def do_GET(self) -> None:
            """A page, a file, or one of the special ways."""
            host, parts = (self.headers.get("Host") or "").partition(":")[0], urlsplit(self.path)
            size = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(size) if size else b""
            asked.append((self.command, host, self.path))
            answer = _answer(host, parts.path, parts.query, self.headers.get("Cookie") or "", body)
            status, shown, headers = answer or _file(folder if host == "files.test" else None, parts.path)
            self.send_response(status)
            told = {"Content-Type": "text/html; charset=utf-8", **headers, "Content-Length": str(len(shown))}
            for name, value in told.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(shown)

        do_POST = do_GET  # noqa: N815

        def do_CONNECT(self) -> None:
            """As a gate refuses a tunnel."""
            self.send_response(403)
            self.send_header("X-Hermit-Gate", "host-not-approved")
            self.send_header("Content-Length", "0")
            self.end_headers()

    return Handler
