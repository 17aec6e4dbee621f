"""The cubicle's system-call filter, read as data: what it never allows, and that it says so in a sound way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engine.docker.seccomp import seccomp_filter

PROFILE = json.loads(Path(__file__).resolve().parents[3].joinpath("cubicle/seccomp.json").read_text(encoding="utf-8"))
RULES: list[dict[str, Any]] = PROFILE["syscalls"]
ALLOWED = {name for rule in RULES if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}
FREELY = {name for rule in RULES if rule["action"] == "SCMP_ACT_ALLOW" and "args" not in rule for name in rule["names"]}

NEVER = """
    acct add_key adjtimex bpf chroot clock_adjtime clock_settime clone3 create_module delete_module
    fanotify_init finit_module fsconfig fsmount fsopen fspick get_mempolicy init_module io_cancel
    io_destroy io_getevents io_pgetevents io_setup io_submit io_uring_enter io_uring_register
    io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl landlock_create_ruleset
    lookup_dcookie mbind memfd_secret migrate_pages modify_ldt mount mount_setattr move_mount move_pages
    mq_open name_to_handle_at nfsservctl open_by_handle_at open_tree perf_event_open pidfd_getfd
    pivot_root process_madvise process_vm_readv process_vm_writev ptrace quotactl quotactl_fd reboot
    remap_file_pages request_key seccomp set_mempolicy setdomainname sethostname setns settimeofday
    socketcall stime swapoff swapon syslog umount umount2 unshare uselib userfaultfd ustat vhangup vm86
    vmsplice
""".split()  # noqa: SIM905 - eighty names read better without quotes


def test_everything_is_refused_by_default() -> None:
    """What the list does not name is an error, on the two 64-bit machines and through no older entry."""
    assert PROFILE["defaultAction"] == "SCMP_ACT_ERRNO"
    assert "architectures" not in PROFILE
    assert {entry["architecture"]: entry["subArchitectures"] for entry in PROFILE["archMap"]} == {
        "SCMP_ARCH_X86_64": [],
        "SCMP_ARCH_AARCH64": [],
    }


@pytest.mark.parametrize("name", NEVER)
def test_dangerous_calls_are_not_allowed(name: str) -> None:
    """Neither freely nor with some arguments."""
    assert name not in ALLOWED


@pytest.mark.parametrize(
    "name",
    [
        "clone",
        "fallocate",
        "ioctl",
        "mknod",
        "mknodat",
        "personality",
        "prlimit64",
        "setrlimit",
        "socket",
        "socketpair",
    ],
)
def test_calls_with_two_faces_are_allowed_by_their_arguments_only(name: str) -> None:
    """A rule without arguments would let everything through."""
    assert name in ALLOWED
    assert name not in FREELY


def test_arguments_are_compared_as_the_kernel_reads_them() -> None:
    """Where the kernel takes 32 bits, a comparison of all 64 is got round with a high bit: masks only."""
    compared = [(rule["names"], argument) for rule in RULES for argument in rule.get("args", ())]
    exact = {name for names, argument in compared if argument["op"] != "SCMP_CMP_MASKED_EQ" for name in names}
    assert exact == {"prlimit64"}  # whether a pointer is null, which is 64 bits


def test_no_rule_compares_one_argument_twice() -> None:
    """The runtime reads such a rule as two alternatives, which allows more than it says."""
    for rule in RULES:
        indexes = [argument["index"] for argument in rule.get("args", ())]
        assert len(indexes) == len(set(indexes)), rule


def test_sockets_are_those_of_the_cubicle_itself() -> None:
    """Unix, and TCP or UDP over the loopback; no raw, netlink, packet, crypto or hypervisor sockets."""
    allowed = [
        {argument["index"]: argument["valueTwo"] for argument in rule["args"]}
        for rule in RULES
        if rule["names"] == ["socket"] and rule["action"] == "SCMP_ACT_ALLOW"
    ]
    inet = [(family, kind, protocol) for family in (2, 10) for kind, own in ((1, 6), (2, 17)) for protocol in (0, own)]
    assert sorted(tuple(rule.values()) for rule in allowed) == sorted([(1,), *inet])


def test_terminals_cannot_be_typed_into() -> None:
    """TIOCSTI, TIOCLINUX and TIOCSETD are none of the device controls on the list."""
    controls = {rule["args"][0]["valueTwo"] for rule in RULES if rule["names"] == ["ioctl"]}
    assert controls.isdisjoint({0x5412, 0x541C, 0x5423})
    assert {0x5401, 0x5413, 0x541B} <= controls


def test_room_is_never_taken_without_writing() -> None:
    """Giving back passes; every bit that takes room is told that the file system can't, so that programs write."""
    rules = [(rule, rule["args"][0]) for rule in RULES if rule["names"] == ["fallocate"]]
    allowed = {a["valueTwo"] for rule, a in rules if rule["action"] == "SCMP_ACT_ALLOW" and a["value"] == 0xFFFFFFFF}
    refused = {a["valueTwo"] for rule, a in rules if rule["action"] == "SCMP_ACT_ERRNO" and rule["errnoRet"] == 95}
    assert (allowed, refused) == ({3, 8}, {0, 1, 16, 32, 64, 128})
    assert {argument["index"] for _, argument in rules} == {1}


def test_core_limits_stay() -> None:
    """Every resource limit may be set but RLIMIT_CORE (4)."""
    for call, index in (("setrlimit", 0), ("prlimit64", 1)):
        arguments = [rule["args"][0] for rule in RULES if rule["names"] == [call]]
        resources = {argument["valueTwo"] for argument in arguments if argument["index"] == index}
        assert resources == set(range(16)) - {4}


def test_every_rule_says_what_it_is_for() -> None:
    """A comment each, and no call named twice in one list."""
    for rule in RULES:
        assert rule["comment"]
        assert len(rule["names"]) == len(set(rule["names"]))


def test_what_a_browser_s_own_sandbox_takes() -> None:
    """Beside the list of all: a user namespace alone, new processes also in process and network namespaces, and to
    give up what it has in them. Namespaces of mounts, groups, names and messages stay refused, and joining any."""
    own = json.loads(seccomp_filter(sandboxes_itself=True))
    assert json.loads(seccomp_filter()) == PROFILE
    added = [rule for rule in own["syscalls"] if rule not in RULES]
    taken = [rule for rule in RULES if rule not in own["syscalls"]]
    assert {key: own[key] for key in own if key != "syscalls"} == {
        key: PROFILE[key] for key in own if key != "syscalls"
    }
    assert [rule["names"] for rule in taken] == [["clone"]]
    assert [rule["names"] for rule in added] == [["clone"], ["unshare"], ["capset", "chroot"]]
    (clone,), (unshare,) = added[0]["args"], added[1]["args"]
    refused = {0x00020000: "mounts", 0x02000000: "groups", 0x04000000: "names", 0x08000000: "messages"}
    assert (clone["value"], clone["valueTwo"], clone["op"]) == (sum(refused), 0, "SCMP_CMP_MASKED_EQ")
    assert (unshare["value"], unshare["valueTwo"]) == (0xFFFFFFFF, 0x10000000)
    allowed = {name for rule in own["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}
    assert allowed & set(NEVER) == {"unshare", "chroot"}
