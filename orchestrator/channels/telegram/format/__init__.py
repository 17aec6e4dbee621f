"""Texts as Telegram takes them."""
