"""The examinations of ``./hermit doctor`` and of the dashboard's health page. Each ends in a finding: the
state of a part in one sentence, and how to fix it. ``runner`` runs them and remembers the last findings.
"""
