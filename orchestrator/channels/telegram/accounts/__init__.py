"""Telegram bots of agents: tokens, the check that a token works, and pairing a person's chat with a code."""
