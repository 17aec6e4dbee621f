"""What agents did while the viewer was away, in a few words with a way to each: done, made, failed, waiting, spent."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from dashboard.auth import require_asker
from dashboard.languages import number, say, say_many
from dashboard.pages.asking import WaitingQuestions
from dashboard.pages.views import AgentView
from dashboard.services import get_services
from orchestrator.core.text import one_line
from orchestrator.operations.recaps import AgentRecap
from orchestrator.operations.visits import Absence

MOST_AGENTS = 6
"""So many are told of one by one."""


@dataclass(frozen=True, slots=True)
class AwayPiece:
    """Something that an agent did, as the rest of a sentence, and where it is."""

    words: str
    url: str
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class AwayLine:
    """What one agent did."""

    agent: str
    pieces: tuple[AwayPiece, ...]


@dataclass(frozen=True, slots=True)
class AwayView:
    """All that is told of the time that the viewer was away."""

    away: Absence
    lines: tuple[AwayLine, ...]
    more: int
    """Agents that did something too, and have no line."""
    spent_micro: int
    is_cut: bool
    """More happened than was summed up."""

    @property
    def has_news(self) -> bool:
        """There is something to tell."""
        return bool(self.lines or self.spent_micro)


def away_view(agents: list[AgentView], waiting: WaitingQuestions) -> AwayView | None:
    """For the viewer, of these agents; None for who was not away."""
    services, user = get_services(), require_asker().user.id
    away = services.recaps.visits.find_absence(user)
    if away is None:
        return None
    recap = services.recaps.sum_up(user, away, agents=[view.agent.name for view in agents])
    lines = {one.agent: _pieces(one) for one in recap.agents}
    for agent, what in _asking(waiting).items():
        lines[agent] = [*lines.get(agent, []), AwayPiece(what, "#waiting")]
    shown = [AwayLine(agent, tuple(pieces)) for agent, pieces in lines.items()]
    return AwayView(away, tuple(shown[:MOST_AGENTS]), len(shown[MOST_AGENTS:]), recap.spent_micro, is_cut=recap.is_cut)


def _pieces(recap: AgentRecap) -> list[AwayPiece]:
    home = f"/agents/{recap.agent}"
    found = []
    if recap.done:
        where = f"{home}/turns/{recap.last_done}#turn-{recap.last_done}" if recap.done == 1 else home
        found.append(AwayPiece(_many("finished %(count)s task", "finished %(count)s tasks", recap.done), where))
    if len(recap.apps) == 1:
        name = recap.apps[0]
        found.append(
            AwayPiece(say("built the app %(app)s", app=one_line(name, 40)), f"{home}/apps/{quote(name, safe='')}")
        )
    elif recap.apps:
        found.append(AwayPiece(_many("built %(count)s app", "built %(count)s apps", len(recap.apps)), f"{home}/apps"))
    if recap.files:
        found.append(AwayPiece(_many("made %(count)s file", "made %(count)s files", recap.files), f"{home}/files/out"))
    if recap.failed:
        where = f"{home}/turns/{recap.last_failed}#turn-{recap.last_failed}"
        found.append(AwayPiece(_many("failed once", "failed %(count)s times", recap.failed), where, True))
    return found


def _asking(waiting: WaitingQuestions) -> dict[str, str]:
    """The agents that wait for the viewer's own word, and that they do."""
    answer, approval = say("is waiting for your answer"), say("is waiting for your approval")
    answers = {view.question.cubicle.agent: answer for view in waiting.questions if not view.whose}
    return answers | {view.approval.cubicle.agent: approval for view in waiting.approvals if not view.whose}


def _many(one: str, many: str, count: int) -> str:
    return say_many(one, many, count, count=number(count))
