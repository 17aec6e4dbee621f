"""What an agent and its person said earlier, looked through by words.

capability   the description: `hermit recall`
recall       its deed: what was found, as text with the turns around it, within a budget
"""
