"""The database: one writer, many readers, migrations with a copy before each upgrade. The functions of a
table are beside the code that uses it, in modules called *rows* or *…_rows*.
"""
