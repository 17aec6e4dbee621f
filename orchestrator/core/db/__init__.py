"""The database: one writer, many readers, migrations with a copy before each upgrade. Tables' own functions stand
beside their nouns in modules called *rows* or *…_rows*.
"""
