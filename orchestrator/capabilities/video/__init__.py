"""Videos that animate a text."""
