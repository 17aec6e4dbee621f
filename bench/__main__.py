"""``python -m bench``: measures what it is told to, prints the tables, and with ``--write`` keeps them and draws the
curves. ``./hermit bench`` is the same with everything set up."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import requests

from bench import checkpoints, drawing, growth, many, peers, run, separate
from bench.figures import Found, circumstances, keep

Measure = Callable[..., Found]


@dataclass(frozen=True)
class Part:
    """What can be asked for by name."""

    name: str
    marker: str
    """Names its place on the page."""
    measure: Measure
    what: str


PARTS = (
    Part("core", "", run.measure, "turn, command, model call, file, start, each against its floor"),
    Part("many", "many", many.measure, "many cubicles at once"),
    Part("growth", "growth", growth.measure, "what things cost by how much there is of them"),
    Part("checkpoints", "checkpoint", checkpoints.measure, "points of time, beside git over the same tree"),
    Part("peers", "peer", peers.measure, "other agents and proxies, by the same scripted model"),
)


_LONG = ("calendar", "pages", "memories", "previews")
"""Left out by ``--quick``."""
_FAILURES = (RuntimeError, OSError, AssertionError, subprocess.SubprocessError, requests.RequestException)
"""What one part may end with and leave the others their turn."""


def main(arguments: Sequence[str]) -> int:
    """0 when every part could be measured."""
    options = _read(arguments)
    wanted = options.only or [name for name in _names() if _is_usual(name, options)]
    failed = [name for name in wanted if not _went_well(name, options)]
    if failed:
        print(f"Not measured: {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


def _names() -> list[str]:
    return [*(part.name for part in PARTS), *separate.PROGRAMS]


def _is_usual(name: str, options: argparse.Namespace) -> bool:
    if name == "peers":
        return bool(options.peers)
    return not (options.quick and name in _LONG)


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="hermit bench")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--only", nargs="+", choices=_names(), default=[])
    return parser.parse_args(arguments)


def _went_well(name: str, options: argparse.Namespace) -> bool:
    part = next((part for part in PARTS if part.name == name), None)
    print(f"{name}: {part.what if part else separate.PROGRAMS[name]} …", file=sys.stderr, flush=True)
    try:
        if part is None:
            separate.run(name, is_written=options.write)
        else:
            _measure(part, options)
    except _FAILURES as error:
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        return False
    return True


def _measure(part: Part, options: argparse.Namespace) -> None:
    loads, began = [os.getloadavg()[0]], time.monotonic()
    found = part.measure(is_quick=options.quick)
    loads.append(os.getloadavg()[0])
    text = f"{found.text}\n\n{circumstances(loads)} It took {time.monotonic() - began:.0f} s."
    print(text, flush=True)
    if options.write:
        keep(part.marker, "\n\n".join([*drawing.draw(found), text]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
