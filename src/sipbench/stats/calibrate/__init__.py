"""Seeded simulations that the estimators must pass, and must fail once a rule is removed.

``worlds`` draws studies with a known truth; ``contrast_rows``, ``replay_rows`` and
``other_rows`` measure the estimators on them; ``row`` says what a row of the table is;
``table.calibrate`` runs them all.
"""
