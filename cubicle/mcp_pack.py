"""One task, run in a container that is thrown away: lays the packages of an MCP server out as they are used, and brings
them as one archive. ``/helper/in/task.json`` says what there is; ``/helper/out/tree.tar`` is what comes of it, and
``/helper/out/report.json`` says whether it went well.

No code of a package runs here: wheels are unpacked, tarballs are unpacked, and npm does not take part. Nobody trusts
what comes out, and nobody but the container of that server unpacks it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

IN, OUT, SCRATCH = Path("/helper/in"), Path("/helper/out"), Path("/tmp")  # noqa: S108 - a tmpfs of this container alone
MOST_SAID = 500
MOST_FILES = 200_000


def main() -> None:
    """Do the task, and leave a report whatever comes of it."""
    task = json.loads((IN / "task.json").read_text(encoding="utf-8"))
    tree = SCRATCH / "tree"
    tree.mkdir()
    try:
        lay_wheels(task, tree) if task["system"] == "pip" else lay_tarballs(task, tree)
        with tarfile.open(OUT / "tree.tar", "w", format=tarfile.GNU_FORMAT) as archive:
            archive.add(tree, arcname=".")
        report = {"ok": True, "said": ""}
    except (OSError, ValueError, tarfile.TarError, subprocess.SubprocessError) as error:
        report = {"ok": False, "said": str(error)[-MOST_SAID:]}
    (OUT / "report.json").write_text(json.dumps(report), encoding="utf-8")


def lay_wheels(task: dict[str, Any], tree: Path) -> None:
    """All wheels in one folder, with the programs that they name in its ``bin``."""
    files = [str(IN / package["file"]) for package in task["packages"]]
    own = {"PATH": "/usr/bin:/bin", "HOME": str(SCRATCH), "TMPDIR": str(SCRATCH), "LANG": "C.UTF-8"}
    options = ["--no-index", "--no-deps", "--no-cache-dir", "--disable-pip-version-check", "--target", str(tree)]
    ran = subprocess.run(
        ["/usr/bin/pip", "install", "--quiet", *options, *files],
        env=own | {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INPUT": "1"},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if ran.returncode:
        raise ValueError(ran.stderr)


def lay_tarballs(task: dict[str, Any], tree: Path) -> None:
    """Each tarball in every place that the list has for it."""
    for package in task["packages"]:
        for place in package["places"]:
            with tarfile.open(IN / package["file"]) as archive:
                lay_files(archive, tree / place)


def lay_files(archive: tarfile.TarFile, folder: Path) -> None:
    """Its files without the first folder of their names; links are left out, as npm leaves them out."""
    for count, member in enumerate(archive):
        if count > MOST_FILES:
            raise ValueError("a package has too many files")
        parts = Path(member.name).parts[1:]
        content = archive.extractfile(member) if member.isreg() and parts and ".." not in parts else None
        if content is None:
            continue
        path = folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        with content, path.open("wb") as file:
            shutil.copyfileobj(content, file)
        path.chmod(0o755 if member.mode & 0o100 else 0o644)


if __name__ == "__main__":
    main()
