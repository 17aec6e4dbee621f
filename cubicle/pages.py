"""The first pages of a PDF as pictures, drawn in a container that is thrown away and has no network. It reads
``/helper/in/file.pdf`` and ``task.json`` beside it, and leaves ``/helper/out/1.png``, ``2.png`` and so on, each as soon
as it is whole, and in ``count`` how many pages the file says it has.

The file is a stranger's and may take over all that is in here. Nobody trusts the pictures: whoever asked for them reads
their first bytes as a stranger's, and never decodes them.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

IN, OUT, HERE = Path("/helper/in"), Path("/helper/out"), Path("/tmp")  # noqa: S108 - of the container
FILE = IN / "file.pdf"
ENDS_S = 75
COUNTS_S, DRAWS_S = 10, 15
_PAGES = re.compile(rb"^Pages:\s+(\d{1,6})$", re.MULTILINE)


def main() -> int:
    """The pages are there, as many as could be drawn one after the other."""
    signal.alarm(ENDS_S)  # should nobody be left who ends this container
    task = json.loads((IN / "task.json").read_text(encoding="utf-8"))
    found = _PAGES.search(_ran("pdfinfo", str(FILE), within_s=COUNTS_S))
    if found is None:
        return 1
    count = int(found[1])
    (OUT / "count").write_text(str(count), encoding="ascii")
    for number in range(1, min(count, int(task["most"])) + 1):
        if not drawn(number, int(task["long_side"])):
            return 1
    return 0


def drawn(number: int, long_side: int) -> bool:
    """This page is in its place, so many pixels high, or wide where it is wider than high."""
    page = HERE / "page.png"
    page.unlink(missing_ok=True)
    which = ("-f", str(number), "-l", str(number), "-scale-to", str(long_side))
    _ran("pdftoppm", "-png", "-singlefile", *which, str(FILE), str(page.with_suffix("")), within_s=DRAWS_S)
    if not page.is_file():
        return False
    (OUT / "new").write_bytes(page.read_bytes())
    (OUT / "new").rename(OUT / f"{number}.png")
    return True


def _ran(program: str, *arguments: str, within_s: float) -> bytes:
    """What it printed; nothing when it took too long."""
    try:
        return subprocess.run(
            [f"/usr/bin/{program}", *arguments], capture_output=True, timeout=within_s, check=False
        ).stdout
    except subprocess.TimeoutExpired:
        return b""


if __name__ == "__main__":
    sys.exit(main())
