"""Typed checks: ``eval.json``, how it is drafted from a card, and how a submission is graded by it."""
