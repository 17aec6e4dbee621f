"""How an agent stands today."""
