"""The table of commands that run the command behind them, and how to find it among their words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How to find the command among a wrapper's words."""

    valued: str = ""
    """The letters of short options that take the next word."""
    long_valued: tuple[str, ...] = ()
    skips: int = 0
    """Operands of its own before the command."""
    asks_only: str = ""
    """Letters of options with which it runs nothing."""


WRAPPERS: dict[str, Wrapper] = {
    "builtin": Wrapper(),
    "busybox": Wrapper(),
    "catchsegv": Wrapper(),
    "chroot": Wrapper(skips=1),
    "chrt": Wrapper("TPD", skips=1, asks_only="pm"),
    "command": Wrapper(asks_only="vV"),
    "coproc": Wrapper(),
    "eatmydata": Wrapper(),
    "exec": Wrapper("a"),
    "faketime": Wrapper("f", skips=1),
    "fakeroot": Wrapper("lsib"),
    "firejail": Wrapper(),
    "gtimeout": Wrapper("ks", ("--kill-after", "--signal"), skips=1),
    "ionice": Wrapper("cn", ("--class", "--classdata"), asks_only="pPu"),
    "ltrace": Wrapper("aAeFlnopsuwx", asks_only="p"),
    "nice": Wrapper("n", ("--adjustment",)),
    "nohup": Wrapper(),
    "npx": Wrapper("pw", ("--package", "--workspace")),
    "nsenter": Wrapper("tSG", ("--target", "--setuid", "--setgid")),
    "numactl": Wrapper("iNmpC"),
    "prlimit": Wrapper("p"),
    "rlwrap": Wrapper(),
    "setarch": Wrapper(skips=1),
    "setpriv": Wrapper(long_valued=("--reuid", "--regid", "--groups", "--inh-caps", "--bounding-set")),
    "setsid": Wrapper(),
    "stdbuf": Wrapper("ioe", ("--input", "--output", "--error")),
    "strace": Wrapper("abeEoOpPsSuUX", asks_only="p"),
    "taskset": Wrapper(skips=1, asks_only="p"),
    "time": Wrapper("fo", ("--format", "--output")),
    "timeout": Wrapper("ks", ("--kill-after", "--signal"), skips=1),
    "torsocks": Wrapper(),
    "toybox": Wrapper(),
    "unbuffer": Wrapper(),
    "unshare": Wrapper("RwSG", ("--root", "--wd", "--setuid", "--setgid", "--propagation")),
    "xargs": Wrapper(
        "adEILnPs",
        ("--arg-file", "--delimiter", "--max-args", "--max-chars", "--max-procs"),
    ),
    "xvfb-run": Wrapper("efnpsw", ("--server-args", "--server-num")),
}

RUNNERS: dict[str, str] = {
    "bundle": "exec",
    "conda": "run",
    "hatch": "run",
    "npm": "exec",
    "pipenv": "run",
    "pnpm": "exec",
    "poetry": "run",
    "uv": "run",
    "yarn": "exec",
}
"""Tools with one subcommand that runs the rest."""
