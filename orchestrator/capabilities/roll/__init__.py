"""Dice."""
