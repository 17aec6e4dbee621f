"""What happens in a run of the chaos suite, and when: made from a seed alone, so the same seed gives the same list.

Each deed has a time from the start of the run. What the machine makes of it differs from run to run, since nobody can
order when a process dies to the microsecond; what is done to it does not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.chaos.cases import APPROVE, DANGER, DENY, FACT, FILE, KINDS, LEAVE, PLAN, SLOW, TALK, WORK, Case

AGENTS = {"crab": ("ada", "eva"), "scout": ("ada", "eva"), "quill": ("ada",), "miser": ("ada",)}
"""Who talks to whom. The first two have bots; quill and miser are reached by the API alone, which is the operator's."""
WITH_BOTS = ("crab", "scout")
FAULTS = {
    "orchestrator killed": 5,
    "orchestrator restarted": 1,
    "crab killed": 3,
    "container killed": 3,
    "container removed": 2,
    "engine gone": 2,
    "engine hangs": 1,
    "model refuses": 2,
    "model hangs": 2,
    "model cut": 2,
    "model garbage": 1,
    "model 429": 2,
    "model 5xx": 2,
    "telegram 429": 2,
    "telegram 5xx": 2,
    "telegram html": 1,
    "telegram silent": 2,
    "telegram reset": 2,
    "telegram answer lost": 2,
    "telegram offline": 2,
    "disk full": 2,
    "disk nearly full": 2,
    "database locked": 2,
}
"""Every kind of fault, and how many of it are in the deck that a run's faults are dealt from."""
_LASTING = {"database locked": (0.8, 1.5, 3.0, 11.5)}
"""Those that are broken for another time than most: nobody waits ten seconds for the database."""
ENGINE_RESTARTED = "engine restarted"
"""Only where whoever runs the suite says how: an engine may be shared with others."""
_WEIGHTS = {TALK: 3, WORK: 4, SLOW: 2, FILE: 4, DANGER: 4, PLAN: 2, FACT: 1}


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that is done."""

    at_s: float
    kind: str
    """``say``, ``enter`` (into the calendar), ``stop``, ``budget`` or ``fault``."""
    what: str
    """The case, the agent, or the kind of fault."""
    for_s: float = 0.0
    """How long a fault lasts; 0 for one that is over at once."""
    pick: float = 0.0
    """From 0 to 1: which of those that there are then, say of the containers."""

    def __str__(self) -> str:
        """As it is shown when something failed."""
        more = f" for {self.for_s:.1f} s" if self.for_s else ""
        return f"{self.at_s:6.2f} s  {self.kind} {self.what}{more} (pick {self.pick:.3f})"


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything."""

    duration_s: float = 14.0
    messages: int = 26
    faults: int = 9
    entries: int = 2
    stops: int = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run."""

    seed: int
    cases: tuple[Case, ...]
    deeds: tuple[Deed, ...]

    def in_words(self) -> str:
        """The list of what is done."""
        return "\n".join([f"seed {self.seed}", *(str(deed) for deed in self.deeds)])


def make_plan(seed: int, size: Size, *, restarts_engine: bool = False) -> Plan:
    """The run of this seed."""
    dice = random.Random(seed)  # noqa: S311 - it must come out the same again; no secret
    cases: list[Case] = []
    deeds: list[Deed] = []
    for number in range(size.messages):
        asked = _case(dice, number, cases)
        deeds.append(Deed(_moment(dice, size), "say", asked.name))
    for number in range(size.entries):
        agent, person = dice.choice(("crab", "scout", "quill")), "ada"
        case = Case(f"case-e{number}", dice.choice((TALK, WORK, FILE)), agent, person, "calendar")
        cases.append(case)
        deeds.append(Deed(_moment(dice, size), "enter", case.name, for_s=dice.uniform(1.5, 5.0)))
    deeds += [Deed(_moment(dice, size), "stop", "a turn", pick=dice.random()) for _ in range(size.stops)]
    deeds.append(Deed(_moment(dice, size), "budget", "miser"))
    kinds = {**FAULTS, ENGINE_RESTARTED: 2} if restarts_engine else FAULTS
    deck = [kind for kind, times in kinds.items() for _ in range(times)]
    dealt = dice.sample(deck, size.faults)  # as cards are: the same kind comes up no more often than its weight
    deeds += [_fault(dice, size, kind, at) for at, kind in enumerate(dealt)]
    return Plan(seed, tuple(cases), tuple(sorted(deeds, key=lambda deed: deed.at_s)))


def _case(dice: random.Random, number: int, cases: list[Case]) -> Case:
    kind = dice.choices(KINDS, [_WEIGHTS[kind] for kind in KINDS])[0]
    agent = dice.choices(tuple(AGENTS), (5, 5, 3, 2))[0]
    person = dice.choice(AGENTS[agent])
    is_by_bot = agent in WITH_BOTS and (person != "ada" or dice.random() < 0.6)
    planned = f"case-p{number}" if kind == PLAN else ""
    if planned:
        cases.append(Case(planned, dice.choice((TALK, WORK, FILE)), agent, person, "calendar"))
    decision = dice.choices((APPROVE, DENY, LEAVE), (6, 2, 1))[0]
    surface = "telegram" if is_by_bot else "api"
    case = Case(f"case-{number}", kind, agent, person, surface, decision=decision, plans=planned)
    cases.append(case)
    return case


def _fault(dice: random.Random, size: Size, kind: str, number: int) -> Deed:
    """Spread over the run, so that there is something to break and time for more than one."""
    share = size.duration_s / size.faults
    at_s = share * number + dice.uniform(0, share)
    lasting = _LASTING.get(kind, (0.3, 0.8, 1.5, 3.0))
    return Deed(at_s, "fault", kind, for_s=dice.choice(lasting), pick=dice.random())


def _moment(dice: random.Random, size: Size) -> float:
    return dice.uniform(0, size.duration_s)
