"""Members, their teams, and the papers that they handed in."""
