"""``test``: everything that the tests need, then the whole suite on the real engine, or with ``--changed`` the tests
that a change can reach; or, for as long as one likes, storms of faults with ``--soak``, or with ``--fuzz`` all that a
machine can think of for readers of strangers' words."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from orchestrator.cli.changed_tests import choose_tests, list_changed_files
from orchestrator.cli.context import Context
from orchestrator.cli.help import add_help
from orchestrator.core.errors import BadInput
from orchestrator.engine.setup.cubicle_image import ensure_image
from orchestrator.engine.setup.docker_setup import ensure_engine
from orchestrator.engine.setup.test_tools import ensure_test_tools

_SHARED_MARKS = ("docker", "model", "thirdparty")
"""Marks of the tests that share one engine or one model; all others run side by side."""
_SHARED = " or ".join(_SHARED_MARKS)

_SECOND_TRIES = 3
"""So many failed tests of a whole suite are tried once more by themselves; more are not the machine's doing."""

_NEVER_AGAIN = ("tests/adversarial/", "tests/chaos/", "tests/fuzz/", "tests/integration/")
"""What is lost or leaked once is lost or leaked: nothing here gets a second try."""

_TESTS_FAILED = 1
"""pytest's exit code when tests ran and some failed; others are for what went wrong with the run."""

_NO_TESTS = 5
"""pytest's exit code when there was no test to run."""

_HANGS_S = 300
"""A property that takes so much longer than all were given hangs: where, is told, and the run ends."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    test = commands.add_parser(
        "test",
        help="set up for the tests, then run them; arguments go to pytest",
        usage="hermit test [PYTEST ARGS | --changed [REF] [PYTEST ARGS] |\n"
        "                   --soak TIME [--seed N] [--out DIR] [--restart-engine COMMAND] | --fuzz TIME]",
    )
    _add_changed(test)
    _add_soak(test)
    _add_fuzz(test)
    test.set_defaults(run=run)
    add_help(
        test,
        "Set up what the tests need, then run them on the real engine. Arguments go to pytest.",
        "test",
        "test tests/unit -q",
        "test --changed",
        "test --changed main -q",
        "test --soak 30m",
    )


def _add_changed(parser: argparse.ArgumentParser) -> None:
    changed = parser.add_argument_group("only the tests that a change can reach")
    changed.add_argument(
        "--changed", metavar="REF", nargs="?", const="HEAD", help="what differs from this commit; by default the last"
    )


def _add_soak(parser: argparse.ArgumentParser) -> None:
    soak = parser.add_argument_group("storms of faults instead of the tests")
    soak.add_argument("--soak", metavar="TIME", default="", help="break things for so long, such as 90s, 30m or 2h")
    soak.add_argument("--seed", type=int, help="the first run's seed; each run takes the next")
    soak.add_argument("--out", metavar="DIR", default="", help="where the summary and the logs of runs that failed go")
    soak.add_argument(
        "--restart-engine",
        metavar="COMMAND",
        default="",
        help="also restart the engine now and then, by this command; only where nobody else uses it",
    )


def _add_fuzz(parser: argparse.ArgumentParser) -> None:
    fuzz = parser.add_argument_group("property tests alone, with other examples each time")
    fuzz.add_argument("--fuzz", metavar="TIME", default="", help="try for so long in all, such as 90s, 30m or 2h")


def run(context: Context, options: argparse.Namespace) -> int:
    """The exit code of pytest; of its first round that failed, where there are two. Of the whole suite, a test or two
    that failed beside all others may try once more alone: if that goes well, they are named as unsteady."""
    if any(argument.partition("=")[0] == "--soak" for argument in options.rest):
        return _soak(context, options.rest)
    if any(argument.partition("=")[0] == "--fuzz" for argument in options.rest):
        return _fuzz(context, options.rest)
    rounds = _rounds(options.rest)
    if any(argument.partition("=")[0] == "--changed" for argument in options.rest):
        rounds = _changed(context, options.rest)
        if not rounds:
            return 0
    elif len(rounds) > 1:
        rounds[1] += list_marked_files(context.root, _SHARED_MARKS)  # nobody need collect the others once more
    machine, progress = context.machine, context.progress
    client = ensure_engine(machine, progress)
    for target in ("base", "studio"):
        ensure_image(client, target, machine=machine, progress=progress, root=context.root)
    client.close()
    ensure_test_tools(machine, progress, context.root)
    environment = _untouched(context)
    os.chdir(context.root)
    codes = [_pytest(arguments, environment) for arguments in rounds]
    if len(rounds) > 1:  # a round of which nothing was chosen
        codes = [0 if code == _NO_TESTS else code for code in codes]
    code = next((code for code in codes if code), 0)
    unlucky = second_tries(context.root / ".pytest_cache") if len(rounds) > 1 else []
    if not unlucky or any(code not in (0, _TESTS_FAILED) for code in codes):
        return code
    print(f"\n== once more, alone: {', '.join(unlucky)}", flush=True)
    if code := _pytest(unlucky, environment):
        return code
    print(
        "\n== unsteady, since they failed beside the others and held alone; each is a defect, of the test or of ours:"
    )
    print("\n".join(unlucky))
    return 0


def list_marked_files(root: Path, marks: tuple[str, ...]) -> list[str]:
    """The test files, from the repository's root, in which one of these marks is named."""
    named = re.compile(rf"\bmark\.(?:{'|'.join(marks)})\b")
    files = sorted((root / "tests").rglob("test_*.py"))
    return [str(file.relative_to(root)) for file in files if named.search(file.read_text(encoding="utf-8"))]


def second_tries(cache: Path) -> list[str]:
    """The failed tests of the last run that may try once more; none of them, where one may not or they are many.

    Args:
        cache: pytest's cache, where it writes down what failed.
    """
    try:
        failed = list(json.loads((cache / "v" / "cache" / "lastfailed").read_text()))
    except FileNotFoundError:
        return []
    may_all = all("::" in name and not name.startswith(_NEVER_AGAIN) for name in failed)
    return failed if may_all and len(failed) <= _SECOND_TRIES else []


def _pytest(arguments: list[str], environment: dict[str, str]) -> int:
    return subprocess.run([sys.executable, "-P", "-m", "pytest", *arguments], env=environment, check=False).returncode


def parse_seconds(text: str, option: str = "--soak") -> float:
    """``90s``, ``30m`` or ``2h`` in seconds; a number alone is minutes. Raises BadInput."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d+)?)([smh]?)", text.strip())
    if found is None or float(found[1]) <= 0:
        raise BadInput(f"{option} {text[:40]}: say how long, such as 90s, 30m or 2h.")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2] or "m"]


def _soak(context: Context, given: list[str]) -> int:
    """0 when nothing was lost."""
    parser = argparse.ArgumentParser(prog="hermit test")
    _add_soak(parser)
    options = parser.parse_args(given)
    wanted = ["--for", str(parse_seconds(options.soak)), "--restart-engine", options.restart_engine]
    wanted += ["--out", str(Path(options.out).resolve())] if options.out else []
    wanted += [] if options.seed is None else ["--seed", str(options.seed)]
    client = ensure_engine(context.machine, context.progress)
    ensure_image(client, "base", machine=context.machine, progress=context.progress, root=context.root)
    client.close()
    return subprocess.run(
        [sys.executable, "-P", "-m", "tests.chaos.soak", *wanted],
        env={**_untouched(context), "PYTHONPATH": str(context.root)},
        cwd=context.root,
        check=False,
    ).returncode


def _fuzz(context: Context, given: list[str]) -> int:
    """The exit code of pytest; no engine is needed."""
    parser = argparse.ArgumentParser(prog="hermit test")
    _add_fuzz(parser)
    options, chosen = parser.parse_known_args(given)
    for_s = parse_seconds(options.fuzz, "--fuzz")
    wanted = ["-p", "tests.fuzzing", "--fuzz-for", str(for_s), "-n", str(os.cpu_count() or 1)]
    wanted += [
        "-o",
        f"faulthandler_timeout={int(for_s) + _HANGS_S}",
        "-o",
        "faulthandler_exit_on_timeout=true",
        "--show-capture=no",
    ]
    places = [] if any(not argument.startswith("-") for argument in chosen) else ["tests/fuzz", "tests/unit"]
    return subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *wanted, *chosen, *places],
        env={**_untouched(context), "HYPOTHESIS_PROFILE": "long"},
        cwd=context.root,
        check=False,
    ).returncode


def _changed(context: Context, given: list[str]) -> list[list[str]]:
    """The rounds with what the change can reach, which is said; none where it reaches nothing."""
    parser = argparse.ArgumentParser(prog="hermit test")
    _add_changed(parser)
    options, others = parser.parse_known_args(given)
    changed = list_changed_files(context.root, options.changed)
    if not changed:
        print(f"== nothing differs from {options.changed}", flush=True)
        return []
    chosen = choose_tests(context.root, changed)
    if chosen is None:
        print("== every test, since what every test stands on has changed", flush=True)
        return _rounds(others)
    print(f"== {len(changed)} changed files reach {len(chosen)} test files", flush=True)
    return [[*arguments, *chosen] for arguments in _rounds(others)] if chosen else []


def _untouched(context: Context) -> dict[str, str]:
    """The environment, without what would reach an install of somebody's."""
    return {name: value for name, value in context.environment.items() if not name.startswith("HERMIT_")}


def _rounds(given: list[str]) -> list[list[str]]:
    """Without a choice of tests in what was given: first those that only need a processor, more of them at a time than
    there are processors, since many wait, then the others, each file's one by one and some files at a time."""
    if not all(argument.startswith("-") for argument in given):
        return [given]
    processors = os.cpu_count() or 1
    quick = ["-m", f"not ({_SHARED})", "-n", str(processors + 2), "--dist", "worksteal"]  # else one does the last alone
    # In their own order: by the number of its tests, the file with the few longest would come last, beside nothing.
    shared = ["-m", _SHARED, "-n", str(processors + 1), "--dist", "loadfile", "--no-loadscope-reorder"]
    return [["--cache-clear", *quick, *given], [*shared, *given]]
