"""``python -m tests.chaos.soak --for SECONDS``: runs of the chaos suite, one seed after the other, for that time; then
a summary in words, and as JSON in a file. What ``./hermit test --soak`` starts."""

from __future__ import annotations

import argparse
import json
import platform
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker

from tests.chaos.plan import Size
from tests.chaos.run import Outcome, run_seed

_SIZE = Size(duration_s=24.0, messages=48, faults=16, entries=3, stops=3)


@dataclass
class Tally:
    """All runs so far."""

    seeds: list[int] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    complaints: dict[int, list[str]] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """One more run."""
        self.seeds.append(outcome.plan.seed)
        self.faults += outcome.faults
        self.counts += outcome.counts
        self.seconds += outcome.seconds
        if outcome.complaints:
            self.complaints[outcome.plan.seed] = outcome.complaints

    def as_json(self, engine: str) -> dict[str, Any]:
        """For a program."""
        return {
            "seconds": round(self.seconds),
            "seeds": self.seeds,
            "faults": dict(sorted(self.faults.items())),
            "counts": dict(sorted(self.counts.items())),
            "complaints": self.complaints,
            "machine": {"system": platform.platform(), "python": platform.python_version(), "engine": engine},
        }

    def in_words(self) -> str:
        """For a person."""
        parts = [f"{len(self.seeds)} runs in {self.seconds / 60:.0f} minutes, {sum(self.faults.values())} faults:"]
        parts += [f"  {times:6}  {kind}" for kind, times in sorted(self.faults.items())]
        parts += ["What people and agents did meanwhile:"]
        parts += [f"  {times:6}  {what}" for what, times in sorted(self.counts.items())]
        lost = sum(map(len, self.complaints.values()))
        parts.append(f"What was lost, doubled or left behind: {lost or 'nothing'}")
        parts += [f"  seed {seed}: {one}" for seed, found in self.complaints.items() for one in found]
        return "\n".join(parts)


def main(arguments: list[str]) -> int:
    """0 when nothing was lost."""
    options = _parser().parse_args(arguments)
    client = docker.from_env(timeout=60)
    engine = str(client.version()["Version"])
    folder = Path(options.out or tempfile.mkdtemp(prefix="hermit-soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    seed = random.SystemRandom().randrange(1, 1_000_000) if options.seed is None else options.seed
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing of a run is left then either
    tally, end = Tally(), time.monotonic() + options.seconds
    try:
        while time.monotonic() < end:
            _run(seed, tally, folder, client, options.restart_engine)
            (folder / "summary.json").write_text(json.dumps(tally.as_json(engine), indent=1), encoding="utf-8")
            seed += 1
    except KeyboardInterrupt:
        print("Ended early.", file=sys.stderr)  # noqa: T201 - a program that prints
    finally:
        client.close()
    print(f"{tally.in_words()}\nThe same as JSON: {folder / 'summary.json'}")  # noqa: T201 - the same
    return 1 if tally.complaints else 0


def _run(seed: int, tally: Tally, folder: Path, client: docker.DockerClient, restart_engine: str) -> None:
    with tempfile.TemporaryDirectory(prefix="hermit-chaos-") as place:
        outcome = run_seed(seed, _SIZE, Path(place), client, restart_engine=restart_engine)
    tally.add(outcome)
    verdict = "all well" if not outcome.complaints else f"{len(outcome.complaints)} COMPLAINTS"
    faults = sum(outcome.faults.values())
    print(f"seed {seed}: {outcome.seconds:.0f} s, {faults} faults, {verdict}", flush=True)  # noqa: T201 - the same
    if outcome.complaints:
        log = folder / f"seed-{seed}.log"
        log.write_text(outcome.in_words(), encoding="utf-8")
        told = "\n".join(f"  {complaint}" for complaint in outcome.complaints)
        print(f"{told}\n  what was done, and the log: {log}", flush=True)  # noqa: T201 - the same


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hermit test --soak")
    parser.add_argument("--for", dest="seconds", type=float, required=True, metavar="SECONDS")
    parser.add_argument("--seed", type=int, help="the first seed; each run takes the next")
    parser.add_argument("--out", metavar="FOLDER", help="where the summary and the logs of runs that failed go")
    parser.add_argument(
        "--restart-engine",
        default="",
        metavar="COMMAND",
        help="also restart the engine now and then, by this command; only where nobody else uses it",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
