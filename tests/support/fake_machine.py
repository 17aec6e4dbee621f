"""A host made of answers: what is installed, how much room there is, and what each command says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.core.errors import Unavailable
from orchestrator.engine.setup.machine import CommandResult


@dataclass
class FakeMachine:
    """Every command succeeds unless ``says`` has another answer for one that starts so; all that ran is in ``ran``."""

    state_dir: Path
    env: Mapping[str, str] = field(default_factory=dict)
    root: bool = True
    commands: set[str] = field(default_factory=lambda: {"apt-get", "dockerd", "debootstrap"})
    systemd: bool = False
    sockets: set[str] = field(default_factory=set)
    files: dict[str, list[str]] = field(default_factory=dict)
    lists_age_s: float | None = 60.0
    free: int = 100_000_000_000
    total: int = 1_000_000_000_000
    says: dict[str, CommandResult | Unavailable] = field(default_factory=dict)
    does: dict[str, Callable[[], None]] = field(default_factory=dict)
    """What else happens when a command that starts so runs."""
    log: str = ""
    spawned_ends: bool = False
    ran: list[str] = field(default_factory=list)
    slept_s: float = 0.0

    def is_root(self) -> bool:
        return self.root

    def user_id(self) -> int:
        return 0 if self.root else 1000

    def has_command(self, command: str) -> bool:
        return command in self.commands

    def has_systemd(self) -> bool:
        return self.systemd

    def socket_error(self, path: str) -> OSError | None:
        return None if path in self.sockets else FileNotFoundError(2, "No such file or directory")

    def read_files(self, pattern: str) -> list[str]:
        return self.files.get(pattern, [])

    def age_s(self, pattern: str) -> float | None:
        return self.lists_age_s

    def free_bytes(self, path: Path) -> int:
        return self.free

    def total_bytes(self, path: Path) -> int:
        return self.total

    def run_command(
        self, argv: Sequence[str], *, timeout_s: float, log: str, on_line: Callable[[str], None] | None = None
    ) -> CommandResult:
        line = " ".join(argv)
        self.ran.append(line)
        for start, deed in self.does.items():
            if line.startswith(start):
                deed()
        answer = next((said for start, said in self.says.items() if line.startswith(start)), CommandResult(0, ""))
        if isinstance(answer, Unavailable):
            raise answer
        for text in answer.output.splitlines():
            if on_line:
                on_line(text)
        return answer

    def spawn_command(self, argv: Sequence[str], *, log: str) -> int:
        self.run_command(argv, timeout_s=0, log=log)
        return 4242

    def has_ended(self, pid: int) -> bool:
        return self.spawned_ends

    def log_text(self, log: str) -> str:
        return self.log

    def sleep(self, seconds: float) -> None:
        self.slept_s += seconds
