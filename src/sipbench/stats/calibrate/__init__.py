"""Seeded simulations that the estimators must pass, and must fail once a rule is removed.

``worlds`` draws studies with a known truth; ``contrast_rows``, ``replay_rows``,
``other_rows`` and ``identity_rows`` measure the estimators on them; ``row`` says what a row
of the table is; ``table.calibrate`` runs them all.

``designs`` and ``coverage_map`` measure the default interval over many designs; ``warning``
fits to that map when the product warns; ``document`` writes both down.

``python -m sipbench.stats.calibrate`` does all of it.
"""
