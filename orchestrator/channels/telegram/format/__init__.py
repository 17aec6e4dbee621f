"""Text for Telegram: Markdown to message entities, split at Telegram's limit, nothing of it lost or hidden. Pure."""
