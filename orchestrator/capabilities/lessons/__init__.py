"""Lessons: what went wrong once, what fixed it, and when that holds. When a command fails, the host itself looks for
lessons that fit the failure and tells them with the result.

capability   the description: `hermit lesson add|search|list|rm`
lessons      what agents and people do with them
advice       what is told with a command that failed, and whether it helped
rows         the tables
"""
