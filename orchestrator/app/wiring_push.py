"""The part of the composition root for notifications on devices."""

from __future__ import annotations

from orchestrator.app.wiring import AppContext
from orchestrator.app.wiring_capabilities import Capabilities
from orchestrator.approvals.approvals import Approvals
from orchestrator.channels.push.answers import PushAnswers
from orchestrator.channels.push.channel import PushChannel
from orchestrator.channels.push.devices import PushDevices
from orchestrator.channels.push.hosts import PushHosts
from orchestrator.channels.push.sender import PushSender
from orchestrator.channels.push.subjects import PushSubjects
from orchestrator.channels.push.watch import PushWatch
from orchestrator.languages.speech import SpokenLanguages


def build_push(context: AppContext, approvals: Approvals, capabilities: Capabilities) -> PushChannel:
    """Who tells devices of things, with the jobs that do."""
    store, questions, jobs = context.store, capabilities.questions, capabilities.jobs
    hosts = PushHosts(context.settings.push_hosts)
    speeches = SpokenLanguages()
    subjects = PushSubjects(
        store,
        approvals,
        questions,
        context.notifications,
        called=context.agents.called,
        speak=lambda user: speeches.of(context.users.get(user).language),
    )
    sender = PushSender(
        store,
        context.home,
        context.users,
        subjects,
        hosts=hosts,
        internet=context.parts.internet,
        contact=context.settings.public_url,
    )
    jobs.add_kind(sender.kind)
    return PushChannel(
        PushDevices(store, hosts),
        sender,
        PushAnswers(store, approvals, questions, context.home.link_key),
        PushWatch(store, context.broker, jobs, subjects),
    )
