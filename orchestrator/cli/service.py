"""``service print``: a unit for systemd that runs this install, for the machine or for one person. It only prints;
whoever installs it sees what they install."""

from __future__ import annotations

import argparse
import pwd
from pathlib import Path

from orchestrator.cli.context import Context
from orchestrator.cli.help import add_help
from orchestrator.core.errors import BadInput

STOP_S = 75
"""Longer than stopping ever takes."""

_UNIT = """\
# {where}
[Unit]
Description=HermitShell
Documentation=file://{docs}
Wants=network-online.target{engine}
After=network-online.target docker.service
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=exec
{account}Environment={home}
ExecStart={program} up
# SIGTERM leaves the cubicles running, and the next start takes them over: a restart loses no turn.
KillSignal=SIGTERM
KillMode=mixed
TimeoutStopSec={stop_s}
Restart=on-failure
RestartSec=5
UMask=0077
# `up` prints a login link, which does not belong in the journal. Errors do.
StandardOutput=null
StandardError=journal
NoNewPrivileges=yes
{walls}
[Install]
WantedBy={target}
"""
_WALLS = """\
# Whoever can talk to Docker is root on this machine: these guard against accidents.
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths={home} {root}
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
"""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    service = commands.add_parser("service", help="a systemd unit that runs this install")
    verbs = service.add_subparsers(dest="verb", metavar="VERB", required=True)
    shown = verbs.add_parser("print", help="print it: for the machine, or with --user for you alone")
    shown.add_argument("--user", action="store_true", help="for your own service manager, without root")
    shown.set_defaults(run=_print)
    add_help(service, "Run this install as a service of systemd.", "service print")
    add_help(
        shown,
        "Print a unit for systemd. Whoever installs it sees what they install.",
        "service print | sudo tee /etc/systemd/system/hermitshell.service",
        "service print --user > ~/.config/systemd/user/hermitshell.service",
    )


def unit_text(root: Path, home: Path, account: str, *, is_users: bool) -> str:
    """The text of the unit. Raises BadInput for folders that a unit can't name, or that it would hide."""
    for folder in (root, home):
        if any(ord(char) < 32 or char in '"\\$' for char in str(folder)):
            raise BadInput(
                f"{str(folder)!r} has a character in its name that no systemd unit can contain. Move it elsewhere."
            )
    if not is_users and any(folder.is_relative_to(tmp) for folder in (root, home) for tmp in ("/tmp", "/var/tmp")):  # noqa: S108 - compared
        raise BadInput("A service has a /tmp of its own: move HERMIT_HOME and the program out of /tmp first.")
    return _UNIT.format(
        where="~/.config/systemd/user/hermitshell.service" if is_users else "/etc/systemd/system/hermitshell.service",
        docs=str(root / "docs" / "running.md").replace(" ", "%20").replace("%", "%%"),
        engine="" if is_users else " docker.service",
        account="" if is_users else f"User={account}\n",
        home=_quoted(f"HERMIT_HOME={home}"),
        program=_quoted(str(root / "hermit")),
        stop_s=STOP_S,
        walls="" if is_users else _WALLS.format(home=_quoted(str(home)), root=_quoted(str(root))),
        target="default.target" if is_users else "multi-user.target",
    )


def _print(context: Context, options: argparse.Namespace) -> int:
    home = context.home.path
    print(unit_text(context.root.resolve(), home, _owner(home), is_users=options.user), end="")
    return 0


def _owner(home: Path) -> str:
    """Who runs it: whoever the install belongs to."""
    uid = home.stat().st_uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _quoted(text: str) -> str:
    """One word for systemd, with nothing in it that it would replace."""
    return '"{}"'.format(text.replace("%", "%%"))
