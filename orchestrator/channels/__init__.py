"""Chat apps that people already use.

    chat/       the core that every chat app shares: inbox, outbox, prompts, buttons, progress, commands, access
    telegram/   what is Telegram's alone: its client, updates, bots and text format

The core imports nothing of an adapter. ``docs/extending.md`` says how a chat app is added.
"""
