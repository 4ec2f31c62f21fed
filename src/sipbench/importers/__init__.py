"""Importers: what turns finished attempts of others into run records."""
