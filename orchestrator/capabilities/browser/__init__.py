"""A browser for agents: a person says which sites it may open. It runs in a container of its own, without a network,
and what it loads goes through a gate.
"""
