"""Splits: from the tasks of a benchmark to a manifest that keeps the protocol's rules."""
