"""What people see of a study. Nothing is computed here: every number comes from ``protocol`` or ``stats``.

On a terminal:

=================  =====================================================================
``verdict``        what was found, in a few sentences per arm
``tables``         the comparison table that ``sip show`` prints
``planning``       what ``sip plan`` says of a study before it is run
=================  =====================================================================

The report:

=================  =====================================================================
``reading``        a study as the report shows it, read once
``findings``       what is concluded of each arm, and what that rests on
``metrics``        the tables of estimates: the protocol's, against the control, lost attempts
``panels``         splits and leaks, skills, errors, provenance
``timing``         the order of the arms, the time between T1 and T2
``charts``         one module per chart: what is plotted, and how it is drawn
``attempts``       single attempts: records and logs, of which nothing is trusted
``page``           all of it as one HTML page; ``templates``, ``styles``, ``scripts`` beside it
``markdown`` ``latex`` ``values``    the same as Markdown, LaTeX, and CSV of every plotted value
``leaderboard``    arms of several studies of the same tasks
``server``         the page, served while a study runs
``estimates``      what is shown of an estimate, its bounds, and why it is missing; also on a terminal
``words`` ``tabular``                numbers, names and tables as all of these write them
=================  =====================================================================
"""
