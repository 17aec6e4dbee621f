"""The examinations of ``./hermit doctor`` and of the dashboard's health page. Each ends in a finding: how a part is, in
a sentence, and how to fix it. ``runner`` runs them and remembers the last findings.
"""
