"""Grades a submission by the ready checks of an ``eval.json``: the part that travels.

It is copied, as it stands, into the verifier of every exported task, so that a task is graded there
exactly as here. So it needs the standard library alone, runs on Python 3.10 and newer, and imports
nothing of sipbench. Two formats need a package that the verifier's image brings: Parquet (polars) and
Excel (openpyxl).

==============  ==================================================================================
``verdicts``    pass, fail, error; what stops an evaluation
``places``      a file of a submission: contained, regular, bounded
``tables``      CSV, TSV, JSON, JSON Lines, Parquet and Excel as rows
``formats``     whether a file is what it should be, by its content
``numbers``     numbers in texts, tables, JSON documents and images
``compare``     equal under a tolerance
``kinds``       one small function for each kind of check
``scripts``     running a program of the submission, shut in
``worker``      each check in a process that may die
``main``        all checks of a task, its reward and its reasons
==============  ==================================================================================

A reason never states what was expected: it may reach the next agent.
"""
