"""Surfaces that people already carry with them: chat apps."""
