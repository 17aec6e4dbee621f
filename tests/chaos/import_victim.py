"""A process that imports agents until it is killed: ``python -m tests.chaos.import_victim FOLDER``."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

from tests.support.app_fixture import run_app
from tests.support.foreign_agents import OPENCLAW, zipped

DONE = b"."


def main(folder: Path) -> None:
    """One after the other; a dot before each."""
    with run_app(folder, crabs=False) as install:
        services = install.services
        who = services.users.get_operator()
        begun = len(services.agents.list_agents())
        for number in itertools.count(begun):
            looked, _ = services.imports.look(zipped(OPENCLAW), who)
            os.write(1, DONE)
            services.imports.carry_out(looked, who, f"agent-{number}", {"display_name": ""}, ())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
