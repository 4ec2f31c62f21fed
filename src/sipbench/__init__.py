"""Measure what an agent gained, kept and paid when it learned."""
