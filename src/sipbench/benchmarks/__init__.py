"""Adapters of benchmarks: each exports tasks and splits, runs one task, and knows one engine."""
