"""Telegram bots as the house knows them: which agent has one, and the handshake that proves whose it is."""
