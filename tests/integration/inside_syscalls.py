"""Runs inside a cubicle, not on the host: tries what the system-call filter has to refuse and prints what came of it.

One JSON object: what to refuse and what to allow, each try with ``allowed``, the error, or the signal that ended it.
Each runs in a process of its own, because some end it. Numbers are those of x86-64.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import pty
import resource
import signal
import socket
import sys
from collections.abc import Callable

_libc = ctypes.CDLL(None, use_errno=True)
_AF = {"unix": 1, "inet": 2, "inet6": 10}
_IOCTL, _SOCKET, _SETRLIMIT, _PRLIMIT, _CLONE = 16, 41, 160, 302, 56
_HIGH = 1 << 32
"""A bit that the kernel ignores in 32-bit arguments; a filter that compares all 64 bits is got round with it."""


def call(number: int, *arguments: int) -> None:
    """A raw system call; raises OSError when it fails."""
    if _libc.syscall(ctypes.c_long(number), *(ctypes.c_long(a) for a in arguments)) == -1:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def raw(number: int, *arguments: int) -> Callable[[], None]:
    return lambda: call(number, *arguments)


def family(number: int, kind: int = socket.SOCK_STREAM, protocol: int = 0) -> Callable[[], None]:
    return lambda: call(_SOCKET, number, kind, protocol)


def type_into_terminal(request: int) -> Callable[[], None]:
    def attempt() -> None:
        _, terminal = pty.openpty()
        message = ctypes.create_string_buffer(b"x")
        call(_IOCTL, terminal, request, ctypes.addressof(message))

    return attempt


def ask_window_size() -> None:
    fcntl.ioctl(pty.openpty()[1], 0x5413, bytes(8))


def run_machine_code(code: bytes) -> Callable[[], None]:
    """Runs it and fails if it returned an error."""

    def attempt() -> None:
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        if result < 0:
            raise OSError(-result, os.strerror(-result))

    return attempt


def lower_by_number(number: int, *before: int) -> Callable[[], None]:
    limit = (ctypes.c_ulong * 2)(0, 0)
    return lambda: call(number, *before, ctypes.addressof(limit), 0)


_TRIES: dict[str, Callable[[], None]] = {
    **{f"socket family {n}": family(n) for n in range(46) if n not in _AF.values()},
    "socket netlink raw": family(16, socket.SOCK_RAW),
    "socket vsock with a high bit": family(40 + _HIGH),
    "socket raw": family(2, socket.SOCK_RAW, 1),
    "socket ping": family(2, socket.SOCK_DGRAM, 1),
    "socket mptcp": family(2, socket.SOCK_STREAM, 262),
    "socket sctp": family(2, socket.SOCK_STREAM, 132),
    "socketpair inet": raw(53, 2, 1, 0, 0),
    "io_uring_setup": raw(425, 1, 0),
    "ptrace": raw(101, 0, 0, 0, 0),
    "process_vm_readv": raw(310, os.getpid(), 0, 0, 0, 0, 0),
    "process_vm_writev": raw(311, os.getpid(), 0, 0, 0, 0, 0),
    "process_madvise": raw(440, -1, 0, 0, 0, 0),
    "pidfd_getfd": raw(438, -1, 0, 0),
    "kcmp": raw(312, os.getpid(), os.getpid(), 0, 0, 0),
    "userfaultfd": raw(323, 1),
    "bpf": raw(321, 0, 0, 0),
    "perf_event_open": raw(298, 0, 0, -1, -1, 0),
    "seccomp": raw(317, 2, 0, 0),
    "add_key": raw(248, 0, 0, 0, 0, 0),
    "request_key": raw(249, 0, 0, 0, 0),
    "keyctl": raw(250, 0, -3, 0),
    "unshare user": raw(272, 0x10000000),
    "unshare net": raw(272, 0x40000000),
    "setns": raw(308, 0, 0),
    "clone user": raw(_CLONE, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0),
    "clone mount": raw(_CLONE, 0x00020000 | signal.SIGCHLD, 0, 0, 0, 0),
    "clone3": raw(435, 0, 0),
    "mount": raw(165, 0, 0, 0, 0, 0),
    "umount": raw(166, 0, 0),
    "pivot_root": raw(155, 0, 0),
    "chroot": raw(161, 0),
    "open_tree": raw(428, -100, 0, 0),
    "move_mount": raw(429, 0, 0, 0, 0, 0),
    "fsopen": raw(430, 0, 0),
    "fsmount": raw(432, 0, 0, 0),
    "mount_setattr": raw(442, 0, 0, 0, 0, 0),
    "name_to_handle_at": raw(303, -100, 0, 0, 0, 0),
    "open_by_handle_at": raw(304, 0, 0, 0),
    "fanotify_init": raw(300, 0, 0),
    "quotactl": raw(179, 0, 0, 0, 0),
    "acct": raw(163, 0),
    "swapon": raw(167, 0, 0),
    "reboot": raw(169, 0, 0, 0, 0),
    "kexec_load": raw(246, 0, 0, 0, 0),
    "init_module": raw(175, 0, 0, 0),
    "finit_module": raw(313, 0, 0, 0),
    "delete_module": raw(176, 0, 0),
    "syslog": raw(103, 10, 0, 0),
    "sethostname": raw(170, 0, 0),
    "iopl": raw(172, 0),
    "modify_ldt": raw(154, 0, 0, 0),
    "vhangup": raw(153),
    "clock_settime": raw(227, 0, 0),
    "settimeofday": raw(164, 0, 0),
    "adjtimex": raw(159, 0),
    "clock_adjtime": raw(305, 0, 0),
    "personality no randomization": raw(135, 0x0040000),
    "personality read implies exec": raw(135, 0x0400000),
    "memfd_secret": raw(447, 0),
    "vmsplice": raw(278, -1, 0, 0, 0),
    "io_setup": raw(206, 1, 0),
    "mq_open": raw(240, 0, 0, 0, 0),
    "mknod block device": raw(133, 0, 0o060600, 0),
    "TIOCSTI": type_into_terminal(0x5412),
    "TIOCSTI with a high bit": type_into_terminal(0x5412 + _HIGH),
    "TIOCLINUX": type_into_terminal(0x541C),
    "TIOCSETD": type_into_terminal(0x5423),
    "setrlimit core by number": lower_by_number(_SETRLIMIT, 4),
    "setrlimit core with a high bit": lower_by_number(_SETRLIMIT, 4 + _HIGH),
    "prlimit64 core": lower_by_number(_PRLIMIT, 0, 4),
    "prlimit64 core with a high bit": lower_by_number(_PRLIMIT, 0, 4 + _HIGH),
    # mov eax, 20 (getpid for 32-bit programs); int 0x80; ret
    "32-bit entry": run_machine_code(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"),
    # mov eax, 0x40000000 + 39 (getpid of the x32 ABI); syscall; ret
    "x32 entry": run_machine_code(b"\xb8\x27\x00\x00\x40\x0f\x05\xc3"),
}

_ALLOWED: dict[str, Callable[[], None]] = {
    "socket unix": family(1),
    "socket inet": family(2),
    "socket inet6 datagram": family(10, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, 17),
    "window size": ask_window_size,
    "personality asked": raw(135, 0xFFFFFFFF),
    "core limit asked": raw(_PRLIMIT, 0, 4, 0, 0),
    "files limit set": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE)),
    "pidfd": lambda: signal.pidfd_send_signal(os.pidfd_open(os.getpid()), 0),
    "fifo": lambda: os.mkfifo("/tmp/fifo"),
    "memfd": lambda: os.close(os.memfd_create("m")),
}


def outcome(attempt: Callable[[], None]) -> str:
    """What came of one try, made in a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            attempt()
        except OSError as error:
            os._exit(error.errno or 255)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    code = os.WEXITSTATUS(status)
    return "allowed" if code == 0 else os.strerror(code)


if __name__ == "__main__":
    found = {"refuse": _TRIES, "allow": _ALLOWED}
    results = {part: {name: outcome(attempt) for name, attempt in tries.items()} for part, tries in found.items()}
    sys.stdout.write(json.dumps(results) + "\n")
