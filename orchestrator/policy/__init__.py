"""What policy says of a command: ``judge`` reads it with ``orchestrator.shell`` and looks it up in these tables."""
