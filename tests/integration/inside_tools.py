"""What runs inside a cubicle, not on the host: a piece of real work for each tool of the images, and what it prints."""

from __future__ import annotations

from orchestrator.engine.setup.cubicle_image import Target

WORKS: list[tuple[str, Target, str, str]] = [
    # name, image, script, the words that it prints
    (
        "git",
        "base",
        """git init -q r; cd r; git config user.email a@b; git config user.name n; echo x >f
        git add f; git commit -qm m; git log --oneline | wc -l""",
        "1",
    ),
    (
        "search",
        "base",
        """echo '{"a": [1, 2]}' >a.json; jq -c .a a.json; rg -c a a.json; tree --noreport | head -n 1""",
        "[1,2] 1 .",
    ),
    (
        "archives",
        "base",
        """echo hi >a; zip -q z a; rm a; unzip -q z; tar cf t.tar a; xxd -p a; file -b --mime-type z.zip; bc <<<2+3""",
        "68690a application/zip 5",
    ),
    (
        "sqlite",
        "base",
        """sqlite3 d 'create table t(a); insert into t values(1); select sum(a) from t; pragma journal_mode=wal'""",
        "1 wal",
    ),
    (
        "patches",
        "base",
        """echo a >a; echo b >b; diff -u a b >p || true; patch -s a p; cat a; ps -o comm= | grep -c bash""",
        "b 1",
    ),
    (
        "web server in Python",
        "base",
        """echo hello >index.html; python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 &
        curl -s --retry 20 --retry-connrefused --retry-delay 1 http://127.0.0.1:8000/""",
        "hello",
    ),
    (
        "web server in Node",
        "base",
        """cat >s.js <<'END'
require("http").createServer((_, r) => r.end("hi")).listen(8001, "127.0.0.1", async () => {
    console.log(await (await fetch("http://localhost:8001/")).text());
    process.exit();
});
END
        node s.js""",
        "hi",
    ),
    (
        "node",
        "base",
        """cat >n.js <<'END'
const fs = require("fs");
fs.writeFileSync("a", "x");
fs.watch(".").close();
console.log(require("child_process").execSync("cat a").toString());
WebAssembly.instantiate(Buffer.from("0061736d01000000", "hex")).then(() => console.log("wasm"));
new (require("worker_threads").Worker)("setTimeout(() => console.log(42), 100)", { eval: true });
END
        node n.js""",
        "x wasm 42",
    ),
    (
        "terminals",
        "base",
        """python3 -c 'import pty; pty.spawn(["stty", "size"])' </dev/null | tr -d '\\r'""",
        "0 0",
    ),
    (
        "limits and niceness",
        "base",
        """ulimit -n 512; ulimit -n; nice -n 5 true; timeout 5 true; mkfifo f; umask""",
        "512 0022",
    ),
    (
        "tables",
        "studio",
        """cat >t.py <<'END'
import numpy, openpyxl, pandas
pandas.DataFrame({"a": [1, 2]}).to_excel("t.xlsx")
print(pandas.read_excel("t.xlsx").a.sum(), int(numpy.linalg.det(numpy.eye(2))))
END
        python3 t.py""",
        "3 1",
    ),
    (
        "plots",
        "studio",
        """cat >p.py <<'END'
import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot
pyplot.plot([1, 2])
pyplot.savefig("p.png")
END
        python3 p.py 2>/dev/null; identify -format %m p.png""",
        "PNG",
    ),
    (
        "documents",
        "studio",
        """cat >d.py <<'END'
import docx, pypdf
from reportlab.pdfgen.canvas import Canvas
canvas = Canvas("a.pdf")
canvas.drawString(9, 9, "x")
canvas.save()
docx.Document().save("a.docx")
print(len(pypdf.PdfReader("a.pdf").pages))
END
        python3 d.py; ls a.docx""",
        "1 a.docx",
    ),
    (
        "video",
        "studio",
        """in="-v error -f lavfi -i testsrc=d=1:s=64x64"
        ffmpeg $in -f lavfi -i sine=d=1 -c:v libx264 -c:a aac v.mp4
        ffmpeg $in -c:v libx265 -x265-params log-level=error w.mp4
        ffprobe -v error -show_entries stream=codec_name -of csv=p=0 v.mp4""",
        "h264 aac",
    ),
    (
        "pictures",
        "studio",
        """convert -size 32x32 xc:red -rotate 45 -font DejaVu-Sans -pointsize 8 -annotate 0 hi a.png
        python3 -c 'from PIL import Image; print(Image.open("a.png").format)'""",
        "PNG",
    ),
]

PARALLEL = """
import asyncio, concurrent.futures, multiprocessing, os, select, signal, socket, subprocess

async def child():
    process = await asyncio.create_subprocess_exec("echo", "async", stdout=subprocess.PIPE)
    return (await process.communicate())[0].decode().strip()

async def serve():
    server = await asyncio.start_server(lambda r, w: (w.write(b"ok"), w.close()), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
    got = await reader.read()
    writer.close(); server.close()
    return got.decode()

if __name__ == "__main__":
    print(subprocess.run(["echo", "sub"], capture_output=True, text=True).stdout.strip())
    print(asyncio.run(child()), asyncio.run(serve()))
    with concurrent.futures.ThreadPoolExecutor(4) as pool: print(sum(pool.map(abs, range(-4, 1))))
    for way in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(way).Pool(2) as pool: print(sum(pool.map(abs, [-1, 2])))
    queue = multiprocessing.Queue(); queue.put(7); print(queue.get())
    sleeper = subprocess.Popen(["sleep", "60"]); fd = os.pidfd_open(sleeper.pid); sleeper.terminate()
    print(bool(select.select([fd], [], [], 5)[0]), sleeper.wait() == -signal.SIGTERM)
    left, right = socket.socketpair(); left.send(b"x"); print(right.recv(1).decode())
"""
