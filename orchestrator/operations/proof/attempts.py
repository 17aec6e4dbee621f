"""The twelve attempts: what each is called, what it tries in plain words, which answers mean that it was stopped, and
whether the host watches it. Data only; ``inside.py`` does them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DONE, NOTHING, TIMEOUT = "done", "nothing", "timeout"
UNRESOLVED, REFUSED, LIMITED = "unresolved", "refused", "limited"
"""What a try may answer beside the name of an error: it worked; there was nothing to be found; silence; no such name is
known; somebody answered and said no; there is a limit, which was read and not reached."""

_NO_NETWORK = frozenset({"ENETUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT", "ENETDOWN", "EPERM", "EACCES"})
_NO_RIGHT = frozenset({"EPERM", "EACCES", "EROFS", "ENOSYS", "ENOENT", "ENOTDIR", NOTHING})
_LOST_NETWORK = "Stop this agent, then check that nothing has joined its container to a network ('docker network ls')."
_NO_WALL = "Stop this agent. Update Docker and its runtime, then run './hermit doctor', which checks the same wall."


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way out."""

    id: str
    title: str
    tried: str
    """What is done, in a sentence."""
    tries: Mapping[str, str]
    """Each try by its name, and in a few words."""
    stopped_by: frozenset[str]
    """Answers that mean that a wall stood in the way."""
    fix: str
    """What to do if it is not held."""
    passed_by: frozenset[str] = frozenset()
    """Answers beside ``done`` that mean that none did."""
    is_watched: bool = False
    """The host knows by itself whether it worked."""
    doubted: frozenset[str] = frozenset()
    """Tries whose answers say nothing, as the agent can arrange them: here the host's own knowledge alone counts."""


ATTEMPTS: tuple[Attempt, ...] = (
    Attempt(
        "internet",
        "Connect to the internet",
        "Connects to servers on the internet by their numbers, to the address that hands out a cloud machine’s "
        "passwords, and sends a packet into the void.",
        {
            "server": "connect to 1.1.1.1",
            "other_server": "connect to 9.9.9.9",
            "ipv6": "connect over IPv6",
            "metadata": "connect to 169.254.169.254",
            "packet": "send a packet",
        },
        _NO_NETWORK,
        _LOST_NETWORK,
        frozenset({TIMEOUT, "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH"}),
    ),
    Attempt(
        "machine",
        "Reach this computer",
        "HermitShell opens a port on this computer for a moment. The agent tries to deliver a secret word to it.",
        {
            "address": "connect to its address",
            "loopback": "connect to 127.0.0.1",
            "gateway": "connect through a gateway",
        },
        _NO_NETWORK | {NOTHING},
        _LOST_NETWORK,
        frozenset({TIMEOUT, "ECONNREFUSED", "EHOSTUNREACH"}),
        is_watched=True,
        doubted=frozenset({"loopback"}),
    ),
    Attempt(
        "name",
        "Look up a name",
        "Asks for the address of example.com, as each looked-up name could carry a secret away.",
        {"resolver": "look up example.com", "packet": "send the question as a packet", "own": "ask this computer"},
        _NO_NETWORK | {UNRESOLVED, "ECONNREFUSED"},
        _LOST_NETWORK,
        frozenset({TIMEOUT}),
        is_watched=True,
    ),
    Attempt(
        "files",
        "Read other agents’ files",
        "HermitShell lays out a file with a secret word beside the other agents’ files. The agent looks for it by "
        "every path it could have, and for raw disks.",
        {
            "path": "read it where it lies",
            "root": "through another process’s root folder",
            "mounts": "where hosts are usually mounted",
            "disks": "open a raw disk",
        },
        _NO_RIGHT,
        "Stop this agent. Something has mounted your folders into its container: './hermit doctor' shows what.",
        is_watched=True,
        doubted=frozenset({"path", "root", "mounts"}),
    ),
    Attempt(
        "key",
        "Find your model key",
        "Searches every environment and settings file within reach for keys. HermitShell compares what was found with "
        "your real keys, by their fingerprints.",
        {"environment": "search environments", "settings": "read settings files"},
        _NO_RIGHT,
        "Stop this agent and replace your keys with new ones at your provider.",
        is_watched=True,
        doubted=frozenset({"environment", "settings"}),
    ),
    Attempt(
        "programs",
        "See and control other programs",
        "HermitShell runs something under a secret name. The agent looks through all programs for it, and tries to "
        "take control of one as a debugger does.",
        {
            "strangers": "find programs of other users",
            "names": "find the secret name",
            "debugger": "take control as a debugger",
        },
        _NO_RIGHT,
        _NO_WALL,
        is_watched=True,
    ),
    Attempt(
        "engine",
        "Command the container engine",
        "Looks for Docker’s control socket and its like. Whoever can talk to it owns the computer.",
        {
            "docker": "/run/docker.sock",
            "docker_too": "/var/run/docker.sock",
            "podman": "/run/podman/podman.sock",
            "containerd": "/run/containerd/containerd.sock",
            "tcp": "port 2375",
        },
        _NO_RIGHT | {"ECONNREFUSED", "ENETUNREACH"},
        "Stop this agent. Something has mounted the engine’s socket into its container: './hermit doctor' shows it.",
    ),
    Attempt(
        "root",
        "Become the administrator",
        "Asks to be root, looks for programs that give root away and for special privileges, and tries to make a world "
        "of its own in which it is root.",
        {
            "setuid": "become root",
            "programs": "find a program that runs as root",
            "capabilities": "have a privilege",
            "namespace": "be root in a world of its own",
        },
        _NO_RIGHT | {"EINVAL"},
        _NO_WALL,
    ),
    Attempt(
        "system",
        "Change the system",
        "Tries to put a file among the system’s programs and settings, your uploads, and into its line to HermitShell.",
        {
            "programs": "/usr/bin",
            "settings": "/etc",
            "top": "/",
            "uploads": "your uploads",
            "snapshots": "HermitShell’s data",
            "door": "the line to HermitShell",
        },
        _NO_RIGHT,
        _NO_WALL,
    ),
    Attempt(
        "kernel",
        "Tamper with the kernel",
        "Tries to load a driver, mount a disk, change the kernel’s settings, and listen in on network traffic.",
        {
            "driver": "load a driver",
            "mount": "mount a file system",
            "setting": "change a kernel setting",
            "trigger": "press the kernel’s emergency key",
            "traffic": "listen in on traffic",
        },
        _NO_RIGHT | {"EAFNOSUPPORT", "EPROTONOSUPPORT"},
        _NO_WALL,
        frozenset({"EFAULT", "ENOEXEC", "EINVAL"}),
    ),
    Attempt(
        "door",
        "Act as another agent",
        "Uses its own line to HermitShell to ask for the list of agents and for settings, and to speak in the middle "
        "of another agent’s work.",
        {
            "dashboard": "ask for all agents",
            "settings": "ask for settings",
            "other": "ask in another agent’s name",
            "doors": "find another agent’s line",
        },
        frozenset({REFUSED, NOTHING, "ENOENT", "EACCES", "EPERM"}),
        "Stop this agent and report it as a security problem of HermitShell.",
    ),
    Attempt(
        "share",
        "Use up your computer",
        "Starts programs until it is stopped at its limit, and writes behind the largest size that a file may have.",
        {"programs": "start too many programs", "file": "write too large a file"},
        frozenset({"EAGAIN", "ENOMEM", "EFBIG", "ENOSPC", "EDQUOT", LIMITED}),
        "Check that Docker can limit containers ('docker info' warns where it can’t), then run './hermit doctor'.",
    ),
)
BY_ID: Mapping[str, Attempt] = {attempt.id: attempt for attempt in ATTEMPTS}
