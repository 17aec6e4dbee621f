"""The disk: what each workspace takes of it, what follows from that, and what the host keeps for itself."""
