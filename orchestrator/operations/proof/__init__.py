"""Twelve ways out of a cubicle, tried in a real one, and what came of each.

attempts.py     which they are, in words, and which answers mean that one was stopped
inside.py       the program that tries them; it runs in the cubicle and is handed over as text
watch.py        what the host lays out and listens to, so that it knows by itself whether something got through
reading.py      what the program said, read strictly, and the verdict
proofs.py       begins, runs and keeps proofs
proof_rows.py   their rows
"""
