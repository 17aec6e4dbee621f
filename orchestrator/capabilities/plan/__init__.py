"""What an agent is about to do, told to whoever watches.

capability   the description: `hermit plan set|add|done|note|drop|show`, and the panel actions
deeds        what carries it out on the plan of the turn under way (`orchestrator.turns.plans`)
"""
