"""What people see of a summary. Nothing is computed here: every number comes from the summary.

``verdict``  what was found, in a few sentences per arm
``tables``   the comparison table that ``sip show`` prints
"""
