"""The doctor in a running install: one examination at a time, in a thread of its own, and what the last one found. It
fixes nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from orchestrator.core.errors import Conflict, OrchestratorError
from orchestrator.core.events import Broker
from orchestrator.core.finding import Finding
from orchestrator.core.models import Event, Stage

logger = logging.getLogger(__name__)

_STOP_S = 5.0


@dataclass(frozen=True, slots=True)
class Report:
    """An examination."""

    stage: Stage = Stage.NONE
    started_at: float | None = None
    ended_at: float | None = None
    findings: tuple[Finding, ...] = ()
    problem: str = ""
    """Why it broke off, as a sentence."""


class DoctorRunner:
    """The last examination, and the one under way. May be used from any thread."""

    def __init__(self, examine: Callable[[], list[Finding]], broker: Broker) -> None:
        self._examine = examine
        self._broker = broker
        self._report = Report()
        self._lock = threading.Lock()  # protects _report and _thread
        self._thread: threading.Thread | None = None

    def get_report(self) -> Report:
        """How it stands."""
        with self._lock:
            return self._report

    def begin_run(self) -> Report:
        """Everything is looked at from now on. Raises Conflict while it is being looked at already."""
        with self._lock:
            if self._report.stage is Stage.RUNNING:
                raise Conflict("The diagnostics are already running. Wait until they have finished.")
            self._report = Report(Stage.RUNNING, started_at=time.time())
            self._thread = threading.Thread(target=self._run_checks, name="doctor", daemon=True)
            self._thread.start()
            begun = self._report
        self._publish_report()
        return begun

    def close(self) -> None:
        """An examination under way has a moment to end; it holds nothing that would be lost."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(_STOP_S)

    def _run_checks(self) -> None:
        found: list[Finding] = []
        problem = ""
        try:
            found = self._examine()
        except OrchestratorError as error:
            problem = error.message
        except Exception:  # the top of a thread: whoever waits must hear that it ended
            logger.exception("the doctor broke off")
            problem = "The diagnostics failed; the orchestrator's log says why. './hermit doctor' runs without it."
        with self._lock:
            self._report = replace(
                self._report,
                stage=Stage.FAILED if problem else Stage.DONE,
                ended_at=time.time(),
                findings=tuple(found),
                problem=problem,
            )
        self._publish_report()

    def _publish_report(self) -> None:
        self._broker.publish(Event("doctor", None, {}))
