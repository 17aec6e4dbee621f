"""The tasks to begin with, in the language of the page. The message of a task is translated where a model reads it; the
built-in demo knows its tasks word by word, so there it stays English.
"""

from __future__ import annotations

from dataclasses import replace

from dashboard.languages import say
from dashboard.pages.views import is_rehearsal
from orchestrator.capabilities.roles import tasks_of
from orchestrator.core.models import Agent
from orchestrator.llm.first_tasks import FirstTask, list_tasks


def first_tasks(agent: Agent) -> list[FirstTask]:
    """Those that the agent can do, its role's own first."""
    found, is_demo = list_tasks(agent.toolsets, tasks_of(agent.role)), is_rehearsal(agent)
    return [
        replace(
            task,
            title=say(task.title),
            brings=say(task.brings),
            prompt=task.prompt if is_demo else say(task.prompt),
        )
        for task in found
    ]
