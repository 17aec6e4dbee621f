"""What a cubicle runs: puts /app first on the path (isolated mode leaves it out), then starts the agent's loop."""

import sys

sys.path.insert(0, "/app")

from crab.agent import main

sys.exit(main())
