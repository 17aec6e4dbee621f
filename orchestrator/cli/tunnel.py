"""How somebody on another computer reaches a dashboard that only this machine can see: the line to type there."""

from __future__ import annotations

import getpass
import ipaddress
import socket
import sys
from collections.abc import Mapping

from orchestrator.core.config import Settings


def has_browser(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a browser that opens here would be seen by whoever typed the command."""
    if environment.get("BROWSER"):
        return True
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return False
    return platform == "darwin" or any(
        environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")
    )


def ssh_command(settings: Settings, environment: Mapping[str, str]) -> str:
    """The ``ssh`` command that brings the dashboard and the web apps to the computer it is typed on. Empty where it
    isn't needed: a browser is here, or others reach the dashboard anyway."""
    if has_browser(environment) or settings.public_url or settings.is_in_the_open:
        return ""
    host, port = _where(environment)
    here = f"[{settings.host}]" if ":" in settings.host else settings.host
    ways = " ".join(f"-L {number}:{here}:{number}" for number in (settings.port, settings.preview_port))
    return f"ssh {f'-p {port} ' if port != '22' else ''}{ways} {_user(environment)}@{host}"


def _where(environment: Mapping[str, str]) -> tuple[str, str]:
    """The address and port under which this machine was reached by SSH, else its name."""
    parts = environment.get("SSH_CONNECTION", "").split()
    if len(parts) == 4 and parts[3].isdecimal():
        try:
            return str(ipaddress.ip_address(parts[2].partition("%")[0])), parts[3]
        except ValueError:
            pass
    return socket.gethostname(), "22"


def _user(environment: Mapping[str, str]) -> str:
    name = environment.get("USER") or environment.get("LOGNAME")
    if name:
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number that no name belongs to
        return "USER"
