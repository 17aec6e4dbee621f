"""Asking the person a question."""
