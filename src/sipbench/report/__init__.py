"""What people see of a summary. Nothing is computed here: every number comes from the summary.

``tables``   the comparison table that ``sip show`` prints
"""
