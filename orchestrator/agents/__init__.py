"""Agents, the people who use them, and their cubicles.

``agents`` and ``users`` keep them, ``agent_fields`` and ``user_fields`` say what their settings may be, ``cubicles``
starts and stops the container of an agent for a user, ``waker`` does so in the background, ``publisher`` writes what a
cubicle may read, ``install_settings`` holds what the operator
chose. ``oidc/`` lets people in by a provider.
"""
