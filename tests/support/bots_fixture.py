"""The registry of bots over real rules, a clock that is turned by hand and a Telegram that says what it is told."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.channels.telegram.accounts.bots import Bots
from orchestrator.channels.telegram.accounts.rows import BotState
from orchestrator.channels.telegram.client_types import BotIdentity
from orchestrator.core.errors import BadInput, Unavailable
from tests.support.core_fixture import CoreFixture

TOKEN = f"7000000001:AA{'c' * 33}"
ROTATED = f"7000000001:AA{'r' * 33}"
OTHER = f"7000000002:AA{'o' * 33}"
ADA, BOB, EVE = 4_200_001, 4_200_002, 4_200_666


@dataclass
class BotsFixture:
    """The rooms with their bots, a clock that is turned by hand, and a Telegram that says what it is told."""

    install: CoreFixture
    trusted: int | None = None
    has_own_server: bool = False
    at: float = 1_000_000.0
    down: bool = False
    unknown: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bots = self.opened()

    def opened(self) -> Bots:
        """As after a start."""
        install = self.install
        return Bots(
            install.store,
            install.agents,
            install.users,
            install.broker,
            prove=self.prove,
            blot=self.hidden.append,
            trusted_operator=self.trusted,
            has_own_server=self.has_own_server,
            now=lambda: self.at,
        )

    def prove(self, token: str) -> BotIdentity:
        """Telegram's answer."""
        self.asked.append(token)
        if self.down:
            raise Unavailable("Telegram did not answer.")
        if token in self.unknown:
            raise BadInput("Telegram does not know this token. Copy it again from @BotFather.")
        number = int(token.partition(":")[0])
        return BotIdentity(number, f"bot{number % 100}_bot", "Bot", can_read_groups=False)

    def ada_is(self, number: int | None) -> None:
        """The operator's Telegram id."""
        self.install.users.update_user(self.install.operator.id, {"telegram_id": number})

    @property
    def ada(self) -> int | None:
        """The operator's Telegram id now."""
        return self.install.users.get_operator().id_in("telegram")

    def crab(self) -> BotState:
        """Crab's bot."""
        return self.bots.get_bot("crab")

    def kinds(self) -> list[str]:
        """What the audit log says of Telegram, oldest first."""
        return [row.kind for kind in KINDS for row in self.install.audited(kind)]


KINDS = ("telegram.token", "telegram.code", "telegram.code_refused", "telegram.paired", "telegram.revoked")


def wrong(code: str | None) -> str:
    """Six other digits."""
    return f"{(int(code or 0) + 1) % 1_000_000:06}"


def shown(fixture: BotsFixture) -> BotState:
    """A bot whose code is shown."""
    return fixture.bots.set_up("crab", TOKEN)


def sent(fixture: BotsFixture) -> BotState:
    """A bot whose code it sends to Ada."""
    fixture.ada_is(ADA)
    return fixture.bots.set_up("crab", TOKEN)


def paired(fixture: BotsFixture) -> BotState:
    """A bot that is Ada's."""
    return fixture.bots.confirm_code("crab", str(sent(fixture).code))
